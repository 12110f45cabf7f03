// CUDA C++ on the CPU, as far as kernels of this project use it: put in front of a kernel's source,
// as text by the fictional NVRTC behind kernel_table.h, so it includes nothing else.
// HIERA_FAKE_KERNEL(name, threads) behind the source describes a kernel,
// HIERA_FAKE_MODULE(kernels...) all of them, for the fictional driver.
//
// The threads of a block take turns in one thread of the host: barriers, shuffles and shared memory
// mean what they mean on a GPU, and nothing is lost by updates that are not atomic.
#ifndef HIERA_TESTS_FAKE_CUDA_KERNEL_SIDE_H_
#define HIERA_TESTS_FAKE_CUDA_KERNEL_SIDE_H_

#ifndef HIERA_TESTS_FAKE_CUDA_KERNEL_TABLE_H_
#include "tests/fake_cuda/kernel_table.h"
#endif

#define __global__
#define __device__
#define __host__
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static  // of fixed size
#define HIERA_DYNAMIC_SHARED(name) \
  uint4* const name = static_cast<uint4*>(hiera_fake::engine->dynamic_shared())

#define HIERA_FAKE_VECTOR(type, name)                                     \
  struct alignas(2 * sizeof(type)) name##2 {                              \
    type x, y;                                                            \
  };                                                                      \
  struct name##3 {                                                        \
    type x, y, z;                                                         \
  };                                                                      \
  struct alignas(4 * sizeof(type) < 16 ? 4 * sizeof(type) : 16) name##4 { \
    type x, y, z, w;                                                      \
  };
HIERA_FAKE_VECTOR(float, float)
HIERA_FAKE_VECTOR(double, double)
HIERA_FAKE_VECTOR(int, int)
HIERA_FAKE_VECTOR(short, short)
HIERA_FAKE_VECTOR(unsigned short, ushort)
HIERA_FAKE_VECTOR(signed char, char)
HIERA_FAKE_VECTOR(unsigned char, uchar)
#undef HIERA_FAKE_VECTOR
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace hiera_fake {

static const Engine* engine;

}  // namespace hiera_fake

static uint3 threadIdx, blockIdx;
static dim3 blockDim, gridDim;
static const int warpSize = 32;

namespace hiera_fake {

template <typename T>
struct Plain {
  using Type = T;
};
template <typename T>
struct Plain<const T> {
  using Type = T;
};

template <int... I>
struct Sequence {};

template <typename F>
struct Signature;
template <typename... P>
struct Signature<void (*)(P...)> {
  static constexpr int kCount = sizeof...(P);
  struct Table {
    Parameter of[kCount + 1];
  };
  static constexpr Table Places() {
    constexpr unsigned long bytes[] = {sizeof(P)..., 0}, alignments[] = {alignof(P)..., 1};
    Table table{};
    unsigned long end = 0;
    for (int i = 0; i < kCount; ++i) {
      const unsigned long at = (end + alignments[i] - 1) / alignments[i] * alignments[i];
      table.of[i] = {at, bytes[i]};
      end = at + bytes[i];
    }
    return table;
  }
  static constexpr Table kPlaces = Places();

  template <void (*kernel)(P...), int... I>
  static void CallWith(void* const* arguments, Sequence<I...>) {
    (void)arguments;
    kernel(*static_cast<typename Plain<P>::Type*>(arguments[I])...);
  }
  template <void (*kernel)(P...)>
  static void Call(void* const* arguments) {
    CallWith<kernel>(arguments, Sequence<__integer_pack(kCount)...>());
  }
};

template <auto kernel>
constexpr Kernel Describe(const char* name, int max_threads) {
  using Of = Signature<decltype(kernel)>;
  return {name, max_threads, Of::kCount, Of::kPlaces.of, &Of::template Call<kernel>};
}

template <typename T>
inline T Exchanged(T value, int source) {
  static_assert(sizeof(T) <= 16);
  T out;
  engine->exchange(&value, &out, sizeof(T), source);
  return out;
}

}  // namespace hiera_fake

