// Functions of one value for interpreter.cu: the formula language's operations and storage types on
// the device. Nothing is contracted (the file is compiled so), what is fused says so.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_NUMBERS_CUH_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_NUMBERS_CUH_

#include <cstdint>

#include "runtime/device/cuda/interpreter/program.h"

namespace hiera::cuda {
namespace {

using interpreter::Storage;

#define HIERA_HALF_BITS __device__ inline
#include "runtime/device/interpreter/half_bits.inc"
#undef HIERA_HALF_BITS

#define HIERA_BOTH(name, f32, f64)                           \
  __device__ inline float name(float x) { return ::f32(x); } \
  __device__ inline double name(double x) { return ::f64(x); }
HIERA_BOTH(AbsOf, fabsf, fabs)
HIERA_BOTH(ExpOf, expf, exp)
HIERA_BOTH(LogOf, logf, log)
HIERA_BOTH(SinOf, sinf, sin)
HIERA_BOTH(CosOf, cosf, cos)
HIERA_BOTH(SqrtOf, sqrtf, sqrt)
HIERA_BOTH(TanhOf, tanhf, tanh)
HIERA_BOTH(ErfOf, erff, erf)
HIERA_BOTH(FloorOf, floorf, floor)
#undef HIERA_BOTH

__device__ inline float FusedOf(float a, float b, float c) { return ::fmaf(a, b, c); }
__device__ inline double FusedOf(double a, double b, double c) { return ::fma(a, b, c); }

// In f64 either way: the device's powf is off by up to 4 units in the last place.
__device__ inline float PowOf(float x, float y) {
  return static_cast<float>(::pow(static_cast<double>(x), static_cast<double>(y)));
}
__device__ inline double PowOf(double x, double y) { return ::pow(x, y); }

template <typename R>
__device__ inline R SigmoidOf(R x) {
  return R(1) / (R(1) + ExpOf(-x));
}

template <typename R>
__device__ inline R GeluOf(R x) {
  return x * R(0.5) * (R(1) + ErfOf(x * R(0.70710678118654752440)));
}

// NaN in either operand gives NaN.
template <typename T>
__device__ inline T MinOf(T x, T y) {
  return x < y || x != x ? x : y;
}
template <typename T>
__device__ inline T MaxOf(T x, T y) {
  return x > y || x != x ? x : y;
}

// Integers wrap.
__device__ inline int64_t Wrapped(uint64_t x) { return static_cast<int64_t>(x); }

// Remainder with the sign of the divisor; 0 for a divisor of 0.
__device__ inline int64_t ModOf(int64_t x, int64_t y) {
  if (y == 0 || y == -1) return 0;
  const int64_t r = x % y;
  return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

__device__ inline int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

template <typename R>
__device__ inline R LoadReal(const void* base, int64_t at, Storage storage) {
  switch (storage) {
    case Storage::kF64:
      return static_cast<R>(static_cast<const double*>(base)[at]);
    case Storage::kF32:
      return static_cast<R>(static_cast<const float*>(base)[at]);
    case Storage::kF16:
      return static_cast<R>(HalfToFloat(static_cast<const uint16_t*>(base)[at]));
    default:
      return static_cast<R>(__builtin_bit_cast(
          float, static_cast<uint32_t>(static_cast<const uint16_t*>(base)[at]) << 16));
  }
}

__device__ inline int64_t LoadInteger(const void* base, int64_t at, Storage storage) {
  return storage == Storage::kI32 ? static_cast<const int32_t*>(base)[at]
                                  : static_cast<const int64_t*>(base)[at];
}

// A boolean in memory may be any byte.
__device__ inline uint32_t LoadBoolean(const void* base, int64_t at) {
  return static_cast<const uint8_t*>(base)[at] != 0 ? 1 : 0;
}

// Stores a real, an integer or a boolean; only the combinations that a statement can ask for.
template <typename T>
__device__ inline void StoreAs(void* base, int64_t at, Storage storage, T value) {
  switch (storage) {
    case Storage::kF64:
      static_cast<double*>(base)[at] = static_cast<double>(value);
      break;
    case Storage::kF32:
      static_cast<float*>(base)[at] = static_cast<float>(value);
      break;
    case Storage::kF16:
      static_cast<uint16_t*>(base)[at] = HalfFrom(value);
      break;
    case Storage::kBF16:
      static_cast<uint16_t*>(base)[at] = BHalfFrom(value);
      break;
    case Storage::kI32:
      static_cast<uint32_t*>(base)[at] = static_cast<uint32_t>(static_cast<uint64_t>(value));
      break;
    case Storage::kI64:
      static_cast<int64_t*>(base)[at] = static_cast<int64_t>(value);
      break;
    case Storage::kBool:
      static_cast<uint8_t*>(base)[at] = value != 0 ? 1 : 0;
      break;
  }
}

}  // namespace
}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_NUMBERS_CUH_
