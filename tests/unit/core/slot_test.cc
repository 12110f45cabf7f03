#include "runtime/core/slot.h"

#include <gtest/gtest.h>

#include "tests/unit/core/fictional.h"

namespace hiera {
namespace {

using fictional::Buffers;
using fictional::FictionalDevice;
using fictional::Marker;

struct Observed : Slot::Observer {
  int notices = 0;
  void Notice(Slot&, bool) noexcept override { ++notices; }
};

class SlotTest : public testing::Test {
 protected:
  Slot& Make(Task task, bool caller = false) {
    Baseline baseline;
    baseline.kind = caller ? HIERA_BASELINE_CALLER : HIERA_BASELINE_INTERPRETER;
    baseline.name = "fictional";
    auto executable = std::make_unique<Marker>(1, 100);
    baseline_ = executable.get();
    baseline.executable = std::move(executable);
    std::string canonical = CanonicalText(task);
    slot_ = std::make_unique<Slot>(std::move(task), canonical, Hash128{1, 2}, std::move(baseline),
                                   device_, counters_, observed_);
    return *slot_;
  }

  Marker& Offer(double mark, double cost_ns, const std::string& name, bool on_trial = false,
                bool start = false) {
    auto executable = std::make_unique<Marker>(mark, cost_ns);
    Marker& marker = *executable;
    last_offer_ = slot_->Offer(std::move(executable), fictional::VariantOf(slot_->key(), name),
                               on_trial, start);
    return marker;
  }

  // As an operator does it. Returns the mark of what ran.
  float Run() {
    const Call call{buffers_.pointers, nullptr, nullptr};
    const Active* active = slot_->Current();
    buffers_.y[0] = 0;
    status_ = active->executable->Run(call);
    if (status_ != HIERA_OK) status_ = slot_->Recover(*active, call, status_);
    return buffers_.result();
  }

