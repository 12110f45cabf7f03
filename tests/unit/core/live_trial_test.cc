#include "runtime/core/live_trial.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "tests/unit/core/fictional.h"

namespace hiera {
namespace {

using fictional::Buffers;
using fictional::FictionalDevice;
using fictional::Marker;

// Takes the time that a script says, call by call; the last entry for ever after.
class Scripted final : public Executable {
 public:
  explicit Scripted(std::vector<double> times) : times_(std::move(times)) {}
  hiera_status Run(const Call&) const noexcept override {
    const size_t i = std::min<size_t>(calls_++, times_.size() - 1);
    fictional::t_now_ns += times_[i];
    return HIERA_OK;
  }
  int calls() const { return calls_; }

 private:
  std::vector<double> times_;
  mutable std::atomic<int> calls_{0};
};

struct Heard : LiveTrial::Listener {
  int decisions = 0;
  std::vector<const Active*> failed;
  void TrialDecided(const LiveTrial&) noexcept override { ++decisions; }
  void VariantFailed(const Active& active, hiera_status) noexcept override {
    failed.push_back(&active);
  }
};

class LiveTrialTest : public testing::Test {
 protected:
  LiveTrial& Make(const Executable& incumbent, const Executable& variant, bool can_redo = true) {
    incumbent_.executable = &incumbent;
    variant_.executable = &variant;
    variant_.kind = Active::Kind::kVariant;
    variant_.variant = &record_;
    trial_ =
        std::make_unique<LiveTrial>(incumbent_, variant_, incumbent, can_redo, device_, heard_);
    return *trial_;
  }
  // Calls until a decision; how many that took.
  int CallsToDecision() {
    int calls = 0;
    while (trial_->winner() == nullptr && calls < 1000) {
      trial_->Run({buffers_.pointers, nullptr, nullptr});
      ++calls;
    }
    return calls;
  }

