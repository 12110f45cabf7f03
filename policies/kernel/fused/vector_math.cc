// Elementary functions on whole vectors. Placed in front of every fused kernel, after
// scalar_functions.cc, whose functions it calls lane by lane where nothing better is known.
// V is a GCC vector type of float or double. Functions honour NaN, infinities, signed zeros and
// subnormal results, and are accurate to 3 units in the last place (vector_math_test.cc measures
// them); polynomials are Chebyshev fits where no other source is named.
namespace vm {

template <typename T>
struct Value { using type = T; };
template <typename T>
struct Value<T&> { using type = T; };
template <typename T>
struct Value<T&&> { using type = T; };
template <typename V>
using Element = typename Value<decltype(V{}[0])>::type;
template <typename V>
using Mask = decltype(V{} < V{});  // of integers as wide as the elements: 0 or -1
template <typename V>
constexpr int kLanes = sizeof(V) / sizeof(Element<V>);
template <typename V>
constexpr bool kSingle = sizeof(Element<V>) == 4;

// The bits of V as unsigned integers, whose differences wrap around.
template <bool single> struct UnsignedElement { typedef unsigned type; };
template <> struct UnsignedElement<false> { typedef unsigned long type; };
template <typename V>
struct BitsOf {
  typedef typename UnsignedElement<kSingle<V>>::type type __attribute__((vector_size(sizeof(V))));
};
template <typename V> using Bits = typename BitsOf<V>::type;

template <typename V>
static inline V all(Element<V> x) { return V{} + x; }

template <typename V>
static inline V abs(V x) {
  using M = Mask<V>;
  const Element<M> sign = Element<M>(1) << (8 * sizeof(Element<M>) - 1);
  return (V)((M)x & ~(M{} + sign));
}
template <typename V>
static inline V copysign(V size, V sign) {
  using M = Mask<V>;
  const Element<M> bit = Element<M>(1) << (8 * sizeof(Element<M>) - 1);
  return (V)(((M)size & ~(M{} + bit)) | ((M)sign & (M{} + bit)));
}

// A polynomial, highest degree first.
template <typename V, int N>
static inline V horner(V x, const Element<V> (&c)[N]) {
  V p = all<V>(c[0]);
#pragma GCC unroll 32
  for (int i = 1; i < N; ++i) p = p * x + c[i];
  return p;
}

// The integer nearest to x, |x| below 2^21, as a number and as an integer.
template <typename V>
static inline V nearest(V x, Mask<V>* integer) {
  const Element<V> shift = kSingle<V> ? Element<V>(0x1.8p23) : Element<V>(0x1.8p52);
  const V shifted = x + shift;
  *integer = (Mask<V>)shifted - (Mask<V>)all<V>(shift);
  return shifted - shift;
}

// 2^n for n in the exponents of normal numbers.
template <typename V>
static inline V power_of_two(Mask<V> n) {
  if constexpr (kSingle<V>) return (V)((n + 127) << 23);
  else return (V)((n + 1023) << 52);
}

// e^x = 2^n * e^r with |r| <= ln(2)/2. The reduction is Cody and Waite's; 2^n is applied in two
// factors, so that subnormal results are rounded once.
template <typename V>
static inline V exp(V x) {
  using T = Element<V>;
  const T most = kSingle<V> ? T(89) : T(710), least = kSingle<V> ? T(-104) : T(-746);
  x = x > most ? all<V>(most) : x;
  x = x < least ? all<V>(least) : x;
  Mask<V> n;
  const V count = nearest(x * T(1.44269504088896340736), &n);
  V r, p;
  if constexpr (kSingle<V>) {
    r = (x - count * 0x1.63p-1f) + count * 2.12194440e-4f;
    const float c[] = {1.392618359e-3f, 8.363179053e-3f, 4.166655462e-2f, 1.666657699e-1f, 0.5f};
    p = horner(r, c);
  } else {
    r = (x - count * 0x1.62e42fee00000p-1) - count * 1.90821492927058770002e-10;
    const double c[] = {2.5100385495510319078e-8, 2.7620088445409748161e-7,
                        2.7557268459997064772e-6, 2.4801521295954375131e-5,
                        1.9841269863053616878e-4, 1.3888888917213716901e-3,
                        8.3333333333300618325e-3, 4.1666666666624127873e-2,
                        1.6666666666666667453e-1, 5.0000000000000010221e-1};
    p = horner(r, c);
  }
  const V e = (p * (r * r) + r) + T(1);
  const Mask<V> half = n >> 1;
  return e * power_of_two<V>(half) * power_of_two<V>(n - half);
}

// x = 2^k * m with m in [sqrt(1/2), sqrt(2)); log m by the odd series in (m - 1) / (m + 1), as in
// FreeBSD's e_log.c and e_logf.c, whose coefficients these are.
template <typename V>
static inline V log(V x) {
  using T = Element<V>;
  using M = Mask<V>;
  constexpr int digits = kSingle<V> ? 23 : 52;
  const T smallest = kSingle<V> ? T(0x1p-126) : T(0x1p-1022);
  const M small = x < smallest;  // zero, subnormal or negative
  const V scaled = small ? x * T(0x1p54) : x;
  const Bits<V> bits = (Bits<V>)scaled;
  const Bits<V> root = (Bits<V>)all<V>(T(0.70710678118654752440));
  const M k = (M)(bits - root) >> digits;  // rounds down
  const V m = (V)(bits - ((Bits<V>)k << digits));
  const V exponent = [&] {
    if constexpr (kSingle<V>) {
      return __builtin_convertvector(k, V);
    } else {  // no conversion of 64-bit lanes before AVX-512
      return (V)(k + (M)all<V>(0x1.8p52)) - 0x1.8p52;
    }
  }() - (small ? all<V>(T(54)) : V{});
  const V f = m - T(1), s = f / (f + T(2)), z = s * s, half = f * f * T(0.5);
  V tail;
  if constexpr (kSingle<V>) {
    const float c[] = {0.24279078841f, 0.28498786688f, 0.40000972152f, 0.66666662693f};
    tail = horner(z, c) * z;
  } else {
    const double c[] = {1.479819860511658591e-01, 1.531383769920937332e-01,
                        1.818357216161805012e-01, 2.222219843214978396e-01,
                        2.857142874366239149e-01, 3.999999999940941908e-01,
                        6.666666666666735130e-01};
    tail = horner(z, c) * z;
  }
  const T high = kSingle<V> ? T(0x1.62e3p-1) : T(6.93147180369123816490e-01);
  const T low = kSingle<V> ? T(9.0580006145e-06) : T(1.90821492927058770002e-10);
  V result = exponent * high - ((half - (s * (half + tail) + exponent * low)) - f);
  const V infinity = all<V>((T)__builtin_inf());
  result = x == infinity ? x : result;
  result = x == T(0) ? -infinity : result;
  result = x < T(0) ? all<V>((T)__builtin_nan("")) : result;
  return x != x ? x : result;
}

// Near zero the rational form of Cephes' tanh.c; further out 1 - 2 / (e^2x + 1).
template <typename V>
static inline V tanh(V x) {
  using T = Element<V>;
  const V size = abs(x), z = x * x;
  V near;
  if constexpr (kSingle<V>) {
    const float c[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                       1.33314422036e-1f, -3.33332819422e-1f};
    near = horner(z, c) * z * x + x;
  } else {
    const double p[] = {-9.64399179425052238628e-1, -9.92877231001918586564e1,
                        -1.61468768441708447952e3};
    const double q[] = {1.0, 1.12811678491632931402e2, 2.23548839060100448583e3,
                        4.84406305325125486048e3};
    near = x * z * (horner(z, p) / horner(z, q)) + x;
  }
  const V far = T(1) - T(2) / (exp(size + size) + T(1));
  return size < T(0.625) ? near : copysign(far, x);
}

// Near zero x + x * P(x^2); further out 1 - e^-q(x) with q = -log(erfc(x)), a smooth function.
template <typename V>
static inline V erf(V x) {
  using T = Element<V>;
  const V size = abs(x), z = x * x;
  V near, q;
  if constexpr (kSingle<V>) {
    const float c[] = {7.875875063e-5f, -8.016864287e-4f, 5.189087423e-3f, -2.685421201e-2f,
                       1.128359472e-1f, -3.761262667e-1f, 1.283791658e-1f};
    near = horner(z, c);
    const float d[] = {-1.637151415e-6f, 4.605804269e-5f, -5.968056257e-4f,
                       4.759596293e-3f,  -2.642113601e-2f, 1.100800829e-1f,
                       6.318260516e-1f,  1.130233435f,     -3.201380497e-4f};
    q = horner(size > 4.0f ? all<V>(4.0f) : size, d);
  } else {
    const double c[] = {-7.7958988270021422416e-10, 1.3720064546777685604e-8,
                        -1.6208483801871705902e-7,  1.644742470331736241e-6,
                        -1.4924736907419660338e-5,  1.2055294904839707917e-4,
                        -8.5483259753896920806e-4,  5.2239776071164227321e-3,
                        -2.686617064323777036e-2,   1.1283791670945006266e-1,
                        -3.7612638903183540438e-1,  1.2837916709551256654e-1};
    near = horner(z, c);
    const double d[] = {
        7.1596774245395751962e-9,  -1.8019347257583865371e-8, -4.239998243092615082e-9,
        3.7630401073729453278e-8,  -2.0037511430812821604e-8, 7.6441133156681795613e-8,
        -3.9018039170275553498e-7, 9.6783116394371178127e-7,  -1.9142474972678928801e-6,
        3.3879906511036270663e-6,  -4.5674822828739302936e-6, 1.4917592686842428762e-6,
        1.8474935013349413124e-5,  -9.090481707720762468e-5,  3.0781949005153524258e-4,
        -8.9357590221676497467e-4, 2.3739972871857783597e-3,  -5.9537045467073006215e-3,
        1.4384548330034055671e-2,  -3.4128411075984803024e-2, 8.1650909717812207775e-2,
        6.0422065921388598905,     1.8165248970912977206e1,   1.4112437402148174029e1};
    q = horner(((size > 6.0 ? all<V>(6.0) : size) - 3.5) * 0.4, d);
  }
  near = near * x + x;
  const V far = T(1) - exp(-q);
  return x != x ? x : size < T(1) ? near : copysign(far, x);
}

template <typename V>
static inline V sigmoid(V x) {
  using T = Element<V>;
  const V e = exp(-abs(x));
  return (x < T(0) ? e : all<V>(T(1))) / (T(1) + e);
}
template <typename V>
static inline V silu(V x) { return x * sigmoid(x); }
template <typename V>
static inline V relu(V x) { return x < Element<V>(0) ? V{} : x; }
template <typename V>
static inline V gelu(V x) {
  using T = Element<V>;
  return x * T(0.5) * (T(1) + erf(x * T(0.707106781186547524400844362)));
}

// One lane after another, through fn::; the compiler makes one instruction of it where there is.
#define VM_LANE_BY_LANE(name)                                      \
  template <typename V>                                            \
  static inline V name(V x) {                                      \
    V y{};                                                         \
    _Pragma("GCC unroll 16") for (int i = 0; i < kLanes<V>; ++i) { \
      y[i] = fn::name((Element<V>)x[i]);                           \
    }                                                              \
    return y;                                                      \
  }
VM_LANE_BY_LANE(sqrt)
VM_LANE_BY_LANE(floor)
#undef VM_LANE_BY_LANE

template <typename V>
static inline V rsqrt(V x) { return Element<V>(1) / sqrt(x); }

template <typename V>
static inline V pow(V x, V y) {
  V z{};
  for (int i = 0; i < kLanes<V>; ++i) z[i] = fn::pow((Element<V>)x[i], (Element<V>)y[i]);
  return z;
}

// Reduction by multiples of pi/2 in three parts and the polynomials of Cephes' sinf.c and sin.c.
// Larger arguments go through libm.
template <typename V, bool kCosine>
static inline V circular(V x) {
  using T = Element<V>;
  using M = Mask<V>;
  M n;
  const V count = nearest(x * T(0.63661977236758134308), &n);
  V r, s, c;
  if constexpr (kSingle<V>) {
    r = ((x - count * 1.5703125f) - count * 4.837512969970703125e-4f) - count * 7.54978995489e-8f;
    const V z = r * r;
    const float p[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
    const float q[] = {2.443315711809948e-5f, -1.388731625493765e-3f, 4.166664568298827e-2f};
    s = horner(z, p) * z * r + r;
    c = horner(z, q) * z * z - z * 0.5f + 1.0f;
  } else {
    r = ((x - count * 1.57079625129699707031) - count * 7.54978941586159635335e-8) -
        count * 5.39030285815811905290e-15;
    const V z = r * r;
    const double p[] = {1.58962301576546568060e-10, -2.50507477628578072866e-8,
                        2.75573136213857245213e-6,  -1.98412698295895385996e-4,
                        8.33333333332211858878e-3,  -1.66666666666666307295e-1};
    const double q[] = {-1.13585365213876817300e-11, 2.08757008419747316778e-9,
                        -2.75573141792967388112e-7,  2.48015872888517045348e-5,
                        -1.38888888888730564116e-3,  4.16666666666665929218e-2};
    s = horner(z, p) * z * r + r;
    c = horner(z, q) * z * z - z * 0.5 + 1.0;
  }
  const M quadrant = kCosine ? n + 1 : n;
  V y = (quadrant & 1) != 0 ? c : s;
  y = (quadrant & 2) != 0 ? -y : y;
  const M large = ~(abs(x) < (kSingle<V> ? T(512) : T(1e6)));
  bool any = false;
  for (int i = 0; i < kLanes<V>; ++i) any |= large[i] != 0;
  if (__builtin_expect(any, 0)) {
    for (int i = 0; i < kLanes<V>; ++i) {
      const T lane = x[i];
      if (large[i] != 0) y[i] = kCosine ? fn::cos(lane) : fn::sin(lane);
    }
  }
  return y;
}
template <typename V>
static inline V sin(V x) { return circular<V, false>(x); }
template <typename V>
static inline V cos(V x) { return circular<V, true>(x); }

// NaN in either operand gives NaN.
template <typename V>
static inline V max(V a, V b) { return ((a > b) | (a != a)) ? a : b; }
template <typename V>
static inline V min(V a, V b) { return ((a < b) | (a != a)) ? a : b; }

}  // namespace vm
