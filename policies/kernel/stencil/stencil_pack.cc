// Arithmetic on packs of vector registers, the values that a stencil's cell formula works on.
//
// A Pack<T, U> holds U registers of T. Every operation touches the U registers one after the
// other, so that a long chain of dependent multiply-adds becomes U chains that overlap: a formula
// of many points is bound by the latency of one chain otherwise. Vector extensions of the compiler
// are used instead of intrinsics, whose header alone would take most of a second to compile.
//
// This file is a part of a candidate's source text: it includes nothing and is compiled as it is.
#ifndef HIERA_STENCIL_PACK
#define HIERA_STENCIL_PACK

namespace hiera_stencil {

#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Register types of each element type. Explicit specialisations, because compilers drop attributes
// from types that depend on a template parameter.
template <class T>
struct Register;

template <>
struct Register<float> {
  typedef float Type __attribute__((vector_size(kVectorBytes)));
  typedef float Unaligned __attribute__((vector_size(kVectorBytes), aligned(4), may_alias));
  typedef int Mask __attribute__((vector_size(kVectorBytes)));
};

template <>
struct Register<double> {
  typedef double Type __attribute__((vector_size(kVectorBytes)));
  typedef double Unaligned __attribute__((vector_size(kVectorBytes), aligned(8), may_alias));
  typedef long long Mask __attribute__((vector_size(kVectorBytes)));
};

template <class T>
constexpr int kLanes = kVectorBytes / int(sizeof(T));

// Result of a comparison of packs.
template <class T, int U>
struct Mask {
  Mask<T, U / 2> low, high;
};
template <class T>
struct Mask<T, 1> {
  typename Register<T>::Mask v;
};

template <class T, int U>
struct Pack {
  Pack<T, U / 2> low, high;

  static inline Pack Load(const T* p) {
    return {Pack<T, U / 2>::Load(p), Pack<T, U / 2>::Load(p + U / 2 * kLanes<T>)};
  }
  static inline Pack Splat(T x) { return {Pack<T, U / 2>::Splat(x), Pack<T, U / 2>::Splat(x)}; }
  inline void Store(T* p) const {
    low.Store(p);
    high.Store(p + U / 2 * kLanes<T>);
  }
};

template <class T>
struct Pack<T, 1> {
  typename Register<T>::Type v;