  FictionalDevice device_;
  Heard heard_;
  Buffers buffers_;
  Variant record_;
  Active incumbent_, variant_;
  std::unique_ptr<LiveTrial> trial_;
};

TEST_F(LiveTrialTest, AClearWinnerNeedsSixPairsAndOneToWarmUp) {
  const Scripted slow({100}), fast({5000, 50});  // its first call is cold
  LiveTrial& trial = Make(slow, fast);
  EXPECT_EQ(CallsToDecision(), 14);
  EXPECT_EQ(trial.winner(), &variant_);
  EXPECT_DOUBLE_EQ(trial.ratio(), 2);
  EXPECT_DOUBLE_EQ(trial.incumbent_ns(), 100);
  EXPECT_EQ(heard_.decisions, 1);
  EXPECT_EQ(slow.calls(), 7);
  EXPECT_EQ(fast.calls(), 7);
}

TEST_F(LiveTrialTest, AClearLoserIsDroppedAfterSixPairs) {
  const Scripted fast({100}), slow({120});
  LiveTrial& trial = Make(fast, slow);
  EXPECT_EQ(CallsToDecision(), 14);
  EXPECT_EQ(trial.winner(), &incumbent_);
  trial.Run({buffers_.pointers, nullptr, nullptr});
  EXPECT_EQ(slow.calls(), 7) << "no call goes to a loser";
}

TEST_F(LiveTrialTest, CallsThatAreCapturedRunTheIncumbentAndDecideNothing) {
  const Scripted slow({100}), fast({50});
  LiveTrial& trial = Make(slow, fast);
  device_.capturing = true;
  for (int i = 0; i < 100; ++i) trial.Run({buffers_.pointers, nullptr, nullptr});
  EXPECT_EQ(trial.winner(), nullptr);
  EXPECT_EQ(slow.calls(), 100);
  EXPECT_EQ(fast.calls(), 0);
  device_.capturing = false;
  EXPECT_EQ(CallsToDecision(), 14);
  EXPECT_EQ(trial.winner(), &variant_);
}

TEST_F(LiveTrialTest, LostIntervalsCountAgainstTheVariant) {
  const Scripted slow({100}), fast({50});
  LiveTrial& trial = Make(slow, fast);
  fictional::t_lose_intervals = true;
  EXPECT_EQ(CallsToDecision(), 14);
  fictional::t_lose_intervals = false;
  EXPECT_EQ(trial.winner(), &incumbent_);
}

TEST_F(LiveTrialTest, ATieKeepsTheIncumbent) {
  const Scripted one({100}), other({100});
  LiveTrial& trial = Make(one, other);
  EXPECT_EQ(CallsToDecision(), 14);
  EXPECT_EQ(trial.winner(), &incumbent_);
}

TEST_F(LiveTrialTest, AGainWithinTheNoiseIsNotEnough) {
  // Every other pair shows 1.5, the others 0.9: the interval of the median holds 1.02 for ever.
  std::vector<double> times;
  for (int i = 0; i < 100; ++i) times.push_back(i % 2 == 0 ? 100 / 1.5 : 100 / 0.9);
  const Scripted steady({100}), erratic(times);
  LiveTrial& trial = Make(steady, erratic);
  EXPECT_EQ(CallsToDecision(), LiveTrial::kMaxCalls);
  EXPECT_EQ(trial.winner(), &incumbent_);
}

TEST_F(LiveTrialTest, TwoBadMomentsDoNotHideAWinner) {
  std::vector<double> times(100, 50);
  times[3] = times[7] = 9000;
  const Scripted slow({100}), fast(times);
  Make(slow, fast);
  EXPECT_EQ(CallsToDecision(), 26);
  EXPECT_EQ(trial_->winner(), &variant_);
}

TEST_F(LiveTrialTest, FourBadMomentsAskForMorePairs) {
  std::vector<double> times(100, 50);
  times[2] = times[3] = times[7] = times[9] = 9000;
  const Scripted slow({100}), fast(times);
  Make(slow, fast);
  EXPECT_EQ(CallsToDecision(), 50);
  EXPECT_EQ(trial_->winner(), &variant_);
}

TEST_F(LiveTrialTest, AVariantThatFailsLosesAtOnceAndTheCallIsAnswered) {
  const Marker baseline(1, 100);
  Marker broken(2, 50);
  broken.status = HIERA_DEVICE_ERROR;
  LiveTrial& trial = Make(baseline, broken);
  EXPECT_EQ(trial.Run({buffers_.pointers, nullptr, nullptr}), HIERA_OK);
  EXPECT_EQ(trial.Run({buffers_.pointers, nullptr, nullptr}), HIERA_OK);
  EXPECT_EQ(buffers_.result(), 1);
  EXPECT_EQ(trial.winner(), &incumbent_);
  ASSERT_EQ(heard_.failed.size(), 1u);
  EXPECT_EQ(heard_.failed[0], &variant_);
}

TEST_F(LiveTrialTest, AVariantThatIsOftenUnavailableLoses) {
  const Marker baseline(1, 100);
  Marker busy(2, 1);
  busy.status = HIERA_UNAVAILABLE;
  LiveTrial& trial = Make(baseline, busy);
  CallsToDecision();
  EXPECT_EQ(trial.winner(), &incumbent_);
  EXPECT_TRUE(heard_.failed.empty()) << "to be busy is no failure";
  EXPECT_EQ(baseline.runs, 14) << "the baseline answered what it could not";
}

TEST_F(LiveTrialTest, ABaselineThatFailsIsTheCallersOwnAffair) {
  Marker failing(1, 100);
  failing.status = HIERA_INVALID_ARGUMENT;
  const Marker variant(2, 50);
  LiveTrial& trial = Make(failing, variant);
  EXPECT_EQ(trial.Run({buffers_.pointers, nullptr, nullptr}), HIERA_INVALID_ARGUMENT);
  EXPECT_EQ(trial.Run({buffers_.pointers, nullptr, nullptr}), HIERA_OK);
  EXPECT_TRUE(heard_.failed.empty());
}

}  // namespace
}  // namespace hiera
