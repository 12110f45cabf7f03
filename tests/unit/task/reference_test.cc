// The reference against closed forms and values worked out by hand.
#include "runtime/task/reference.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

Task Parsed(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << text << "\n" << (task.ok() ? "" : task.status().message());
  return task.ok() ? *task : Task{};
}

// All outputs, in binding order.
std::vector<ReferenceOutput> Reference(const Task& task, std::vector<void*> pointers,
                                       std::vector<double> scalars = {},
                                       const ReferenceOptions& options = {}) {
  auto outputs = RunReference(task, pointers.data(), scalars.data(), options);
  EXPECT_TRUE(outputs.ok());
  return outputs.ok() ? *outputs : std::vector<ReferenceOutput>{};
}

std::vector<double> Values(const ReferenceOutput& output) {
  std::vector<double> values;
  for (const ReferenceElement& e : output.elements) {
    values.push_back(e.written ? static_cast<double>(e.value) : -777);
  }
  return values;
}

using Doubles = std::vector<double>;

TEST(ReferenceTest, GemmByHand) {
  const Task task = Parsed(
      "tensor A: f64[2,3]\ntensor B: f64[3,2]\ntensor C: f64[2,2]\nscalar alpha\nscalar beta\n"
      "C[i,j] = alpha*sum(k: A[i,k]*B[k,j]) + beta*C[i,j]");
  Doubles a = {1, 2, 3, 4, 5, 6}, b = {7, 8, 9, 10, 11, 12}, c = {1, 1, 2, 2};
  const auto outputs = Reference(task, {a.data(), b.data(), c.data()}, {2, -1});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].tensor, 2);
  EXPECT_EQ(Values(outputs[0]), (Doubles{115, 127, 276, 306}));
  const ReferenceElement& e = outputs[0].elements[0];
  EXPECT_EQ(e.magnitude, 117);  // 2 * 58 + 1
  EXPECT_EQ(e.terms, 4);        // three products and one more term
  EXPECT_EQ(c, (Doubles{1, 1, 2, 2})) << "inputs are only read";
}

TEST(ReferenceTest, MagnitudeIsTheFormulaOverAbsoluteValues) {
  const Task task = Parsed(
      "tensor A: f32[1,4]\ntensor B: f32[4,1]\ntensor C: f32[1,1]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])");
  float a[] = {1, -2, 3, -4}, b[] = {1, 1, 1, 1}, c[1];
  const auto outputs = Reference(task, {a, b, c});
  EXPECT_EQ(outputs[0].elements[0].value, -2);
  EXPECT_EQ(outputs[0].elements[0].magnitude, 10);
  EXPECT_EQ(outputs[0].elements[0].terms, 4);
}

TEST(ReferenceTest, SoftmaxRowsSumToOne) {
  const Task task = Parsed(
      "tensor x: f32[5,37]\ntensor y: f32[5,37]\n"
      "y[i,j] = exp(x[i,j] - max(k: x[i,k])) / sum(k: exp(x[i,k] - max(l: x[i,l])))");
  std::vector<float> x(5 * 37), y(5 * 37);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(3 * i)) * 20;
  const auto outputs = Reference(task, {x.data(), y.data()});
  for (int i = 0; i < 5; ++i) {
    long double sum = 0;
    for (int j = 0; j < 37; ++j) sum += outputs[0].elements[i * 37 + j].value;
    EXPECT_NEAR(static_cast<double>(sum), 1, 1e-15);
  }
}

TEST(ReferenceTest, OutsideRules) {
  const auto run = [](const std::string& rule) {
    const Task task = Parsed("tensor u: f64[4] outside " + rule +
                             "\ntensor v: f64[4]\nv[i] = u[i-1] + 10*u[i+2]");
    Doubles u = {1, 2, 3, 4}, v = {-5, -6, -7, -8};
    return Values(Reference(task, {u.data(), v.data()})[0]);
  };
  EXPECT_EQ(run("zero"), (Doubles{30, 41, 2, 3}));
  EXPECT_EQ(run("clamp"), (Doubles{31, 41, 42, 43}));
  EXPECT_EQ(run("wrap"), (Doubles{34, 41, 12, 23}));
  EXPECT_EQ(run("keep"), (Doubles{-777, 41, -777, -777}));
}

