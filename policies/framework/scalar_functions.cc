// Functions that generated loops call, one value at a time. This file is placed in front of every
// generated source and also compiles as it stands. No includes: a candidate builds in milliseconds.
// f32 and f64 functions come from libm, whose builtins the compiler may fold.
namespace fn {

// binary16 is kept as its bits; GCC 12 has no such type in C++.
struct half {
  unsigned short bits;
};
struct bfloat {
  unsigned short bits;
};

static inline unsigned bits_of(float x) { return __builtin_bit_cast(unsigned, x); }
static inline float float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }

// Exact. The exponent is moved by a multiplication, which also normalises subnormal numbers.
static inline float widen(half h) {
  const unsigned magnitude = (h.bits & 0x7fffu) << 13;
  const float scaled = float_of(magnitude) * 0x1p112f;
  const unsigned special = magnitude >= 0x0f800000u ? 0x7f800000u : 0u;  // infinity and NaN
  return float_of(bits_of(scaled) | special | (h.bits & 0x8000u) << 16);
}
static inline float widen(bfloat h) { return float_of(unsigned(h.bits) << 16); }

// A float that rounds to every narrower type as x does: truncated, the last bit made sticky
// (Boldo and Melquiond, "When double rounding is odd", 2005).
static inline float round_to_odd(float x) { return x; }
static inline float round_to_odd(double x) {
  const float nearest = (float)x;
  unsigned bits = bits_of(nearest);
  const double back = nearest;
  bits -= __builtin_fabs(back) > __builtin_fabs(x);
  bits |= back != x && x == x;
  return float_of(bits);
}

// To nearest, ties to even; overflow gives infinity; NaN stays NaN.
static inline half narrow_half(float x) {
  const unsigned sign = bits_of(x) >> 16 & 0x8000u;
  const unsigned magnitude = bits_of(x) & 0x7fffffffu;
  const unsigned normal = (magnitude - 0x37fff001u + (magnitude >> 13 & 1u)) >> 13;
  // Adding 1/2 puts the unit of the sum's last place at 2^-24, that of subnormal halves.
  const unsigned tiny = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  const unsigned finite = magnitude < 0x38800000u ? tiny : normal;
  const unsigned large = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
  return {(unsigned short)(sign | (magnitude < 0x47800000u ? finite : large))};
}
static inline bfloat narrow_bfloat(float x) {
  const unsigned bits = bits_of(x);
  const unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
  const unsigned quiet = bits >> 16 | 0x40u;
  return {(unsigned short)(x == x ? rounded : quiet)};
}

static inline float exp(float x) { return __builtin_expf(x); }
static inline double exp(double x) { return __builtin_exp(x); }
static inline float log(float x) { return __builtin_logf(x); }
static inline double log(double x) { return __builtin_log(x); }
static inline float sin(float x) { return __builtin_sinf(x); }
static inline double sin(double x) { return __builtin_sin(x); }
static inline float cos(float x) { return __builtin_cosf(x); }
static inline double cos(double x) { return __builtin_cos(x); }
static inline float tanh(float x) { return __builtin_tanhf(x); }
static inline double tanh(double x) { return __builtin_tanh(x); }
static inline float erf(float x) { return __builtin_erff(x); }
static inline double erf(double x) { return __builtin_erf(x); }
static inline float pow(float x, float y) { return __builtin_powf(x, y); }
static inline double pow(double x, double y) { return __builtin_pow(x, y); }
static inline float sqrt(float x) { return __builtin_sqrtf(x); }
static inline double sqrt(double x) { return __builtin_sqrt(x); }
static inline float floor(float x) { return __builtin_floorf(x); }
static inline double floor(double x) { return __builtin_floor(x); }
static inline float abs(float x) { return __builtin_fabsf(x); }
static inline double abs(double x) { return __builtin_fabs(x); }
static inline long abs(long x) { return x < 0 ? -x : x; }

template <typename T>
static inline T rsqrt(T x) {
  return T(1) / sqrt(x);
}
// By the exponential that does not overflow, so that small results keep their digits.
template <typename T>
static inline T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
template <typename T>
static inline T silu(T x) {
  return x * sigmoid(x);
}
template <typename T>
static inline T relu(T x) {
  return x < T(0) ? T(0) : x;
}
template <typename T>
static inline T gelu(T x) {
  return x * T(0.5) * (T(1) + erf(x * T(0.707106781186547524400844362)));
}

// NaN in either operand gives NaN.
template <typename T>
static inline T max(T a, T b) {
  return a > b || a != a ? a : b;
}
template <typename T>
static inline T min(T a, T b) {
  return a < b || a != a ? a : b;
}

// The remainder that has the divisor's sign.
static inline long mod(long a, long b) {
  if (b == 0) return 0;
  if (b == -1) return 0;
  const long r = a % b;
  return r != 0 && (r ^ b) < 0 ? r + b : r;
}

// Subscripts outside [0, extent).
static inline bool inside(long at, long extent) {
  return (unsigned long)at < (unsigned long)extent;
}
static inline long clamp(long at, long extent) {
  return at < 0 ? 0 : at < extent ? at : extent - 1;
}
static inline long wrap(long at, long extent) {
  const long r = at % extent;
  return r < 0 ? r + extent : r;
}
static inline long least(long a, long b) { return a < b ? a : b; }
static inline long most(long a, long b) { return a > b ? a : b; }

}  // namespace fn
