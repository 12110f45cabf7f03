// Arithmetic on the neighbouring cells that one CUDA thread computes: the same operations as
// stencil_pack.cc has for vector registers, on N plain registers, so that a cell's formula is the
// same text on either device.
//
// This file is a part of a candidate's source text: it includes nothing and is compiled as it is,
// by NVRTC with device functions as the default, or behind a header that says what CUDA's words
// mean on a CPU.
#ifndef HIERA_STENCIL_CUDA_PACK
#define HIERA_STENCIL_CUDA_PACK

#if defined(__CUDACC_RTC__)  // which has no such names
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000L)
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7ff8000000000000L)
#endif

namespace hiera_stencil {

// Result of a comparison of packs.
template <class T, int N>
struct Mask {
  bool e[N];
};

template <class T, int N>
struct Pack {
  T e[N];

  static __forceinline__ Pack Splat(T x) {
    Pack pack;
#pragma unroll
    for (int i = 0; i < N; ++i) pack.e[i] = x;
    return pack;
  }
};

// The binary operators, for packs on both sides or a plain number on one.
#define HIERA_STENCIL_BINARY(Result, op)                                               \
  template <class T, int N>                                                            \
  __forceinline__ Result<T, N> operator op(const Pack<T, N>& a, const Pack<T, N>& b) { \
    Result<T, N> result;                                                               \
    _Pragma("unroll") for (int i = 0; i < N; ++i) result.e[i] = a.e[i] op b.e[i];      \
    return result;                                                                     \
  }                                                                                    \
  template <class T, int N>                                                            \
  __forceinline__ Result<T, N> operator op(T a, const Pack<T, N>& b) {                 \
    return Pack<T, N>::Splat(a) op b;                                                  \
  }                                                                                    \
  template <class T, int N>                                                            \
  __forceinline__ Result<T, N> operator op(const Pack<T, N>& a, T b) {                 \
    return a op Pack<T, N>::Splat(b);                                                  \
  }
HIERA_STENCIL_BINARY(Pack, +)
HIERA_STENCIL_BINARY(Pack, -)
HIERA_STENCIL_BINARY(Pack, *)
HIERA_STENCIL_BINARY(Pack, /)
HIERA_STENCIL_BINARY(Mask, <)
HIERA_STENCIL_BINARY(Mask, <=)
HIERA_STENCIL_BINARY(Mask, >)
HIERA_STENCIL_BINARY(Mask, >=)
HIERA_STENCIL_BINARY(Mask, ==)
HIERA_STENCIL_BINARY(Mask, !=)
#undef HIERA_STENCIL_BINARY

template <class T, int N>
__forceinline__ Pack<T, N> operator-(Pack<T, N> a) {
#pragma unroll
  for (int i = 0; i < N; ++i) a.e[i] = -a.e[i];
  return a;
}

template <class T, int N>
__forceinline__ Pack<T, N> Select(const Mask<T, N>& m, Pack<T, N> a, const Pack<T, N>& b) {
#pragma unroll
  for (int i = 0; i < N; ++i) a.e[i] = m.e[i] ? a.e[i] : b.e[i];
  return a;
}
template <class T, int N>
__forceinline__ Mask<T, N> And(Mask<T, N> a, const Mask<T, N>& b) {
#pragma unroll
  for (int i = 0; i < N; ++i) a.e[i] = a.e[i] && b.e[i];
  return a;
}
template <class T, int N>
__forceinline__ Mask<T, N> Or(Mask<T, N> a, const Mask<T, N>& b) {
#pragma unroll
  for (int i = 0; i < N; ++i) a.e[i] = a.e[i] || b.e[i];
  return a;
}
template <class T, int N>
__forceinline__ Mask<T, N> Not(Mask<T, N> a) {
#pragma unroll
  for (int i = 0; i < N; ++i) a.e[i] = !a.e[i];
  return a;
}

// Functions of plain numbers, by the type of their argument, and of packs.
#define HIERA_STENCIL_FUNCTION(Name, function)                                  \
  __forceinline__ float Plain##Name(float x) { return function##f(x); }         \
  __forceinline__ double Plain##Name(double x) { return ::function(x); }        \
  template <class T, int N>                                                     \
  __forceinline__ Pack<T, N> Name(Pack<T, N> a) {                               \
    _Pragma("unroll") for (int i = 0; i < N; ++i) a.e[i] = Plain##Name(a.e[i]); \
    return a;                                                                   \
  }
HIERA_STENCIL_FUNCTION(Sqrt, sqrt)
HIERA_STENCIL_FUNCTION(Abs, fabs)
HIERA_STENCIL_FUNCTION(Floor, floor)
#undef HIERA_STENCIL_FUNCTION

template <class T, int N>
__forceinline__ Pack<T, N> Rsqrt(const Pack<T, N>& a) {
  return T(1) / Sqrt(a);
}
// A NaN stays one: the comparison is false.
template <class T, int N>
__forceinline__ Pack<T, N> Relu(const Pack<T, N>& a) {
  return Select(a < T(0), Pack<T, N>::Splat(0), a);
}
// A NaN in either operand gives a NaN: neither comparison holds then.
template <class T, int N>
__forceinline__ Pack<T, N> Smaller(const Pack<T, N>& a, const Pack<T, N>& b) {
  return Select(a < b, a, Select(b <= a, b, a + b));
}
template <class T, int N>
__forceinline__ Pack<T, N> Larger(const Pack<T, N>& a, const Pack<T, N>& b) {
  return Select(a > b, a, Select(b >= a, b, a + b));
}

}  // namespace hiera_stencil

#endif  // HIERA_STENCIL_CUDA_PACK
