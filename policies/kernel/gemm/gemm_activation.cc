// Activations on whole vectors, for the epilogues of the GEMM templates. Comes after
// gemm_vector.cc. NaN stays NaN, and infinities give what the function's limit is. Errors are a few
// units in the last place of f32 and f64, relative to 1 for Erf.
//
// Exp: x = n ln 2 + r with |r| <= ln 2 / 2 and the Taylor series of exp(r), cut where its rest is
// below half a unit in the last place (degree 7 in f32, 13 in f64). Erf: Chebyshev interpolation of
// erf(x)/x over x^2 in [0, 1] and of erfc(z) exp(z^2) / t over t = 2 / (2 + z) for z from 1 to 4
// (f32) or 6 (f64), written as polynomials in a variable that runs over [-1, 1]; relative errors of
// the fits: 1.4e-9 and 8e-9 in f32, 8.3e-18 and 1.7e-17 in f64.
namespace hiera_gemm {

template <class T>
struct Real;

template <>
struct Real<float> {
  typedef int Int;
  static constexpr int kMantissa = 23;
  static constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float kLn2High = 0.693145751953125f;
  static constexpr float kLn2Low = 1.42860682030941723212e-6f;
  static constexpr float kExpHigh = 89.0f;   // exp overflows above
  static constexpr float kExpLow = -104.0f;  // exp is zero below
  static constexpr int kExpDegree = 7;
  static constexpr float kErfLimit = 4.0f;  // erf is 1 above
  static constexpr float kErfSmall[] = {0.9654687386375510761,     -0.14053609728153706914,
                                        0.019852497722779588695,   -0.0022854195288923051181,
                                        0.00021751198975739198955, -1.7669080811751018277e-05,
                                        1.2316401734511442812e-06};
  static constexpr float kErfLarge[] = {0.51079135299483615908,     0.11452680146240712465,
                                        0.015526215360595085192,    0.00067469012659051586685,
                                        -0.00013272150021534821121, -1.2998860799830154927e-05,
                                        2.0220685186211648601e-06};
};

template <>
struct Real<double> {
  typedef long Int;
  static constexpr int kMantissa = 52;
  static constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kLn2High = 0.693147180369123816490;
  static constexpr double kLn2Low = 1.90821492927058770002e-10;
  static constexpr double kExpHigh = 710.0;
  static constexpr double kExpLow = -746.0;
  static constexpr int kExpDegree = 13;
  static constexpr double kErfLimit = 6.0;
  static constexpr double kErfSmall[] = {
      0.96546873866986730121,     -0.14053608902271711966,    0.019852496688984220473,
      -0.0022854855611441093717,  0.00021751715603561535493,  -1.7537169441131811873e-05,
      1.2233827638705510859e-06,  -7.5115692878876400007e-08, 4.1157514251094831637e-09,
      -2.0352280342798845236e-10, 9.2112819108369770049e-12,  -3.8080909953164265858e-13};
  static constexpr double kErfLarge[] = {
      0.483118996865305752,       0.13362278624164274459,     0.023394523545106802807,
      0.0015599066398771940964,   -0.00027892663037564246182, -4.9489068265374473038e-05,
      6.479355685808080691e-06,   1.3738825864209142048e-06,  -2.6776679792547830594e-07,
      -3.1132174050242222146e-08, 1.2868080100504435126e-08,  -1.2199603827145466539e-10,
      -5.3236021363770036352e-10, 7.9133356985228164859e-11,  1.3287274058804143806e-11,
      -5.0257124850627832302e-12};
};

// A vector's element and the integers of its size; a scalar is a vector of one.
template <class V>
struct Parts {
  typedef typename Plain<decltype(V{}[0])>::Type Element;
  typedef decltype(V{} < V{}) Int;
};
template <>
struct Parts<float> {
  typedef float Element;
  typedef int Int;
};
template <>
struct Parts<double> {
  typedef double Element;
  typedef long Int;
};

// Lane by lane: yes where the comparison's mask holds. Both are computed.
template <class V, class Mask>
HIERA_INLINE V Choose(Mask mask, V yes, V no) {
  return mask ? yes : no;
}

// Coefficients from the lowest power up.
template <class V, class T, int N>
HIERA_INLINE V Polynomial(V x, const T (&coefficients)[N]) {
  V y = V{} + coefficients[N - 1];
  HIERA_UNROLL for (int i = N - 2; i >= 0; --i) y = y * x + coefficients[i];
  return y;
}

// x = n ln 2 + r: 2^n in two factors, so that n may leave the exponents' range, and exp(r) - 1.
template <class V>
struct Reduced {
  V half;
  V other_half;
  V rest;
};

template <class V>
HIERA_INLINE Reduced<V> Reduce(V x) {
  using T = typename Parts<V>::Element;
  using I = typename Parts<V>::Int;
  using R = Real<T>;
  x = Choose(x > R::kExpHigh, V{} + R::kExpHigh, x);
  x = Choose(x < R::kExpLow, V{} + R::kExpLow, x);
  const V shifted = x * T(1.44269504088896340736) + R::kRound;
  const V n = shifted - R::kRound;
  const V r = (x - n * R::kLn2High) - n * R::kLn2Low;
  T inverse_factorials[R::kExpDegree];
  T factorial = 1;
  HIERA_UNROLL for (int i = 0; i < R::kExpDegree; ++i) {
    factorial *= T(i + 1);
    inverse_factorials[i] = T(1) / factorial;
  }
  const V zero = V{} + R::kRound;
  const I power = Bits<I>(shifted) - Bits<I>(zero);
  const I half = power >> 1;
  constexpr int kBias = (1 << (sizeof(T) * 8 - R::kMantissa - 2)) - 1;
  using Whole = typename Real<T>::Int;
  const Whole one = Whole(kBias) << R::kMantissa;
  return {Bits<V>(one + (half << R::kMantissa)), Bits<V>(one + ((power - half) << R::kMantissa)),
          r * Polynomial(r, inverse_factorials)};
}

template <class V>
HIERA_INLINE V Exp(V x) {
  const Reduced<V> e = Reduce(x);
  return (e.rest * e.half + e.half) * e.other_half;
}

template <class V>
HIERA_INLINE V Abs(V x) {
  using I = typename Parts<V>::Int;
  using Whole = typename Real<typename Parts<V>::Element>::Int;
  return Bits<V>(Bits<I>(x) & Whole(~(1ul << (sizeof(Whole) * 8 - 1))));
}

template <class V>
HIERA_INLINE V CopySign(V magnitude, V sign) {
  using I = typename Parts<V>::Int;
  return Bits<V>(Bits<I>(magnitude) | (Bits<I>(sign) ^ Bits<I>(Abs(sign))));
}

template <class V>
HIERA_INLINE V Relu(V x) {
  return Choose(x < V{}, V{}, x);  // NaN stays
}

template <class V>
HIERA_INLINE V Sigmoid(V x) {
  using T = typename Parts<V>::Element;
  return T(1) / (T(1) + Exp(-x));
}

template <class V>
HIERA_INLINE V Silu(V x) {
  return x * Sigmoid(x);
}

// (e^2|x| - 1) / (e^2|x| + 1), with e^y - 1 kept exact near 0.
template <class V>
HIERA_INLINE V Tanh(V x) {
  using T = typename Parts<V>::Element;
  V y = T(2) * Abs(x);
  y = Choose(y > T(80), V{} + T(80), y);
  const Reduced<V> e = Reduce(y);
  const V power = e.half * e.other_half;
  const V less_one = e.rest * power + (power - T(1));
  return CopySign(less_one / (less_one + T(2)), x);
}

template <class V>
HIERA_INLINE V Erf(V x) {
  using T = typename Parts<V>::Element;
  using R = Real<T>;
  const V z = Abs(x);
  const V near = z * Polynomial(T(2) * z * z - T(1), R::kErfSmall);
  const V t = T(2) / (T(2) + z);
  constexpr T kLow = T(2) / (2 + R::kErfLimit), kHigh = T(2) / 3;
  const V s = (t - (kHigh + kLow) / 2) * (2 / (kHigh - kLow));
  const V far = T(1) - Exp(-z * z) * t * Polynomial(s, R::kErfLarge);
  const V y = Choose(z > R::kErfLimit, V{} + T(1), Choose(z < T(1), near, far));
  return CopySign(y, x);
}

template <class V>
HIERA_INLINE V Gelu(V x) {
  using T = typename Parts<V>::Element;
  return x * T(0.5) * (T(1) + Erf(x * T(0.707106781186547524401)));
}

}  // namespace hiera_gemm
