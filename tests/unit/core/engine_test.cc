#include "runtime/core/engine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <latch>
#include <set>

#include "runtime/core/explain.h"
#include "tests/unit/core/fictional.h"

namespace hiera {
namespace {

using fictional::Buffers;
using fictional::Eventually;
using fictional::Scaling;
using fictional::VariantOf;
using fictional::World;

constexpr uint64_t kTenSeconds = 10'000'000'000;

class EngineTest : public testing::Test {
 protected:
  Engine& Start(Mode mode = Mode::kOn) {
    Result<std::unique_ptr<Engine>> engine = Engine::Create(world_.Parts(mode));
    EXPECT_TRUE(engine.ok());
    engine_ = *std::move(engine);
    return *engine_;
  }
  Operator Make(int factor, hiera_baseline_fn function = nullptr, void* user = nullptr) {
    Result<Operator> op = engine_->CreateOp(Scaling(factor), function, user);
    EXPECT_TRUE(op.ok()) << op.status().message();
    return *std::move(op);
  }
  float Run(Operator& op) {
    buffers_.y[0] = 0;
    EXPECT_EQ(op.Run(buffers_.pointers, nullptr, nullptr), HIERA_OK);
    return buffers_.result();
  }

  World world_;
  Buffers buffers_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, AsksAtOnceSwapsWhatIsAnnouncedAndSettles) {
  world_.marks["fast"] = 2;
  Engine& engine = Start();
  Operator op = Make(2);
  EXPECT_EQ(Run(op), 1);
  const auto request = world_.planner.Next<PlanRequest>();
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->canonical, CanonicalText(Scaling(2)));
  EXPECT_EQ(request->fingerprint, "device=fictional\n");
  EXPECT_EQ(request->baseline_name, "interpreter");
  EXPECT_FALSE(request->caller_baseline);
  ASSERT_TRUE(world_.planner.Send(Announce{VariantOf(op.slot().key(), "fast")}));
  ASSERT_TRUE(world_.planner.Send(Settled{op.slot().key(), "fast won"}));
  const Status settled = engine.Settle(op.slot(), kTenSeconds);
  EXPECT_TRUE(settled.ok()) << settled.message();
  EXPECT_EQ(Run(op), 2) << "what won must be active once settled";
  EXPECT_EQ(engine.counters().swaps, 1u);
  EXPECT_EQ(engine.counters().requests_sent, 1u);
  EXPECT_NE(Explain(engine, op.slot(), 10).find("(fast won)"), std::string::npos);
}

TEST_F(EngineTest, TellsThePlannerWhatTheBaselineTakesHere) {
  Start();
  Operator op = Make(2);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  for (int i = 0; i < 8; ++i) Run(op);
  const auto report = world_.planner.Next<BaselineReport>();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->key, op.slot().key());
  EXPECT_EQ(report->baseline_ns, 100);
}

TEST_F(EngineTest, AVariantThatCannotBeLoadedIsReportedAndTheBaselineGoesOn) {
  Engine& engine = Start();
  Operator op = Make(2);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  const Variant bad = VariantOf(op.slot().key(), "bad");
  ASSERT_TRUE(world_.planner.Send(Announce{bad}));
  const auto report = world_.planner.Next<VariantReport>();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->key, op.slot().key());
  EXPECT_EQ(report->identity, bad.Identity());
  EXPECT_EQ(report->reason, "fictional: cannot be loaded");
  EXPECT_EQ(engine.counters().load_failures, 1u);
  EXPECT_EQ(Run(op), 1);
  // Announced again, it is not tried again.
  ASSERT_TRUE(world_.planner.Send(Announce{bad}));
  ASSERT_TRUE(world_.planner.Send(Settled{op.slot().key(), "nothing"}));
  EXPECT_TRUE(engine.Settle(op.slot(), kTenSeconds).ok());
  EXPECT_EQ(engine.counters().load_failures, 1u);
}

TEST_F(EngineTest, AVariantThatFailsOnACallIsReported) {
  world_.marks["fast"] = 2;
  Engine& engine = Start();
  Operator op = Make(2);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  const Variant variant = VariantOf(op.slot().key(), "fast");
  ASSERT_TRUE(world_.planner.Send(Announce{variant}));
  ASSERT_TRUE(Eventually([&] { return engine.counters().swaps == 1; }));
  {
    const auto lock = engine.Lock();  // under which the client thread loads
    world_.loaded["fast"]->status = HIERA_DEVICE_ERROR;
  }
  EXPECT_EQ(Run(op), 1);
  const auto report = world_.planner.Next<VariantReport>();
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(report->identity, variant.Identity());
  EXPECT_EQ(engine.counters().rollbacks, 1u);
}

TEST_F(EngineTest, WithoutAPlannerOperatorsRunAndSettlingSaysWhy) {
  world_.planner.reachable = false;
  Engine& engine = Start();
  Operator op = Make(2);
  EXPECT_EQ(Run(op), 1);
  const Status status = engine.Settle(op.slot(), kTenSeconds);
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("fictional: nobody there"), std::string::npos)
      << status.message();
  EXPECT_FALSE(engine.planner_connected());
  // One that comes later is found, and asked for what is missing.
  world_.planner.reachable = true;
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  ASSERT_TRUE(world_.planner.Send(Settled{op.slot().key(), "done"}));
  EXPECT_TRUE(engine.Settle(op.slot(), kTenSeconds).ok());
}

