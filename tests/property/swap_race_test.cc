// Eight threads call one operator while variants are published, switched off and on, and fail:
// every call is answered, by the baseline or by a variant that had been announced by then.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>
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

constexpr int kThreads = 8;
constexpr int kVariants = 15;

class SwapRaceTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hiera-swap-race-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    world_.index_path = folder_ + "/index";
    for (int i = 0; i < kVariants; ++i) world_.marks[std::to_string(i)] = 100 + i;
    engine_ = *Engine::Create(world_.Parts());
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(folder_);
  }

  // Calls until told to stop, and checks every answer.
  void Hammer(hiera_baseline_fn baseline) {
    Result<Operator> op = engine_->CreateOp(Scaling(2), baseline, nullptr);
    ASSERT_TRUE(op.ok());
    Buffers buffers;
    while (!stop_.load(std::memory_order_relaxed)) {
      buffers.y[0] = 0;
      const int announced_before = announced_.load(std::memory_order_acquire);
      ASSERT_EQ(op->Run(buffers.pointers, nullptr, nullptr), HIERA_OK);
      const int announced_after = announced_.load(std::memory_order_acquire);
      const float mark = buffers.result();
      if (mark == 1) continue;
      ASSERT_GE(mark, 100);
      ASSERT_LT(mark, 100 + announced_after) << "before: " << announced_before;
      calls_of_variants_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  static hiera_status MarkOne(void*, void* const* pointers, const double*, void*) {
    *static_cast<float*>(pointers[1]) = 1;
    fictional::t_now_ns += 100;
    return HIERA_OK;
  }

  void Announce1(int i) {
    announced_.store(i + 1, std::memory_order_release);
    const Hash128 key = TaskKey(CanonicalText(Scaling(2)), "device=fictional\n");
    ASSERT_TRUE(world_.planner.Send(Announce{VariantOf(key, std::to_string(i))}));
  }

  void Race(hiera_baseline_fn baseline, uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([&] { Hammer(baseline); });
    const bool asked = world_.planner.Next<PlanRequest>().has_value();
    for (int i = 0; asked && i < kVariants; ++i) {
      Announce1(i);
      const uint64_t loads = static_cast<uint64_t>(i) + 1;
      EXPECT_TRUE(Eventually([&] {
        const auto lock = engine_->Lock();
        return world_.loaded.size() == loads;
      }));
      if (random() % 3 == 0) {
        const auto lock = engine_->Lock();
        world_.loaded[std::to_string(i)]->status = HIERA_DEVICE_ERROR;
      }
    }
    if (baseline == nullptr) {
      EXPECT_TRUE(Eventually([&] { return calls_of_variants_.load() > 1000; }));
    }
    stop_ = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(asked);
  }

  World world_;
  std::string folder_;
  std::atomic<bool> stop_{false};
  std::atomic<int> announced_{0};
  std::atomic<long> calls_of_variants_{0};
  std::unique_ptr<Engine> engine_;
};

TEST_F(SwapRaceTest, EveryAnswerIsOfTheBaselineOrOfAnAnnouncedVariant) {
  world_.costs["14"] = 1;
  Race(nullptr, 20261201);
  EXPECT_GT(engine_->counters().swaps, 0u);
}

TEST_F(SwapRaceTest, TrialsOnLiveCallsToo) { Race(MarkOne, 20261202); }

TEST_F(SwapRaceTest, TheKillSwitchMayBeThrownAtAnyTime) {
  const Hash128 key = TaskKey(CanonicalText(Scaling(2)), "device=fictional\n");
  std::vector<std::thread> threads;
  announced_ = kVariants;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back([&] { Hammer(nullptr); });
  for (uint64_t generation = 1; generation <= 4; ++generation) {
    const bool off = generation % 2 == 0;
    const std::string name = std::to_string(generation);
    ASSERT_TRUE(WriteIndex(world_.index_path, {generation, off, {VariantOf(key, name)}}).ok());
    const uint64_t before = off ? engine_->counters().rollbacks : engine_->counters().swaps;
    EXPECT_TRUE(Eventually([&] {
      return (off ? engine_->counters().rollbacks : engine_->counters().swaps) > before;
    })) << generation;
  }
  stop_ = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(calls_of_variants_, 0);
}

}  // namespace
}  // namespace hiera