#define HIERA_FAKE_KERNEL(name, threads) hiera_fake::Describe<&name>(#name, threads)
#define HIERA_FAKE_MODULE(symbol, ...)                                                       \
  static const hiera_fake::Kernel symbol##_kernels[] = {__VA_ARGS__};                        \
  extern "C" __attribute__((visibility("default"))) const hiera_fake::Module symbol;         \
  const hiera_fake::Module symbol = {hiera_fake::kModuleVersion,                             \
                                     sizeof(symbol##_kernels) / sizeof(symbol##_kernels[0]), \
                                     symbol##_kernels,                                       \
                                     &hiera_fake::engine,                                    \
                                     &threadIdx,                                             \
                                     &blockIdx,                                              \
                                     &blockDim,                                              \
                                     &gridDim};

inline void __syncthreads() { hiera_fake::engine->sync_block(); }
inline void __syncwarp(unsigned = 0xffffffffu) { hiera_fake::engine->sync_warp(); }
inline void __threadfence() {}
inline void __threadfence_block() {}

// The masks must name the whole warp: that is all that HIERA's kernels use.
template <typename T>
inline T __shfl_sync(unsigned, T value, int source, int width = 32) {
  return hiera_fake::Exchanged(value, hiera_fake::engine->lane() / width * width + source % width);
}
template <typename T>
inline T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
  return hiera_fake::Exchanged(value, hiera_fake::engine->lane() ^ mask);
}
template <typename T>
inline T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) {
  const int lane = hiera_fake::engine->lane(), source = lane - static_cast<int>(delta);
  return hiera_fake::Exchanged(value, source < lane / width * width ? lane : source);
}
template <typename T>
inline T __shfl_down_sync(unsigned, T value, unsigned delta, int width = 32) {
  const int lane = hiera_fake::engine->lane(), source = lane + static_cast<int>(delta);
  return hiera_fake::Exchanged(value, source >= (lane / width + 1) * width ? lane : source);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned all = 0;
  for (int lane = 0; lane < 32; ++lane) {
    // A lane that has ended, or never was, gives this lane's own answer: it has none.
    const unsigned theirs = hiera_fake::Exchanged(
        (predicate != 0 ? 1u : 0u) | static_cast<unsigned>(hiera_fake::engine->lane()) << 1, lane);
    if (theirs >> 1 == static_cast<unsigned>(lane)) all |= (theirs & 1u) << lane;
  }
  return all;
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, !predicate) == 0; }

template <typename T>
inline T __ldg(const T* address) {
  return *address;
}
template <typename T>
inline T __ldcs(const T* address) {
  return *address;
}
template <typename T>
inline void __stcs(T* address, T value) {
  *address = value;
}

#define HIERA_FAKE_ATOMIC(name, expression)   \
  template <typename T, typename V>           \
  inline T name(T* address, V given) {        \
    const T old = *address, value = (T)given; \
    *address = (expression);                  \
    return old;                               \
  }
HIERA_FAKE_ATOMIC(atomicAdd, old + value)
HIERA_FAKE_ATOMIC(atomicSub, old - value)
HIERA_FAKE_ATOMIC(atomicMax, old < value ? value : old)
HIERA_FAKE_ATOMIC(atomicMin, value < old ? value : old)
HIERA_FAKE_ATOMIC(atomicExch, value)
HIERA_FAKE_ATOMIC(atomicOr, old | value)
HIERA_FAKE_ATOMIC(atomicAnd, old& value)
#undef HIERA_FAKE_ATOMIC
template <typename T>
inline T atomicCAS(T* address, T compare, T value) {
  const T old = *address;
  if (old == compare) *address = value;
  return old;
}

extern "C" {
#define HIERA_FAKE_MATH(name)    \
  float name##f(float) noexcept; \
  double name(double) noexcept;
HIERA_FAKE_MATH(exp)
HIERA_FAKE_MATH(exp2)
HIERA_FAKE_MATH(log)
HIERA_FAKE_MATH(log2)
HIERA_FAKE_MATH(sin)
HIERA_FAKE_MATH(cos)
HIERA_FAKE_MATH(tanh)
HIERA_FAKE_MATH(erf)
HIERA_FAKE_MATH(sqrt)
HIERA_FAKE_MATH(fabs)
HIERA_FAKE_MATH(floor)
HIERA_FAKE_MATH(ceil)
HIERA_FAKE_MATH(trunc)
HIERA_FAKE_MATH(rint)
#undef HIERA_FAKE_MATH
#define HIERA_FAKE_MATH(name)           \
  float name##f(float, float) noexcept; \
  double name(double, double) noexcept;
HIERA_FAKE_MATH(pow)
HIERA_FAKE_MATH(fmod)
HIERA_FAKE_MATH(fmax)
HIERA_FAKE_MATH(fmin)
HIERA_FAKE_MATH(copysign)
#undef HIERA_FAKE_MATH
float fmaf(float, float, float) noexcept;
double fma(double, double, double) noexcept;
}

inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }

#define HIERA_FAKE_ORDER(type)                              \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }
HIERA_FAKE_ORDER(int)
HIERA_FAKE_ORDER(unsigned)
HIERA_FAKE_ORDER(long)
HIERA_FAKE_ORDER(unsigned long)
HIERA_FAKE_ORDER(long long)
HIERA_FAKE_ORDER(unsigned long long)
#undef HIERA_FAKE_ORDER
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline double2 make_double2(double x, double y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

#endif  // HIERA_TESTS_FAKE_CUDA_KERNEL_SIDE_H_