TEST(ReferenceTest, TransposedConvolutionByHand) {
  // Each input element adds w scaled by it at distance 2: x = (1, 10), w = (1, 2, 3).
  const Task task = Parsed(
      "tensor x: f64[2] outside zero\ntensor w: f64[3]\ntensor y: f64[5]\n"
      "y[o] = sum(r: x[(o - r)/2] * w[r])");
  Doubles x = {1, 10}, w = {1, 2, 3}, y(5);
  EXPECT_EQ(Values(Reference(task, {x.data(), w.data(), y.data()})[0]),
            (Doubles{1, 2, 13, 20, 30}));
}

TEST(ReferenceTest, ScansInEveryDirection) {
  const auto run = [](const std::string& scan) {
    const Task task = Parsed("tensor x: f64[2,3]\ntensor y: f64[2,3]\ny[i,j] = " + scan);
    Doubles x = {1, 2, 3, 4, 5, 6}, y(6);
    return Values(Reference(task, {x.data(), y.data()})[0]);
  };
  EXPECT_EQ(run("cumsum(j: x[i,j])"), (Doubles{1, 3, 6, 4, 9, 15}));
  EXPECT_EQ(run("cumsum(i: x[i,j])"), (Doubles{1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(run("cumsum(reverse j: x[i,j])"), (Doubles{6, 5, 3, 15, 11, 6}));
  EXPECT_EQ(run("cumprod(exclusive j: x[i,j])"), (Doubles{1, 1, 2, 1, 4, 20}));
  EXPECT_EQ(run("cumprod(reverse exclusive j: x[i,j])"), (Doubles{6, 3, 1, 30, 6, 1}));
}

TEST(ReferenceTest, GatherAndArgMax) {
  const Task gather = Parsed(
      "tensor W: f64[3,2] outside zero\ntensor idx: i32[4]\ntensor y: f64[4,2]\n"
      "y[i,j] = W[idx[i], j]");
  Doubles w = {1, 2, 3, 4, 5, 6}, y(8);
  int32_t idx[] = {2, 0, -1, 3};
  EXPECT_EQ(Values(Reference(gather, {w.data(), idx, y.data()})[0]),
            (Doubles{5, 6, 1, 2, 0, 0, 0, 0}));
  const Task arg = Parsed("tensor x: f64[2,4]\ntensor m: i32[2]\nm[i] = argmax(j: x[i,j])");
  Doubles x = {1, 7, 7, 3, 1, NAN, 9, NAN};
  int32_t m[2];
  EXPECT_EQ(Values(Reference(arg, {x.data(), m})[0]), (Doubles{1, 1}));
}

bool AdmitsIndex(const ReferenceElement& element, int32_t index) {
  return Admits(element, Contract{}, DType::kI32, &index);
}

TEST(ReferenceTest, AnArgReductionOfSumsIsJudgedByTheValueAtTheIndex) {
  const Task task =
      Parsed("tensor x: f32[1,5,3]\ntensor m: i32[1]\nm[i] = argmax(j: sum(k: x[i,j,k]))");
  // Sums of 6, 6, 3, 6.000001 and 6.0001; four units in the last place of 6 are 2e-6.
  std::vector<float> x = {1, 2, 3, 2, 2, 2, 1, 1, 1, 3, 2, 1.000001f, 3, 2, 0.5f};
  int32_t m[1];
  const ReferenceElement close = Reference(task, {x.data(), m})[0].elements[0];
  EXPECT_EQ(close.value, 3);
  EXPECT_EQ(close.ties, (std::vector<std::pair<int64_t, int64_t>>{{0, 1}}));
  for (const int index : {0, 1, 3}) EXPECT_TRUE(AdmitsIndex(close, index)) << index;
  for (const int index : {-1, 2, 4, 5}) EXPECT_FALSE(AdmitsIndex(close, index)) << index;
  x[14] = 1.0001f;
  const ReferenceElement clear = Reference(task, {x.data(), m})[0].elements[0];
  EXPECT_TRUE(AdmitsIndex(clear, 4));
  EXPECT_FALSE(AdmitsIndex(clear, 3));
}

TEST(ReferenceTest, OfExactEqualsTheFirstIndexIsTheOnlyOne) {
  const Task task = Parsed("tensor x: f32[1,6]\ntensor m: i32[1]\nm[i] = argmin(j: -x[i,j])");
  std::vector<float> x = {1, 7, 3, 7, 7, 7 - 1e-6f};
  int32_t m[1];
  const ReferenceElement element = Reference(task, {x.data(), m})[0].elements[0];
  EXPECT_TRUE(AdmitsIndex(element, 1));
  for (const int index : {3, 4, 5}) EXPECT_FALSE(AdmitsIndex(element, index)) << index;
}

// Where another expression hangs on it, anything may follow from an index that is not certain.
TEST(ReferenceTest, AValueReadAtATiedIndexIsUnsure) {
  const Task task = Parsed(
      "tensor x: f32[1,2,2]\ntensor w: f32[2] outside zero\ntensor y: f32[1]\n"
      "y[i] = w[argmax(j: sum(k: x[i,j,k]))]");
  std::vector<float> x = {1, 2, 2, 1}, w = {10, 20}, y(1);
  const ReferenceElement element = Reference(task, {x.data(), w.data(), y.data()})[0].elements[0];
  EXPECT_TRUE(Admits(element, task.contract, DType::kF32, &w[1]));
}

TEST(ReferenceTest, SingleElementsAreThoseOfTheWhole) {
  const Task task = Parsed(
      "tensor x: f64[4,5]\ntensor s: f64[4]\ntensor y: f64[4,5]\n"
      "s[i] = sum(j: x[i,j])\ny[i,j] = x[i,j] / s[i]");
  Doubles x(20), s(4), y(20);
  for (int i = 0; i < 20; ++i) x[i] = 1 + i * i;
  EXPECT_TRUE(StandsAlone(task, 1));
  EXPECT_FALSE(StandsAlone(task, 2));
  const auto whole = Reference(task, {x.data(), s.data(), y.data()});
  for (const int output : {1, 2}) {
    ReferenceOptions options;
    options.output = output;
    options.elements = {0, 3};
    const auto some = Reference(task, {x.data(), s.data(), y.data()}, {}, options);
    ASSERT_EQ(some.size(), 1u);
    EXPECT_EQ(some[0].tensor, output);
    ASSERT_EQ(some[0].elements.size(), 2u);
    EXPECT_EQ(some[0].elements[1].position, 3);
    EXPECT_EQ(some[0].elements[1].value, whole[output - 1].elements[3].value);
  }
}

TEST(ReferenceTest, StepsOfTheHeatEquationDampTheFirstMode) {
  // The first sine mode with zero ends is an eigenvector: each step scales it by
  // 1 - 2 a (1 - cos(pi/(n+1))).
  const Task task = Parsed(
      "tensor u: f64[31] outside zero\ntensor v: f64[31]\n"
      "v[i] = u[i] + 0.25*(u[i-1] - 2*u[i] + u[i+1])\nsteps 40 (u = v)");
  Doubles u(31), v(31);
  for (int i = 0; i < 31; ++i) u[i] = std::sin(M_PI * (i + 1) / 32);
  const double factor = std::pow(1 - 0.5 * (1 - std::cos(M_PI / 32)), 40);
  const auto outputs = Reference(task, {u.data(), v.data()});
  for (int i = 0; i < 31; ++i) {
    EXPECT_NEAR(static_cast<double>(outputs[0].elements[i].value), factor * u[i], 1e-14);
    const long double bound = ErrorBound(outputs[0].elements[i], task.contract, DType::kF64);
    EXPECT_LT(static_cast<double>(bound), 1e-12)
        << "the bound grows with the steps, not as 3^steps";
  }
}

TEST(ReferenceTest, KeptElementsHoldTheirStateUntilTheLastStep) {
  const Task task = Parsed(
      "tensor u: f64[4] outside keep\ntensor v: f64[4]\nv[i] = u[i-1] + u[i+1]\nsteps 3 (u = v)");
  Doubles u = {1, 2, 3, 4}, v = {-1, -1, -1, -1};
  // (1 2 3 4) -> (1 4 6 4) -> (1 7 8 4) -> (. 9 11 .)
  EXPECT_EQ(Values(Reference(task, {u.data(), v.data()})[0]), (Doubles{-777, 9, 11, -777}));
}

TEST(ReferenceTest, StatementsReadWhatEarlierOnesWrote) {
  const Task order = Parsed(
      "tensor x: f32[3]\ntensor h: f16[3]\ntensor y: f32[3]\nt[i] = x[i]/3\nh[i] = t[i]\n"
      "y[i] = h[i] - t[i]");
  float x[] = {1, 2, 4}, y[3];
  uint16_t h[3];
  const auto outputs = Reference(order, {x, h, y});
  ASSERT_EQ(outputs.size(), 2u);
  // h holds 1/3 rounded to 11 bits: 1365 * 2^-12.
  EXPECT_NEAR(static_cast<double>(outputs[1].elements[0].value), 1365.0 / 4096 - 1.0 / 3, 1e-12);
}

TEST(ReferenceTest, ScalarThatContradictsItsClassIsRefused) {
  const Task task = Parsed("tensor x: f32[1]\ntensor y: f32[1]\nscalar b = 1\ny[i] = b*x[i]");
  float x = 1, y = 0;
  void* pointers[] = {&x, &y};
  const double wrong = 2;
  const auto outputs = RunReference(task, pointers, &wrong);
  ASSERT_FALSE(outputs.ok());
  EXPECT_NE(outputs.status().message().find("'b'"), std::string::npos);
}

TEST(ReferenceTest, SampledElementsAreThoseOfTheWholeAndHoldTheCorners) {
  const Task task =
      Parsed("tensor x: f32[50,60]\ntensor y: f32[50,60] strides [70,1]\ny[i,j] = x[i,j] * x[i,j]");
  std::vector<float> x(3000), y(50 * 70);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const auto whole = Reference(task, {x.data(), y.data()})[0];
  const auto some = Reference(task, {x.data(), y.data()}, {}, {100, 5})[0];
  EXPECT_LE(some.elements.size(), 100u);
  EXPECT_GE(some.elements.size(), 90u);
  std::set<int64_t> positions;
  for (const ReferenceElement& e : some.elements) {
    positions.insert(e.position);
    const int64_t i = e.position / 70, j = e.position % 70;
    EXPECT_EQ(e.value, whole.elements[i * 60 + j].value);
  }
  for (const int64_t corner : {0L, 59L, 49L * 70, 49L * 70 + 59}) {
    EXPECT_EQ(positions.count(corner), 1u) << corner;
  }
}

class GemmBoundTest : public ::testing::Test {
 protected:
  void SetUp() override {
    task_ = Parsed(
        "tensor A: f32[16,4096]\ntensor B: f32[4096,16]\ntensor C: f32[16,16]\n"
        "C[i,j] = sum(k: A[i,k]*B[k,j])");
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float& v : a_) v = normal(random);
    for (float& v : b_) v = normal(random);
    reference_ = Reference(task_, {a_.data(), b_.data(), c_.data()})[0];
  }
  // How many elements of the product of rounded operands, summed in `Sum`, are not admitted.
  template <typename Sum>
  int Refused(float (*round)(float)) {
    int refused = 0;
    for (const ReferenceElement& e : reference_.elements) {
      const int64_t i = e.position / 16, j = e.position % 16;
      Sum sum = 0;
      for (int k = 0; k < 4096; ++k) {
        sum += static_cast<Sum>(round(a_[i * 4096 + k])) * round(b_[k * 16 + j]);
      }
      const float stored = static_cast<float>(sum);
      if (!Admits(e, task_.contract, DType::kF32, &stored)) ++refused;
    }
    return refused;
  }

  Task task_;
  std::vector<float> a_ = std::vector<float>(16 * 4096), b_ = a_, c_ = std::vector<float>(256);
  ReferenceOutput reference_;
};

float AsIs(float v) { return v; }
float ToTf32(float v) {  // 10 mantissa bits, to nearest
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
  std::memcpy(&v, &bits, 4);
  return v;
}
float ToBf16(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, 4);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & ~0xffffu;
  std::memcpy(&v, &bits, 4);
  return v;
}

TEST_F(GemmBoundTest, PlainSumsInSinglePrecisionPass) { EXPECT_EQ(Refused<float>(AsIs), 0); }
TEST_F(GemmBoundTest, OperandsRoundedToTf32AreRefused) { EXPECT_GT(Refused<float>(ToTf32), 0); }
TEST_F(GemmBoundTest, OperandsRoundedToBf16AreRefused) { EXPECT_GT(Refused<double>(ToBf16), 128); }

TEST(ReferenceTest, BoundsAndSpecialValues) {
  const Contract contract;
  const auto admits = [&](long double value, long double magnitude, DType dtype, auto actual) {
    return Admits({0, true, value, magnitude, 1}, contract, dtype, &actual);
  };
  EXPECT_TRUE(admits(1.0L, 1.0L, DType::kF32, 1.0f));
  EXPECT_TRUE(admits(1.0L, 1.0L, DType::kF32, 1.0f + 2 * 0x1p-23f));
  EXPECT_FALSE(admits(1.0L, 1.0L, DType::kF32, 1.0f + 4 * 0x1p-23f));
  EXPECT_TRUE(admits(NAN, 0, DType::kF32, -std::nanf("")));
  EXPECT_FALSE(admits(NAN, 0, DType::kF32, 1.0f));
  EXPECT_FALSE(admits(1.0L, 1.0L, DType::kF32, std::nanf("")));
  EXPECT_TRUE(admits(INFINITY, 0, DType::kF32, INFINITY));
  EXPECT_FALSE(admits(INFINITY, 0, DType::kF32, -INFINITY));
  EXPECT_FALSE(admits(INFINITY, 0, DType::kF32, 3e38f));
  EXPECT_FALSE(admits(1e30L, 1e30L, DType::kF32, INFINITY));
  // 70,000 is no f16: it rounds to infinity, and 65,504 is too far from it.
  EXPECT_TRUE(admits(70000, 70000, DType::kF16, uint16_t{0x7c00}));
  EXPECT_FALSE(admits(70000, 70000, DType::kF16, uint16_t{0x7bff}));
  // Integers and booleans are exact.
  EXPECT_TRUE(admits(7, 7, DType::kI32, int32_t{7}));
  EXPECT_FALSE(admits(7, 7, DType::kI32, int32_t{8}));
  EXPECT_TRUE(admits(1, 1, DType::kBool, uint8_t{1}));
  EXPECT_FALSE(admits(1, 1, DType::kBool, uint8_t{0}));
}

TEST(ReferenceTest, ConversionsRoundToNearestEvenOnce) {
  const auto half = [](long double v) {
    uint16_t bits;
    StoreRounded(v, DType::kF16, &bits);
    return bits;
  };
  EXPECT_EQ(half(1), 0x3c00);
  EXPECT_EQ(half(1 + 0x1p-11L), 0x3c00);             // a tie goes to the even one
  EXPECT_EQ(half(1 + 0x1p-11L + 0x1p-60L), 0x3c01);  // just above it does not
  EXPECT_EQ(half(1 + 3 * 0x1p-11L), 0x3c02);
  EXPECT_EQ(half(65519.99L), 0x7bff);
  EXPECT_EQ(half(65520), 0x7c00);
  EXPECT_EQ(half(0x1p-24L), 0x0001);
  EXPECT_EQ(half(0x1p-25L), 0x0000);
  EXPECT_EQ(half(0x1.8p-25L), 0x0001);
  EXPECT_EQ(half(-0x1p-14L), 0x8400);
  EXPECT_EQ(half(2047 * 0x1p-25L), 0x0400);  // rounds up into the normal numbers
  uint16_t bf;
  StoreRounded(1 + 0x1p-8L, DType::kBF16, &bf);
  EXPECT_EQ(bf, 0x3f80);
  StoreRounded(3.4e38L, DType::kBF16, &bf);
  EXPECT_EQ(bf, 0x7f80);
  int32_t i;
  StoreRounded(4294967297.0L, DType::kI32, &i);
  EXPECT_EQ(i, 1);
  for (int bits = 0; bits < 0x10000; ++bits) {
    const uint16_t b = static_cast<uint16_t>(bits);
    for (const DType dtype : {DType::kF16, DType::kBF16}) {
      const long double v = LoadExact(dtype, &b);
      if (std::isnan(v)) continue;
      uint16_t back;
      StoreRounded(v, dtype, &back);
      ASSERT_EQ(back, b);
    }
  }
}

TEST(ReferenceTest, ComparisonsCloserThanTheirErrorAdmitBothSides) {
  const Task task = Parsed("tensor x: f32[2]\ntensor y: bool[2]\ny[i] = x[i]*x[i] < 0.01");
  float x[] = {0.1f, 0.2f};
  uint8_t y[2];
  const auto e = Reference(task, {x, y})[0].elements;
  const uint8_t no = 0, yes = 1;
  EXPECT_TRUE(Admits(e[0], task.contract, DType::kBool, &no));
  EXPECT_TRUE(Admits(e[0], task.contract, DType::kBool, &yes));
  EXPECT_TRUE(Admits(e[1], task.contract, DType::kBool, &no));
  EXPECT_FALSE(Admits(e[1], task.contract, DType::kBool, &yes));
}

}  // namespace
}  // namespace hiera
