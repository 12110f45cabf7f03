#include "runtime/evaluator/sibling.h"

#include <gtest/gtest.h>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

std::optional<Task> Sibling(const std::string& text, double share) {
  auto task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  const auto smaller = SiblingOf(*task, share);
  if (!smaller) return std::nullopt;
  return *ParseTask(*smaller);
}

TEST(Sibling, AStencilIsShortenedAlongItsOuterAxis) {
  const auto sibling = Sibling(
      "tensor u: f32[500,500] outside clamp\ntensor v: f32[500,500]\nsteps 4 (u = v)\n"
      "v[i,j] = 0.25*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])",
      0.1);
  ASSERT_TRUE(sibling);
  EXPECT_EQ(sibling->tensors[0].extents, (std::vector<int64_t>{50, 500}));
  EXPECT_EQ(sibling->tensors[1].extents, (std::vector<int64_t>{50, 500}));
  EXPECT_EQ(sibling->formula.steps, 4);
}

TEST(Sibling, WhereOneAxisIsNotEnoughTheNextFollows) {
  const auto sibling = Sibling(
      "tensor u: f32[100,100,100] outside zero\ntensor v: f32[100,100,100]\nsteps 2 (u = v)\n"
      "v[i,j,k] = u[i-1,j,k] + u[i,j+1,k]",
      0.0575);
  ASSERT_TRUE(sibling);
  EXPECT_EQ(sibling->tensors[1].extents, (std::vector<int64_t>{24, 24, 100}));
}

// A square task: the weights along the other axis have the same extent and keep it.
TEST(Sibling, RowsAreDroppedWithoutTouchingWhatRunsAlongThem) {
  const auto sibling = Sibling(
      "tensor x: f32[256,256]\ntensor w: f32[256]\ntensor y: f32[256,256]\n"
      "m[i] = max(j: x[i,j])\ny[i,j] = w[j]*exp(x[i,j] - m[i])",
      0.125);
  ASSERT_TRUE(sibling);
  EXPECT_EQ(sibling->tensors[0].extents, (std::vector<int64_t>{32, 256}));
  EXPECT_EQ(sibling->tensors[1].extents, (std::vector<int64_t>{256}));
  EXPECT_EQ(sibling->tensors[2].extents, (std::vector<int64_t>{32, 256}));
}

TEST(Sibling, WhatCannotBeShortenedHasNone) {
  EXPECT_FALSE(Sibling("tensor x: f32[16]\ntensor y: f32[16]\nm[i] = 2*x[i]\ny[i] = m[i] + 1",
                       0.1));  // short already
}

}  // namespace
}  // namespace hiera
