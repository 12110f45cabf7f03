// Operation and byte counts against closed forms.
#include "runtime/task/cost.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/task/texts.h"

namespace hiera {
namespace {

Cost CostOf(const std::string& text) { return CostOf(Parsed(text)); }

TEST(Cost, GemmIsTwoMnk) {
  const Cost cost = CostOf(
      "tensor A: f32[4,6]; tensor B: f32[6,5]; tensor C: f32[4,5]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])");
  EXPECT_EQ(cost.flops, 2.0 * 4 * 5 * 6);
  EXPECT_EQ(cost.transcendentals, 0);
  EXPECT_EQ(cost.bytes, 4.0 * (4 * 6 + 6 * 5 + 4 * 5));
}

TEST(Cost, BetaReadsAndWritesC) {
  const Cost cost = CostOf(
      "tensor A: f64[4,6]; tensor B: f64[6,5]; tensor C: f64[4,5]; scalar a; scalar b\n"
      "C[i,j] = a*sum(k: A[i,k]*B[k,j]) + b*C[i,j]");
  EXPECT_EQ(cost.flops, 2.0 * 4 * 5 * 6 + 3.0 * 4 * 5);
  EXPECT_EQ(cost.bytes, 8.0 * (4 * 6 + 6 * 5 + 2 * 4 * 5));
}

TEST(Cost, SharedSumsCountOnceARow) {
  // Softmax in one statement: per element a subtraction and an exponential, a division; the sum
  // over k once a row.
  const Cost cost = CostOf(
      "tensor x: f32[3,8]; tensor y: f32[3,8]\n"
      "m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j]-m[i]); y[i,j] = e[i,j]/sum(k: e[i,k])");
  EXPECT_EQ(cost.flops, 3.0 * 8 /* max */ + 2 * 3 * 8 /* - exp */ + 3 * 8 /* sum */ + 3 * 8);
  EXPECT_EQ(cost.transcendentals, 24);
  EXPECT_EQ(cost.bytes, 4.0 * 2 * 24);
}

TEST(Cost, StencilReadsItsFieldOnceForAllSteps) {
  const Cost cost = CostOf(
      "tensor u: f32[10,20] outside keep; tensor v: f32[10,20]\nsteps 7 (u = v)\n"
      "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j]+u[i+1,j]+u[i,j-1]+u[i,j+1])");
  EXPECT_EQ(cost.flops, 7.0 * 200 * 6);
  EXPECT_EQ(cost.bytes, 4.0 * 2 * 200);
}

TEST(Cost, OnlyWhatCanBeReachedCounts) {
  const std::string y = "tensor y: f32[4]\n";
  EXPECT_EQ(CostOf("tensor x: f32[64];" + y + "y[i] = x[2*i]").bytes, 4.0 * (4 + 4));
  EXPECT_EQ(CostOf("tensor x: f32[64];" + y + "y[i] = x[2*i] + x[2*i+1]").bytes, 4.0 * (8 + 4));
  EXPECT_EQ(CostOf("tensor x: f32[64];" + y + "y[i] = x[i] + x[i+1]").bytes, 4.0 * (5 + 4));
  EXPECT_EQ(CostOf("tensor x: f32[9,9];" + y + "y[i] = x[i,i]").bytes, 4.0 * (4 + 4));
  EXPECT_EQ(CostOf("tensor x: f32[8,4] strides[0,1];" + y + "y[i] = sum(k: x[k,i])").bytes,
            4.0 * (4 + 4));
  EXPECT_EQ(CostOf("tensor x: f32[2] outside clamp;" + y + "y[i] = x[i-1]").bytes, 4.0 * (2 + 4));
  EXPECT_EQ(CostOf("tensor x: f32[64]; tensor z: f32[4];" + y + "y[i] = z[i]").bytes,
            4.0 * (4 + 4));
  EXPECT_EQ(
      CostOf("tensor E: f16[50,8] outside zero; tensor n: i32[4];" + y + "y[i] = E[n[i],3]").bytes,
      2.0 * 50 + 4.0 * 4 + 4.0 * 4);
}

TEST(Cost, ConvCountsEveryTap) {
  const Cost cost = CostOf(
      "tensor X: f32[2,3,8,8] outside zero; tensor W: f32[4,3,3,3]; tensor Y: f32[2,4,4,4]\n"
      "Y[n,f,y,x] = sum(c,r,s: X[n,c,2*y+r-1,2*x+s-1]*W[f,c,r,s])");
  EXPECT_EQ(cost.flops, 2.0 * (2 * 4 * 4 * 4) * (3 * 3 * 3));
  EXPECT_EQ(cost.bytes, 4.0 * (2 * 3 * 8 * 8 + 4 * 27 + 2 * 4 * 16));
}

TEST(Cost, IntegersAreFree) {
  const Cost cost =
      CostOf("tensor x: i32[8]; tensor y: i32[8]; y[i] = x[i]*2 + select(i > 3, 1, 0)");
  EXPECT_EQ(cost.flops, 0);
  const Cost scan = CostOf("tensor x: f32[3,8]; tensor y: f32[3,8]; y[i,j] = cumsum(j: x[i,j])");
  EXPECT_EQ(scan.flops, 24);
}

}  // namespace
}  // namespace hiera
