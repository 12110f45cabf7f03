#include "runtime/core/bounded_queue.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace hiera {
namespace {

TEST(BoundedQueue, RefusesWhatDoesNotFitAndKeepsTheOrder) {
  BoundedQueue<int, 4> queue;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.Push(i));
  EXPECT_FALSE(queue.Push(4));
  EXPECT_EQ(queue.Pop(), 0);
  EXPECT_TRUE(queue.Push(5));
  for (const int expected : {1, 2, 3, 5}) EXPECT_EQ(queue.Pop(), expected);
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

TEST(BoundedQueue, ResetEmptiesIt) {
  BoundedQueue<int, 4> queue;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(queue.Push(i));
  queue.Reset();
  EXPECT_EQ(queue.Pop(), std::nullopt);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(queue.Push(i));
  EXPECT_FALSE(queue.Push(4));
}

TEST(BoundedQueue, EveryPushedValueArrivesOnceAndInItsThreadsOrder) {
  constexpr int kThreads = 4, kEach = 20'000;
  BoundedQueue<int, 64> queue;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&queue, t] {
      for (int i = 0; i < kEach; ++i) {
        while (!queue.Push(t * kEach + i)) std::this_thread::yield();
      }
    });
  }
  std::vector<int> next(kThreads, 0);
  for (int received = 0; received < kThreads * kEach;) {
    const std::optional<int> value = queue.Pop();
    if (!value.has_value()) {
      std::this_thread::yield();
      continue;
    }
    ++received;
    ASSERT_EQ(*value % kEach, next[*value / kEach]++);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue.Pop(), std::nullopt);
}

}  // namespace
}  // namespace hiera
