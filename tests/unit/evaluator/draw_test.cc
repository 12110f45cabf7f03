#include "runtime/evaluator/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "runtime/evaluator/elements.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

std::vector<float> Floats(Distribution distribution, int64_t count, Inputs inputs = Inputs::kAny) {
  TensorSpec tensor;
  tensor.extents = {count};
  tensor.strides = {1};
  std::vector<float> values(static_cast<size_t>(count));
  Random random(3);
  DrawTensor(tensor, distribution, inputs, 0, random, values.data());
  return values;
}

TEST(Draw, NormalHasMeanZeroAndVarianceOne) {
  double sum = 0, squares = 0;
  for (const float v : Floats(Distribution::kNormal, 100'000)) {
    sum += v;
    squares += double{v} * v;
  }
  EXPECT_NEAR(sum / 1e5, 0, 0.02);
  EXPECT_NEAR(squares / 1e5, 1, 0.03);
}

TEST(Draw, WideReachesOverManyBinadesWithBothSigns) {
  int small = 0, large = 0, negative = 0;
  for (const float v : Floats(Distribution::kWide, 10'000)) {
    small += std::fabs(v) < 1e-3f ? 1 : 0;
    large += std::fabs(v) > 1e3f ? 1 : 0;
    negative += v < 0 ? 1 : 0;
  }
  EXPECT_NEAR(small, 2500, 300);
  EXPECT_NEAR(large, 2500, 300);
  EXPECT_NEAR(negative, 5000, 300);
}

TEST(Draw, SpecialHoldsNaNAndBothInfinitiesButIsMostlyOrdinary) {
  int nan = 0, up = 0, down = 0, finite = 0;
  for (const float v : Floats(Distribution::kSpecial, 4096)) {
    nan += std::isnan(v) ? 1 : 0;
    up += v == HUGE_VALF ? 1 : 0;
    down += v == -HUGE_VALF ? 1 : 0;
    finite += std::isfinite(v) ? 1 : 0;
  }
  EXPECT_GE(nan, 1);
  EXPECT_GE(up, 1);
  EXPECT_GE(down, 1);
  EXPECT_GE(finite, 4000);
}

TEST(Draw, PositiveIsPositive) {
  for (const float v : Floats(Distribution::kPositive, 1000)) {
    EXPECT_GT(v, 0.49f);
    EXPECT_LT(v, 1.51f);
  }
}

TEST(Draw, SubscriptsAreMostlyValidAndSometimesNot) {
  auto task = ParseTask(
      "tensor t: f32[37,4] outside zero\ntensor n: i32[5000]\ntensor y: f32[5000,4]\n"
      "y[i,j] = t[n[i],j]");
  ASSERT_TRUE(task.ok()) << task.status().message();
  const std::vector<int64_t> extents = GatherExtents(*task);
  EXPECT_EQ(extents, (std::vector<int64_t>{0, 37, 0}));
  std::vector<int32_t> subscripts(5000);
  Random random(1);
  DrawTensor(task->tensors[1], Distribution::kNormal, Inputs::kAny, extents[1], random,
             subscripts.data());
  int outside = 0;
  std::set<int32_t> inside;
  for (const int32_t s : subscripts) {
    if (s >= 0 && s < 37) {
      inside.insert(s);
    } else {
      ++outside;
    }
  }
  EXPECT_NEAR(outside, 250, 80);
  EXPECT_EQ(inside.size(), 37u);
}

TEST(Draw, BytesBetweenElementsAreLeftAlone) {
  TensorSpec tensor;
  tensor.extents = {3, 2};
  tensor.strides = {4, 1};
  std::vector<float> values(12, -7.0f);
  Random random(1);
  DrawTensor(tensor, Distribution::kPositive, Inputs::kAny, 0, random, values.data());
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(values[i] == -7.0f, i % 4 >= 2) << i;
  }
}

TEST(Draw, ScalarsKeepTheirClass) {
  auto task = ParseTask(
      "tensor a: f32[4]\ntensor b: f32[4]\nscalar zero = 0\nscalar one = 1\nscalar any\n"
      "b[i] = zero + one*a[i] + any");
  ASSERT_TRUE(task.ok()) << task.status().message();
  Random random(1);
  const std::vector<double> scalars = DrawScalars(*task, Distribution::kNormal, random);
  EXPECT_EQ(scalars[0], 0);
  EXPECT_EQ(scalars[1], 1);
  EXPECT_NE(scalars[2], 0);
  EXPECT_LT(std::fabs(scalars[2]), 1);
}

TEST(Elements, NamesGoByIndexWhateverTheStrides) {
  TensorSpec tensor;
  tensor.name = "C";
  tensor.extents = {4, 6};
  tensor.strides = {1, 8};  // column-major with a gap
  EXPECT_EQ(ElementName(tensor, 5 * 8 + 3), "C[3,5]");
  tensor.extents = {};
  tensor.strides = {};
  EXPECT_EQ(ElementName(tensor, 0), "C");
}

}  // namespace
}  // namespace hiera
