// The vector mathematics of fused kernels against long double, over the whole range of each
// function. The kernels' own files are compiled into this test as they stand.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "policies/framework/scalar_functions.cc"
#include "policies/kernel/fused/vector_math.cc"
#include "policies/kernel/fused/vector_row.cc"

namespace hiera::testing {
namespace {

typedef float F32 __attribute__((vector_size(16)));
typedef double F64 __attribute__((vector_size(16)));
using Exact = long double (*)(long double);

// |got - exact| in units of the last place of T at `exact`.
template <typename T>
double Ulps(T got, long double exact) {
  if (std::isnan(exact)) return std::isnan(got) ? 0 : 1e9;
  if (std::isnan(got)) return 1e9;
  const T rounded = static_cast<T>(exact);
  if (std::isinf(rounded) || std::isinf(got)) {
    const long double most = std::numeric_limits<T>::max();
    return got == rounded || std::fabs(exact) > 0.999999L * most ? 0 : 1e9;
  }
  const int digits = std::numeric_limits<T>::digits;
  const int lowest = std::numeric_limits<T>::min_exponent - digits;
  const int exponent = exact == 0 ? lowest : std::max(std::ilogb(exact) + 1 - digits, lowest);
  return static_cast<double>(
      std::fabs((static_cast<long double>(got) - exact) / std::ldexp(1.0L, exponent)));
}

struct Worst {
  double ulps = 0, at = 0;
};

// Arguments spread evenly over [low, high], or by size from |low| to |high| with both signs.
template <typename V, typename F>
Worst Measure(F function, Exact exact, double low, double high, bool by_size) {
  using T = vm::Element<V>;
  constexpr int kSamples = 20000;
  Worst worst;
  for (int i = 0; i < kSamples; ++i) {
    const double part = (i + 0.37) / kSamples;
    const double x = by_size ? (i % 2 == 0 ? 1 : -1) * low * std::pow(high / low, part)
                             : low + (high - low) * part;
    V vector = vm::all<V>(static_cast<T>(0.5));
    const int lane = i % vm::kLanes<V>;
    vector[lane] = static_cast<T>(x);
    const double ulps = Ulps<T>(function(vector)[lane], exact(static_cast<T>(x)));
    if (ulps > worst.ulps) worst = {ulps, x};
  }
  return worst;
}

long double Sigmoid(long double x) { return 1 / (1 + std::exp(-x)); }
long double Rsqrt(long double x) { return 1 / std::sqrt(x); }

#define EXPECT_ACCURATE(name, V, exact, low, high, by_size, bound)                              \
  {                                                                                             \
    const Worst worst = Measure<V>([](V x) { return vm::name(x); }, exact, low, high, by_size); \
    EXPECT_LE(worst.ulps, bound) << #name " of " #V " at " << worst.at;                         \
  }

TEST(VectorMath, F32IsWithinUlps) {
  EXPECT_ACCURATE(exp, F32, std::exp, -110, 95, false, 1.5);
  EXPECT_ACCURATE(exp, F32, std::exp, 1e-30, 80, true, 1.5);
  EXPECT_ACCURATE(log, F32, std::log, 1e-45, 3e38, true, 1.5);
  EXPECT_ACCURATE(log, F32, std::log, 0.5, 2, false, 1.5);
  EXPECT_ACCURATE(tanh, F32, std::tanh, -20, 20, false, 2);
  EXPECT_ACCURATE(tanh, F32, std::tanh, 1e-40, 1, true, 2);
  EXPECT_ACCURATE(erf, F32, std::erf, -7, 7, false, 2);
  EXPECT_ACCURATE(erf, F32, std::erf, 1e-37, 1, true, 2);
  EXPECT_ACCURATE(sigmoid, F32, Sigmoid, -110, 40, false, 3);
  EXPECT_ACCURATE(rsqrt, F32, Rsqrt, 1e-38, 1e38, true, 2);
  EXPECT_ACCURATE(sin, F32, std::sin, -10, 10, false, 3);
  EXPECT_ACCURATE(cos, F32, std::cos, -10, 10, false, 3);
}

TEST(VectorMath, F64IsWithinUlps) {
  EXPECT_ACCURATE(exp, F64, std::exp, -760, 720, false, 1.5);
  EXPECT_ACCURATE(log, F64, std::log, 1e-320, 1e308, true, 1.5);
  EXPECT_ACCURATE(log, F64, std::log, 0.5, 2, false, 1.5);
  EXPECT_ACCURATE(tanh, F64, std::tanh, -25, 25, false, 2);
  EXPECT_ACCURATE(tanh, F64, std::tanh, 1e-300, 1, true, 2);
  EXPECT_ACCURATE(erf, F64, std::erf, -7, 7, false, 5);
  EXPECT_ACCURATE(sigmoid, F64, Sigmoid, -740, 40, false, 3);
  EXPECT_ACCURATE(sin, F64, std::sin, -10, 10, false, 3);
  EXPECT_ACCURATE(cos, F64, std::cos, -1e5, 1e5, false, 3);
}

// Relative to 1, which is what a sum feels: arguments whose reduction cancels, and huge ones.
TEST(VectorMath, SineAndCosineOfLargeArgumentsStayClose) {
  for (double x = 1; x < 1e30; x *= 1.37) {
    const float f = static_cast<float>(x);
    EXPECT_NEAR(vm::sin(vm::all<F32>(f))[1], std::sin(static_cast<long double>(f)), 2e-7) << f;
    EXPECT_NEAR(vm::cos(vm::all<F32>(f))[2], std::cos(static_cast<long double>(f)), 2e-7) << f;
    EXPECT_NEAR(vm::sin(vm::all<F64>(x))[1], std::sin(static_cast<long double>(x)), 4e-16) << x;
  }
}

TEST(VectorMath, SpecialValues) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const auto at = [](float x) { return vm::all<F32>(x); };
  EXPECT_EQ(vm::exp(at(infinity))[0], infinity);
  EXPECT_EQ(vm::exp(at(-infinity))[0], 0);
  EXPECT_EQ(vm::log(at(0))[0], -infinity);
  EXPECT_TRUE(std::isnan(vm::log(at(-1))[0]));
  EXPECT_EQ(vm::log(at(infinity))[0], infinity);
  EXPECT_EQ(vm::tanh(at(-infinity))[0], -1);
  EXPECT_EQ(vm::erf(at(infinity))[0], 1);
  EXPECT_EQ(vm::sigmoid(at(-infinity))[0], 0);
  EXPECT_TRUE(std::isnan(vm::sin(at(infinity))[0]));
  for (const F32 x :
       {vm::exp(at(nan)), vm::log(at(nan)), vm::tanh(at(nan)), vm::erf(at(nan)), vm::sin(at(nan)),
        vm::sigmoid(at(nan)), vm::relu(at(nan)), vm::max(at(nan), at(1)), vm::max(at(1), at(nan)),
        vm::min(at(nan), at(1)), vm::min(at(1), at(nan))}) {
    EXPECT_TRUE(std::isnan(x[3]));
  }
}

TEST(VectorRow, HalvesWidenLikeScalars) {
  for (unsigned bits = 0; bits < 65536; bits += 4) {
    fn::half halves[4];
    fn::bfloat bfloats[4];
    for (unsigned i = 0; i < 4; ++i) {
      halves[i].bits = bfloats[i].bits = static_cast<unsigned short>(bits + i);
    }
    const F32 h = vm::load<F32>(halves, vm::Whole()), b = vm::load<F32>(bfloats, vm::Whole());
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(fn::bits_of(h[i]), fn::bits_of(fn::widen(halves[i]))) << bits + i;
      EXPECT_EQ(fn::bits_of(b[i]), fn::bits_of(fn::widen(bfloats[i]))) << bits + i;
    }
  }
}