TEST_F(EngineTest, SettlingTimesOutWhileThePlannerIsAtIt) {
  Engine& engine = Start();
  Operator op = Make(2);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  EXPECT_EQ(engine.Settle(op.slot(), 1'000'000).code(), Code::kTimeout);
  EXPECT_EQ(engine.Settle(op.slot(), 0).code(), Code::kTimeout);
}

TEST_F(EngineTest, APlannerThatDiesIsAskedAgainForWhatWasNotSettledAlone) {
  Engine& engine = Start();
  Operator settled = Make(2), open = Make(3);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  ASSERT_TRUE(world_.planner.Send(Settled{settled.slot().key(), "done"}));
  ASSERT_TRUE(engine.Settle(settled.slot(), kTenSeconds).ok());
  world_.planner.Die();
  const auto again = world_.planner.Next<PlanRequest>();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->canonical, CanonicalText(Scaling(3)));
  EXPECT_EQ(world_.planner.connections, 2);
  ASSERT_TRUE(world_.planner.Send(Settled{open.slot().key(), "done"}));
  EXPECT_TRUE(engine.Settle(open.slot(), kTenSeconds).ok());
  EXPECT_EQ(engine.counters().requests_sent, 3u);
}

TEST_F(EngineTest, APlannerThatDiesOnATaskEachTimeIsNotAskedForEver) {
  Engine& engine = Start();
  Operator op = Make(2);
  for (int i = 0; i < 9; ++i) {
    ASSERT_EQ(op.slot().planning() == Planning::kNever, false) << i;
    ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value()) << i;
    world_.planner.Die();
    static_cast<void>(engine.Settle(op.slot(), 1'000'000));  // hurries the next attempt
  }
  EXPECT_TRUE(Eventually([&] { return op.slot().planning() == Planning::kNever; }));
  EXPECT_EQ(engine.Settle(op.slot(), kTenSeconds).code(), Code::kUnavailable);
  EXPECT_EQ(Run(op), 1);
}

TEST_F(EngineTest, OneTaskHasOneSlotHoweverManyOperatorsItHas) {
  Engine& engine = Start();
  Operator one = Make(2), same = Make(2), other = Make(3);
  EXPECT_EQ(&one.slot(), &same.slot());
  EXPECT_NE(&one.slot(), &other.slot());
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  EXPECT_TRUE(Eventually([&] { return engine.counters().requests_sent == 2; }));
}

TEST_F(EngineTest, ModeOffRunsBaselinesAndAsksNobody) {
  Engine& engine = Start(Mode::kOff);
  Operator op = Make(2);
  EXPECT_EQ(Run(op), 1);
  EXPECT_EQ(engine.Settle(op.slot(), kTenSeconds).code(), Code::kUnavailable);
  EXPECT_EQ(world_.planner.attempts, 0);
}

TEST_F(EngineTest, NoticesThatFindTheQueueFullAreCountedAndMadeUpFor) {
  constexpr int kOperators = 1500;  // more than the queue holds
  std::latch blocked(1), go_on(1);
  EngineParts parts = world_.Parts();
  parts.connect = [&, connect = parts.connect](const Hello& hello, int ms) {
    if (world_.planner.attempts == 0) {
      blocked.count_down();
      go_on.wait();
    }
    return connect(hello, ms);
  };
  engine_ = *Engine::Create(std::move(parts));
  std::vector<Operator> operators;
  operators.push_back(Make(1));
  blocked.wait();
  for (int i = 2; i <= kOperators; ++i) operators.push_back(Make(i));
  EXPECT_GT(engine_->counters().requests_dropped, 0u);
  go_on.count_down();
  std::set<std::string> asked;
  while (asked.size() < kOperators) {
    const auto request = world_.planner.Next<PlanRequest>();
    ASSERT_TRUE(request.has_value()) << "after " << asked.size();
    EXPECT_TRUE(asked.insert(request->canonical).second);
  }
}

TEST_F(EngineTest, ADescriptorThatTheApplicationTookBackIsNotWrittenTo) {
  Engine& engine = Start();
  Operator op = Make(2);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  ASSERT_TRUE(Eventually([&] { return engine.planner_connected(); }));
  // What closefrom() and later opens do: our descriptor's number becomes the application's pipe.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_GE(dup2(ends[1], world_.planner.first_client_fd), 0);
  Operator next = Make(3);
  ASSERT_TRUE(Eventually([&] { return world_.planner.connections == 2; }));
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  EXPECT_EQ(write(world_.planner.first_client_fd, "x", 1), 1) << "it must not have been closed";
  char bytes[16];
  EXPECT_EQ(read(ends[0], bytes, sizeof bytes), 1) << "nothing but our own byte was written";
}

}  // namespace
}  // namespace hiera
