// What a process does with the published index: starting from it, frozen mode, the kill switch, and
// an index that is replaced while the process runs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/core/fictional.h"

namespace hiera {
namespace {

using fictional::Buffers;
using fictional::Eventually;
using fictional::Scaling;
using fictional::VariantOf;
using fictional::World;

class IndexUseTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hiera-index-use-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    world_.index_path = folder_ + "/index";
    world_.marks = {{"stored", 2}, {"better", 3}};
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(folder_);
  }

  static Hash128 KeyOf(int factor) {
    return TaskKey(CanonicalText(Scaling(factor)), "device=fictional\n");
  }
  void Publish(const std::string& name, bool switched_off = false) {
    IndexContents contents{++generation_, switched_off, {VariantOf(KeyOf(2), name)}};
    ASSERT_TRUE(WriteIndex(world_.index_path, contents).ok());
  }
  void Start(Mode mode) { engine_ = *Engine::Create(world_.Parts(mode)); }
  Operator Make(hiera_baseline_fn function = nullptr, int factor = 2) {
    Result<Operator> op = engine_->CreateOp(Scaling(factor), function, nullptr);
    EXPECT_TRUE(op.ok());
    return *std::move(op);
  }
  float Run(Operator& op) {
    buffers_.y[0] = 0;
    EXPECT_EQ(op.Run(buffers_.pointers, nullptr, nullptr), HIERA_OK);
    return buffers_.result();
  }

  static hiera_status MarkSeven(void*, void* const* pointers, const double*, void*) {
    fictional::t_now_ns += 100;
    *static_cast<float*>(pointers[1]) = 7;
    return HIERA_OK;
  }

  World world_;
  Buffers buffers_;
  std::string folder_;
  uint64_t generation_ = 0;
  std::unique_ptr<Engine> engine_;
};

TEST_F(IndexUseTest, TheFirstCallHasTheStoredVariantAndNobodyIsAsked) {
  Publish("stored");
  Start(Mode::kOn);
  Operator op = Make();
  EXPECT_EQ(Run(op), 2);
  EXPECT_EQ(op.slot().generation(), 1u);
  EXPECT_EQ(engine_->counters().index_hits, 1u);
  EXPECT_EQ(world_.planner.attempts, 0);
}

TEST_F(IndexUseTest, ALaterIndexIsFollowed) {
  Publish("stored");
  Start(Mode::kOn);
  Operator op = Make();
  EXPECT_EQ(Run(op), 2);
  Publish("better");
  EXPECT_TRUE(Eventually([&] { return Run(op) == 3; }));
  // Counted just after it was published.
  EXPECT_TRUE(Eventually([&] { return engine_->counters().swaps == 1; }));
}

TEST_F(IndexUseTest, SettlingAfterAHitAsksThePlanner) {
  Publish("stored");
  Start(Mode::kOn);
  Operator op = Make();
  EXPECT_EQ(engine_->Settle(op.slot(), 1).code(), Code::kTimeout);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  ASSERT_TRUE(world_.planner.Send(Settled{op.slot().key(), "nothing better"}));
  EXPECT_TRUE(engine_->Settle(op.slot(), 10'000'000'000).ok());
}

TEST_F(IndexUseTest, AHitIsConfirmedWithThePlannerLater) {
  Publish("stored");
  Start(Mode::kOn);
  Operator op = Make();
  const auto request = world_.planner.Next<PlanRequest>();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->canonical, CanonicalText(Scaling(2)));
}

TEST_F(IndexUseTest, ARunningProcessObeysTheKillSwitch) {
  Publish("stored");
  Start(Mode::kOn);
  Operator op = Make();
  EXPECT_EQ(Run(op), 2);
  Publish("stored", true);
  EXPECT_TRUE(Eventually([&] { return Run(op) == 1; }));
  EXPECT_EQ(engine_->Settle(op.slot(), 1'000'000'000).code(), Code::kUnavailable);
  Operator later = Make(nullptr, 5);
  EXPECT_EQ(Run(later), 1);
  Publish("stored", false);
  EXPECT_TRUE(Eventually([&] { return Run(op) == 2; }));
}

TEST_F(IndexUseTest, AProcessStartedWhileSwitchedOffWakesWithTheSwitch) {
  Publish("stored", true);
  Start(Mode::kOn);
  Operator op = Make();
  EXPECT_EQ(Run(op), 1);
  Publish("stored", false);
  EXPECT_TRUE(Eventually([&] { return Run(op) == 2; }));
}

TEST_F(IndexUseTest, FrozenPinsTheIndexOfItsStart) {
  Publish("stored");
  Start(Mode::kFrozen);
  Publish("better");
  Operator op = Make();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Run(op), 2);
  EXPECT_EQ(engine_->Settle(op.slot(), 1'000'000'000).code(), Code::kUnavailable);
  EXPECT_EQ(world_.planner.attempts, 0);
}

TEST_F(IndexUseTest, FrozenTakesTheVariantOverACallersBaselineWithoutATrial) {
  Publish("stored");
  Start(Mode::kFrozen);
  Operator op = Make(MarkSeven);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(Run(op), 2);
}

TEST_F(IndexUseTest, ACallersBaselineMeetsTheVariantOnAlternateCalls) {
  Publish("stored");
  Start(Mode::kOn);
  Operator op = Make(MarkSeven);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(Run(op), 7);
    EXPECT_EQ(Run(op), 2);
  }
  EXPECT_EQ(Run(op), 2) << "50 ns beat 100";
  EXPECT_EQ(op.slot().generation(), 1u);
  EXPECT_DOUBLE_EQ(op.slot().speedup(), 2) << "as measured on live calls";
  EXPECT_DOUBLE_EQ(op.slot().baseline_ns(), 100);
}

TEST_F(IndexUseTest, AVariantThatIsSlowerHereLosesItsTrialForGood) {
  world_.costs["stored"] = 150;
  Publish("stored");
  Start(Mode::kOn);
  Operator op = Make(MarkSeven);
  for (int i = 0; i < 14; ++i) Run(op);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Run(op), 7);
  EXPECT_EQ(op.slot().generation(), 0u);
  EXPECT_EQ(engine_->counters().swaps, 0u);
}

TEST_F(IndexUseTest, ADamagedIndexIsAMissAndNotAnError) {
  std::ofstream(world_.index_path) << "not an index";
  Start(Mode::kOn);
  Operator op = Make();
  EXPECT_EQ(Run(op), 1);
  EXPECT_TRUE(world_.planner.Next<PlanRequest>().has_value());
}

TEST_F(IndexUseTest, AStoredVariantThatDoesNotLoadIsAMiss) {
  Publish("unloadable");
  Start(Mode::kOn);
  Operator op = Make();
  EXPECT_EQ(Run(op), 1);
  EXPECT_EQ(engine_->counters().load_failures, 1u);
  EXPECT_EQ(engine_->counters().index_hits, 0u);
  const auto request = world_.planner.Next<PlanRequest>();
  EXPECT_TRUE(request.has_value());
}

}  // namespace
}  // namespace hiera