TEST(VectorRow, HalvesNarrowLikeScalars) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 9973) {
    const float x = fn::float_of(static_cast<unsigned>(bits));
    fn::half halves[4];
    fn::bfloat bfloats[4];
    vm::store(halves, vm::all<F32>(0) + x, vm::Whole());
    vm::store(bfloats, vm::all<F32>(0) + x, vm::Whole());
    const float same = 0.0f + x;  // -0 has become 0
    EXPECT_EQ(halves[2].bits, fn::narrow_half(same).bits) << bits;
    EXPECT_EQ(bfloats[1].bits, fn::narrow_bfloat(same).bits) << bits;
  }
}

TEST(ScalarFunctions, HalvesRoundToNearestEven) {
  const auto half = [](double x) { return fn::narrow_half(fn::round_to_odd(x)).bits; };
  EXPECT_EQ(half(1.0), 0x3c00);
  EXPECT_EQ(half(1.0 + 0x1p-11), 0x3c00);            // a tie, to even
  EXPECT_EQ(half(1.0 + 0x1p-11 + 0x1p-40), 0x3c01);  // above it by less than a float shows
  EXPECT_EQ(half(1.0 + 3 * 0x1p-11), 0x3c02);        // a tie, to even
  EXPECT_EQ(half(65519.99), 0x7bff);
  EXPECT_EQ(half(65520.0), 0x7c00);
  EXPECT_EQ(half(0x1p-25), 0x0000);  // half the smallest: a tie, to even
  EXPECT_EQ(half(-0x1.8p-25), 0x8001);
  EXPECT_EQ(fn::narrow_bfloat(fn::round_to_odd(1.0 + 0x1p-8)).bits, 0x3f80);
  EXPECT_EQ(fn::narrow_bfloat(fn::round_to_odd(1.0 + 0x1p-8 + 0x1p-50)).bits, 0x3f81);
}

}  // namespace
}  // namespace hiera::testing