  FictionalDevice device_;
  Counters counters_;
  Observed observed_;
  Buffers buffers_;
  Marker* baseline_ = nullptr;
  std::unique_ptr<Slot> slot_;
  Slot::Offered last_offer_ = Slot::Offered::kActive;
  hiera_status status_ = HIERA_OK;
};

TEST_F(SlotTest, StartsWithTheBaselineAndTimesItsFirstEightCalls) {
  Slot& slot = Make(fictional::Scaling(2));
  for (int i = 0; i < 7; ++i) EXPECT_EQ(Run(), 1);
  EXPECT_EQ(slot.baseline_ns(), 0);
  EXPECT_EQ(observed_.notices, 0);
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(slot.baseline_ns(), 100);
  EXPECT_EQ(observed_.notices, 1);
  EXPECT_EQ(slot.TakeEvents(), Slot::kBaselineTimed);
  EXPECT_EQ(slot.Current()->executable, baseline_) << "timing must leave the call path";
  EXPECT_EQ(slot.generation(), 0u);
}

TEST_F(SlotTest, CallsThatAreCapturedAreNotTimedButRemembered) {
  Slot& slot = Make(fictional::Scaling(2));
  EXPECT_FALSE(slot.captured());
  device_.capturing = true;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Run(), 1);
  EXPECT_EQ(slot.baseline_ns(), 0);
  EXPECT_TRUE(slot.captured());
  device_.capturing = false;
  for (int i = 0; i < 7; ++i) Run();
  EXPECT_EQ(slot.baseline_ns(), 0);
  Run();
  EXPECT_EQ(slot.baseline_ns(), 100);
}

TEST_F(SlotTest, LostIntervalsTakeNoPart) {
  Slot& slot = Make(fictional::Scaling(2));
  for (int i = 0; i < 8; ++i) {
    fictional::t_lose_intervals = i % 2 == 0;
    Run();
  }
  fictional::t_lose_intervals = false;
  EXPECT_EQ(slot.baseline_ns(), 100);
  EXPECT_EQ(slot.Current()->executable, baseline_);
}

TEST_F(SlotTest, CallsThatFailAreNotTimed) {
  Slot& slot = Make(fictional::Scaling(2));
  baseline_->status = HIERA_DEVICE_ERROR;
  for (int i = 0; i < 8; ++i) Run();
  EXPECT_EQ(status_, HIERA_DEVICE_ERROR) << "a baseline's failure is the run's";
  EXPECT_EQ(slot.baseline_ns(), 0);
  EXPECT_EQ(slot.TakeEvents(), 0u);
  EXPECT_EQ(slot.Current()->executable, baseline_);
}

TEST_F(SlotTest, AnOfferedVariantIsCurrentAtOnceAndCountsAsASwap) {
  Slot& slot = Make(fictional::Scaling(2));
  Offer(2, 50, "a");
  EXPECT_EQ(last_offer_, Slot::Offered::kActive);
  EXPECT_EQ(Run(), 2);
  EXPECT_EQ(slot.generation(), 1u);
  EXPECT_EQ(counters_.swaps, 1u);
  EXPECT_EQ(slot.speedup(), 2);
  Offer(3, 40, "b");
  EXPECT_EQ(Run(), 3);
  EXPECT_EQ(slot.generation(), 2u);
}

TEST_F(SlotTest, AVariantThatIsThereFromTheStartIsNoSwap) {
  Slot& slot = Make(fictional::Scaling(2));
  Offer(2, 50, "a", false, true);
  EXPECT_EQ(Run(), 2);
  EXPECT_EQ(slot.generation(), 1u) << "0 would say that the baseline has run since the start";
  EXPECT_EQ(counters_.swaps, 0u);
}

TEST_F(SlotTest, KeepsAtMostSixteenVariants) {
  Make(fictional::Scaling(2));
  for (int i = 0; i < 16; ++i) Offer(10 + i, 50, std::to_string(i));
  EXPECT_EQ(last_offer_, Slot::Offered::kActive);
  Offer(99, 50, "one too many");
  EXPECT_EQ(last_offer_, Slot::Offered::kFull);
  EXPECT_EQ(Run(), 25);
}

TEST_F(SlotTest, AVariantThatCannotTakeACallLeavesItToTheBaseline) {
  Slot& slot = Make(fictional::Scaling(2));
  Marker& variant = Offer(2, 50, "a");
  variant.status = HIERA_UNAVAILABLE;
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(status_, HIERA_OK);
  EXPECT_EQ(counters_.unfit_runs, 1u);
  variant.status = HIERA_OK;
  EXPECT_EQ(Run(), 2) << "it stays current";
  EXPECT_EQ(slot.generation(), 1u);
}

TEST_F(SlotTest, AVariantThatFailsIsTakenBackAndTheCallIsRunAgain) {
  Slot& slot = Make(fictional::Scaling(2));
  Marker& variant = Offer(2, 50, "a");
  variant.status = HIERA_DEVICE_ERROR;
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(status_, HIERA_OK) << "the caller must not see a candidate's failure";
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(variant.runs, 1);
  EXPECT_EQ(slot.generation(), 2u);
  EXPECT_EQ(counters_.rollbacks, 1u);
  EXPECT_EQ(slot.TakeEvents(), Slot::kVariantBroke);
  const Variant* broken = slot.TakeBroken();
  ASSERT_NE(broken, nullptr);
  EXPECT_EQ(broken->name, "a");
}

TEST_F(SlotTest, AnInPlaceCallThatFailedHalfWayIsNotRunAgain) {
  Make(fictional::InPlace());
  Marker& variant = Offer(2, 50, "a");
  variant.status = HIERA_DEVICE_ERROR;
  EXPECT_EQ(Run(), 0);
  EXPECT_EQ(status_, HIERA_DEVICE_ERROR);
  EXPECT_EQ(Run(), 1) << "later calls have the baseline";
}

TEST_F(SlotTest, ARefusedVariantThatIsCurrentIsTakenBack) {
  Slot& slot = Make(fictional::Scaling(2));
  Offer(2, 50, "a");
  slot.Refuse(fictional::VariantOf(slot.key(), "a").Identity());
  EXPECT_EQ(Run(), 1);
  EXPECT_TRUE(slot.HasRefused(fictional::VariantOf(slot.key(), "a").Identity()));
  EXPECT_EQ(counters_.rollbacks, 1u);
}

TEST_F(SlotTest, TheKillSwitchGivesBackWhatRanBefore) {
  Slot& slot = Make(fictional::Scaling(2));
  Offer(2, 50, "a");
  slot.Suspend();
  EXPECT_EQ(Run(), 1);
  EXPECT_EQ(slot.generation(), 2u);
  Offer(3, 40, "b");
  EXPECT_EQ(Run(), 1) << "nothing is swapped in while switched off";
  slot.Resume();
  EXPECT_EQ(Run(), 3);
}

TEST_F(SlotTest, OfferAgainGoesBackToAnEarlierVariant) {
  Slot& slot = Make(fictional::Scaling(2));
  Offer(2, 50, "a");
  Offer(3, 40, "b");
  EXPECT_TRUE(slot.OfferAgain(fictional::VariantOf(slot.key(), "a").Identity()));
  EXPECT_EQ(Run(), 2);
  EXPECT_EQ(slot.generation(), 3u);
  EXPECT_TRUE(slot.OfferAgain(fictional::VariantOf(slot.key(), "a").Identity()));
  EXPECT_EQ(slot.generation(), 3u) << "it was current already";
  EXPECT_FALSE(slot.OfferAgain(fictional::VariantOf(slot.key(), "unknown").Identity()));
}

TEST_F(SlotTest, OneMisalignedPointerIsSeenInTheBitsOfAlignedVariants) {
  Slot& slot = Make(fictional::Scaling(2, "contract align=16"));
  EXPECT_EQ(slot.Current()->misaligned_bits, 0u) << "the baseline takes any pointer";
  Offer(2, 50, "a");
  EXPECT_EQ(slot.Current()->misaligned_bits, 15u);
}

}  // namespace
}  // namespace hiera
