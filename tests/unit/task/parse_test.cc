// What the parser makes of a text: structure, ranges, types, folding.
#include "runtime/task/parse.h"

#include <gtest/gtest.h>

#include <string>

namespace hiera {
namespace {

Task Parsed(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << text << "\n" << task.status().message();
  return task.ok() ? *task : Task{};
}

const Node& Root(const Task& task, size_t statement = 0) {
  return task.formula.nodes[task.formula.statements[statement].root];
}

TEST(Parse, GemmHasOneReductionOverTheSharedAxis) {
  const Task task = Parsed(
      "tensor A: f32[4,6]\ntensor B: f32[6,5]\ntensor C: f32[4,5]\n"
      "C[i,j] = sum(k: A[i,k] * B[k,j])");
  EXPECT_EQ(task.bound_count, 3);
  const Node& root = Root(task);
  ASSERT_EQ(root.op, Op::kReduce);
  EXPECT_EQ(root.reduce, Reduction::kSum);
  ASSERT_EQ(root.bound.size(), 1u);
  EXPECT_EQ(task.formula.indices[root.bound[0]].extent, 6);
  EXPECT_EQ(RoleOf(task, 0), Role::kInput);
  EXPECT_EQ(RoleOf(task, 2), Role::kOutput);
}

TEST(Parse, ZeroScalarDropsWhatItMultiplies) {
  const std::string head = "tensor A: f32[4]\ntensor C: f32[4]\n";
  const Task zero = Parsed(head + "scalar beta = 0\nC[i] = A[i] + beta*C[i]");
  EXPECT_EQ(RoleOf(zero, 1), Role::kOutput);
  EXPECT_EQ(Root(zero).op, Op::kLoad);
  EXPECT_EQ(zero.scalars.size(), 1u);
  const Task any = Parsed(head + "scalar beta\nC[i] = A[i] + beta*C[i]");
  EXPECT_EQ(RoleOf(any, 1), Role::kInPlace);
  const Task one = Parsed(head + "scalar beta = 1\nC[i] = A[i] + beta*C[i]");
  EXPECT_EQ(one.formula.nodes.size(), 3u);  // two loads and an addition
}

TEST(Parse, LiteralZeroDropsNothing) {
  const Task task = Parsed("tensor A: f32[4]\ntensor C: f32[4]\nC[i] = 0*A[i]");
  EXPECT_EQ(Root(task).op, Op::kMul);
}

}  // namespace
}  // namespace hiera
