// How much is made ready for a task within how much memory.
#include "runtime/evaluator/prepared_task.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace hiera {
namespace {

// Two inputs of 128 pages each and an output of 256, with a page each for the room beside them.
constexpr const char* kOutside =
    "tensor a: f32[131072] outside zero\ntensor b: f32[131072] outside zero\n"
    "tensor c: f32[262144]\nc[i] = a[i] + b[i - 131072]";
constexpr int64_t kInputs = 2 * 129 * kPageBytes, kOutputs = 257 * kPageBytes;

class PreparedTaskTest : public testing::Test {
 protected:
  std::unique_ptr<Device> device_ = MakeHostDevice(1);
};

TEST_F(PreparedTaskTest, FewerTrialsAreMadeWhereMemoryIsShort) {
  const auto course = [&](int64_t memory) {
    auto prepared = PreparedTask::Make(kOutside, *device_, memory);
    EXPECT_TRUE(prepared.ok()) << prepared.status().message();
    EXPECT_LE((*prepared)->memory_bytes(), memory);
    return (*prepared)->CourseOf(true);
  };
  using Trials = std::vector<uint32_t>;
  EXPECT_EQ(course(6 * kInputs + 7 * kOutputs).before, (Trials{0, 1, 2}));
  EXPECT_EQ(course(6 * kInputs + 7 * kOutputs - 1).before, (Trials{0}));
  EXPECT_EQ(course(4 * kInputs + 5 * kOutputs).before, (Trials{0}));
  const auto leanest = course(4 * kInputs + 5 * kOutputs - 1);
  EXPECT_EQ(leanest.before, (Trials{leanest.timed}));
  EXPECT_NE(leanest.after, leanest.timed) << "inputs that are new after timing";

  const auto refused = PreparedTask::Make(kOutside, *device_, 3 * kInputs + 4 * kOutputs - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), Code::kOutOfMemory);
}

TEST_F(PreparedTaskTest, TheLeanestCourseIsMadeReady) {
  auto prepared = PreparedTask::Make(kOutside, *device_, 3 * kInputs + 4 * kOutputs);
  ASSERT_TRUE(prepared.ok()) << prepared.status().message();
  const auto course = (*prepared)->CourseOf(true);
  const Status ready = (*prepared)->MakeReady(course);
  ASSERT_TRUE(ready.ok()) << ready.message();
  int made = 0;
  for (const Trial& trial : (*prepared)->trials()) made += trial.ready ? 1 : 0;
  EXPECT_EQ(made, 2);
}

}  // namespace
}  // namespace hiera