  static inline Pack Load(const T* p) {
    return {(typename Register<T>::Type) * (const typename Register<T>::Unaligned*)p};
  }
  static inline Pack Splat(T x) { return {x - (typename Register<T>::Type){}}; }
  inline void Store(T* p) const { *(typename Register<T>::Unaligned*)p = v; }
};

// The binary operators, for packs on both sides or a plain number on one.
#define HIERA_STENCIL_BINARY(op)                              \
  template <class T>                                          \
  inline Pack<T, 1> operator op(Pack<T, 1> a, Pack<T, 1> b) { \
    return {a.v op b.v};                                      \
  }                                                           \
  template <class T, int U>                                   \
  inline Pack<T, U> operator op(Pack<T, U> a, Pack<T, U> b) { \
    return {a.low op b.low, a.high op b.high};                \
  }                                                           \
  template <class T, int U>                                   \
  inline Pack<T, U> operator op(T a, Pack<T, U> b) {          \
    return Pack<T, U>::Splat(a) op b;                         \
  }                                                           \
  template <class T, int U>                                   \
  inline Pack<T, U> operator op(Pack<T, U> a, T b) {          \
    return a op Pack<T, U>::Splat(b);                         \
  }
HIERA_STENCIL_BINARY(+)
HIERA_STENCIL_BINARY(-)
HIERA_STENCIL_BINARY(*)
HIERA_STENCIL_BINARY(/)
#undef HIERA_STENCIL_BINARY

template <class T>
inline Pack<T, 1> operator-(Pack<T, 1> a) {
  return {-a.v};
}
template <class T, int U>
inline Pack<T, U> operator-(Pack<T, U> a) {
  return {-a.low, -a.high};
}

#define HIERA_STENCIL_COMPARE(op)                             \
  template <class T>                                          \
  inline Mask<T, 1> operator op(Pack<T, 1> a, Pack<T, 1> b) { \
    return {a.v op b.v};                                      \
  }                                                           \
  template <class T, int U>                                   \
  inline Mask<T, U> operator op(Pack<T, U> a, Pack<T, U> b) { \
    return {a.low op b.low, a.high op b.high};                \
  }                                                           \
  template <class T, int U>                                   \
  inline Mask<T, U> operator op(T a, Pack<T, U> b) {          \
    return Pack<T, U>::Splat(a) op b;                         \
  }                                                           \
  template <class T, int U>                                   \
  inline Mask<T, U> operator op(Pack<T, U> a, T b) {          \
    return a op Pack<T, U>::Splat(b);                         \
  }
HIERA_STENCIL_COMPARE(<)
HIERA_STENCIL_COMPARE(<=)
HIERA_STENCIL_COMPARE(>)
HIERA_STENCIL_COMPARE(>=)
HIERA_STENCIL_COMPARE(==)
HIERA_STENCIL_COMPARE(!=)
#undef HIERA_STENCIL_COMPARE

template <class T>
inline Pack<T, 1> Select(Mask<T, 1> m, Pack<T, 1> a, Pack<T, 1> b) {
  return {m.v ? a.v : b.v};
}
template <class T, int U>
inline Pack<T, U> Select(Mask<T, U> m, Pack<T, U> a, Pack<T, U> b) {
  return {Select(m.low, a.low, b.low), Select(m.high, a.high, b.high)};
}

template <class T>
inline Mask<T, 1> And(Mask<T, 1> a, Mask<T, 1> b) {
  return {a.v & b.v};
}
template <class T>
inline Mask<T, 1> Or(Mask<T, 1> a, Mask<T, 1> b) {
  return {a.v | b.v};
}
template <class T>
inline Mask<T, 1> Not(Mask<T, 1> a) {
  return {~a.v};
}
template <class T, int U>
inline Mask<T, U> And(Mask<T, U> a, Mask<T, U> b) {
  return {And(a.low, b.low), And(a.high, b.high)};
}
template <class T, int U>
inline Mask<T, U> Or(Mask<T, U> a, Mask<T, U> b) {
  return {Or(a.low, b.low), Or(a.high, b.high)};
}
template <class T, int U>
inline Mask<T, U> Not(Mask<T, U> a) {
  return {Not(a.low), Not(a.high)};
}

// A function of plain numbers, applied to every lane; compilers turn the loop over a square root
// into one instruction.
template <class F, class T>
inline Pack<T, 1> Map(F f, Pack<T, 1> a) {
  for (int i = 0; i < kLanes<T>; ++i) a.v[i] = f(a.v[i]);
  return a;
}
template <class F, class T, int U>
inline Pack<T, U> Map(F f, Pack<T, U> a) {
  return {Map(f, a.low), Map(f, a.high)};
}
// The compiler's own functions, by the type of their argument.
#define HIERA_STENCIL_FUNCTION(Name, function)                      \
  inline float Name(float x) { return __builtin_##function##f(x); } \
  inline double Name(double x) { return __builtin_##function(x); }  \
  template <class T, int U>                                         \
  inline Pack<T, U> Name(Pack<T, U> a) {                            \
    return Map([](T x) { return Name(x); }, a);                     \
  }
HIERA_STENCIL_FUNCTION(Sqrt, sqrt)
HIERA_STENCIL_FUNCTION(Abs, fabs)
HIERA_STENCIL_FUNCTION(Floor, floor)
#undef HIERA_STENCIL_FUNCTION

template <class T, int U>
inline Pack<T, U> Rsqrt(Pack<T, U> a) {
  return T(1) / Sqrt(a);
}
// A NaN stays one: the comparison is false.
template <class T, int U>
inline Pack<T, U> Relu(Pack<T, U> a) {
  return Select(a < T(0), Pack<T, U>::Splat(0), a);
}
// A NaN in either operand gives a NaN: neither comparison holds then.
template <class T, int U>
inline Pack<T, U> Smaller(Pack<T, U> a, Pack<T, U> b) {
  return Select(a < b, a, Select(b <= a, b, a + b));
}
template <class T, int U>
inline Pack<T, U> Larger(Pack<T, U> a, Pack<T, U> b) {
  return Select(a > b, a, Select(b >= a, b, a + b));
}

}  // namespace hiera_stencil

#endif  // HIERA_STENCIL_PACK
