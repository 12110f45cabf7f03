#include "runtime/task/roofline.h"

#include <gtest/gtest.h>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

Task Parsed(const std::string& text) {
  auto task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *std::move(task);
}

// A multiply-add is two operations: 2e9 a second and 1e9 bytes a second are easy to divide by.
MachineFacts Machine(bool gpu) {
  MachineFacts machine;
  machine.copy_gbps = 1;
  machine.flops_f32 = 2e9;
  machine.flops_f64 = 1e9;
  machine.l3_bytes = 1000;
  if (gpu) machine.architecture = "sm_90a";
  return machine;
}

Task Product(const std::string& type, const std::string& contract = "") {
  return Parsed("tensor A: " + type + "[64,100]; tensor B: " + type + "[100,32]; tensor C: " +
                type + "[64,32]; " + contract + "\nC[i,j] = sum(k: A[i,k] * B[k,j])");
}

constexpr double kOperations = 64.0 * 32 * 2 * 100;

TEST(Roofline, IsTheLargerOfBytesAndOperations) {
  EXPECT_DOUBLE_EQ(RooflineFloorNs(Product("f32"), Machine(false)), kOperations / 2);
  MachineFacts slow = Machine(false);
  slow.copy_gbps = 0.01;
  EXPECT_DOUBLE_EQ(RooflineFloorNs(Product("f32"), slow),
                   4.0 * (64 * 100 + 100 * 32 + 64 * 32) / 0.01);
  slow.l3_bytes = 1 << 20;  // all of it fits: memory bounds nothing
  EXPECT_DOUBLE_EQ(RooflineFloorNs(Product("f32"), slow), kOperations / 2);
}

TEST(Roofline, UnitsForMatrixProductsLowerTheFloorOfProductsThatMayUseThem) {
  MachineFacts gpu = Machine(true), host = Machine(false);
  gpu.copy_gbps = host.copy_gbps = 0;
  EXPECT_DOUBLE_EQ(RooflineFloorNs(Product("f32"), gpu), kOperations / 2);
  EXPECT_LT(RooflineFloorNs(Product("f16"), gpu), kOperations / 2 / 15);
  EXPECT_LT(RooflineFloorNs(Product("bf16"), gpu), kOperations / 2 / 15);
  EXPECT_LT(RooflineFloorNs(Product("f32", "contract arithmetic=tf32"), gpu), kOperations / 2 / 7);
  EXPECT_DOUBLE_EQ(RooflineFloorNs(Product("f64"), gpu), kOperations / 2);
  EXPECT_DOUBLE_EQ(RooflineFloorNs(Product("f64"), host), kOperations);
}

TEST(Roofline, UnitsForMatrixProductsDoNothingForOtherTasks) {
  const Task rows =
      Parsed("tensor x: f16[4,1000]; tensor y: f16[4]\ny[i] = sum(j: x[i,j] * x[i,j])");
  MachineFacts gpu = Machine(true), host = Machine(false);
  gpu.copy_gbps = host.copy_gbps = 0;
  EXPECT_DOUBLE_EQ(RooflineFloorNs(rows, gpu), RooflineFloorNs(rows, host));
}

}  // namespace
}  // namespace hiera
