// A fork at any moment: parent and child go on with what they have, and the child asks for what it
// misses over a connection of its own.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/unit/core/fictional.h"

namespace hiera {
namespace {

using fictional::Buffers;
using fictional::Eventually;
using fictional::Scaling;
using fictional::VariantOf;
using fictional::World;

// gcc's thread sanitizer keeps the parent's threads in the child's register and ends the child with
// "dup thread with used id" when a new one gets the address of one of those.
#if defined(__SANITIZE_THREAD__)
#define SKIP_WHERE_A_CHILD_CANNOT_HAVE_THREADS() \
  GTEST_SKIP() << "the thread sanitizer ends a forked child that makes a thread"
#else
#define SKIP_WHERE_A_CHILD_CANNOT_HAVE_THREADS() static_cast<void>(0)
#endif

constexpr uint64_t kTenSeconds = 10'000'000'000;

class ForkTest : public testing::Test {
 protected:
  // The child's exit code is the number of the first check that failed; 0: none.
  template <typename F>
  static void InChild(F&& checks) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(30);  // a child that hangs fails the test
      _exit(checks());
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }

  Operator Make(int factor) {
    Result<Operator> op = engine_->CreateOp(Scaling(factor), nullptr, nullptr);
    EXPECT_TRUE(op.ok());
    return *std::move(op);
  }
  float Run(Operator& op) {
    buffers_.y[0] = 0;
    if (op.Run(buffers_.pointers, nullptr, nullptr) != HIERA_OK) return -1;
    return buffers_.result();
  }
  void SwapIn(Operator& op) {
    ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
    ASSERT_TRUE(world_.planner.Send(Announce{VariantOf(op.slot().key(), "fast")}));
    ASSERT_TRUE(world_.planner.Send(Settled{op.slot().key(), "done"}));
    ASSERT_TRUE(engine_->Settle(op.slot(), kTenSeconds).ok());
  }

  World world_;
  Buffers buffers_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(ForkTest, TheChildKeepsWhatIsSwappedInAndStartsNoThread) {
  world_.marks["fast"] = 2;
  engine_ = *Engine::Create(world_.Parts());
  Operator op = Make(2);
  SwapIn(op);
  InChild([&] {
    if (Run(op) != 2) return 1;
    if (engine_->planner_connected()) return 2;
    if (world_.planner.connections != 1) return 3;
    if (!engine_->Settle(op.slot(), kTenSeconds).ok()) return 4;  // it had settled before
    if (engine_->planner_connected() || world_.planner.attempts != 1) return 5;
    engine_.reset();
    return 0;
  });
  EXPECT_EQ(Run(op), 2);
  EXPECT_TRUE(engine_->planner_connected());
}

TEST_F(ForkTest, TheChildAsksForWhatItMissesOverItsOwnConnection) {
  SKIP_WHERE_A_CHILD_CANNOT_HAVE_THREADS();
  world_.marks = {{"fast", 2}, {"of the child", 3}};
  engine_ = *Engine::Create(world_.Parts());
  Operator op = Make(2);
  SwapIn(op);
  Operator open = Make(5);  // asked for, not settled
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  InChild([&] {
    Operator own = Make(3);
    if (Run(own) != 1) return 1;
    // Both what the child misses and what the parent's thread was waiting for.
    if (!world_.planner.Next<PlanRequest>().has_value()) return 2;
    if (!world_.planner.Next<PlanRequest>().has_value()) return 3;
    if (world_.planner.connections != 2) return 4;
    if (!world_.planner.Send(Announce{VariantOf(own.slot().key(), "of the child")})) return 5;
    if (!world_.planner.Send(Settled{own.slot().key(), "done"})) return 6;
    if (!engine_->Settle(own.slot(), kTenSeconds).ok()) return 7;
    if (Run(own) != 3 || Run(op) != 2) return 8;
    engine_.reset();
    return 0;
  });
  // The parent's own connection is as it was.
  ASSERT_TRUE(world_.planner.Send(Settled{open.slot().key(), "done"}));
  EXPECT_TRUE(engine_->Settle(open.slot(), kTenSeconds).ok());
  EXPECT_EQ(world_.planner.connections, 1);
}

TEST_F(ForkTest, ForksWhileOperatorsAreMadeAndRunDoNotHang) {
  SKIP_WHERE_A_CHILD_CANNOT_HAVE_THREADS();
  engine_ = *Engine::Create(world_.Parts());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      Buffers buffers;
      for (int i = 0; !stop; ++i) {
        Result<Operator> op = engine_->CreateOp(Scaling(2 + t + 3 * (i % 200)), nullptr, nullptr);
        ASSERT_TRUE(op.ok());
        ASSERT_EQ(op->Run(buffers.pointers, nullptr, nullptr), HIERA_OK);
      }
    });
  }
  for (int i = 0; i < 25; ++i) {
    InChild([&] {
      Operator op = Make(1000 + i);
      if (Run(op) != 1) return 1;
      return engine_->Settle(op.slot(), 1'000'000).code() == Code::kTimeout ? 0 : 2;
    });
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_F(ForkTest, AChildOfAChildWorksToo) {
  SKIP_WHERE_A_CHILD_CANNOT_HAVE_THREADS();
  engine_ = *Engine::Create(world_.Parts());
  Operator op = Make(2);
  ASSERT_TRUE(world_.planner.Next<PlanRequest>().has_value());
  InChild([&] {
    Operator own = Make(3);
    if (!Eventually([&] { return engine_->planner_connected(); })) return 1;
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      Operator third = Make(4);
      const bool right = Run(op) == 1 && Run(own) == 1 && Run(third) == 1 &&
                         Eventually([&] { return engine_->planner_connected(); });
      engine_.reset();
      _exit(right ? 0 : 1);
    }
    int status = 0;
    if (waitpid(grandchild, &status, 0) != grandchild) return 2;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 3;
  });
}

}  // namespace
}  // namespace hiera
