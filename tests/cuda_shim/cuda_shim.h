// CUDA's programming model on the CPU, as far as kernels of this project use it: include this file,
// then a .cu file, and call LaunchOnCpu. Every CUDA thread is a thread here, so barriers, shuffles
// and shared memory mean what they mean there, and the sanitizers see races and stray accesses.
//
// Blocks run one after another. Dynamic shared memory is exactly as large as the launch asked for,
// and holds no zeros at first. One launch at a time in a process.
#ifndef HIERA_TESTS_CUDA_SHIM_CUDA_SHIM_H_
#define HIERA_TESTS_CUDA_SHIM_CUDA_SHIM_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static  // of fixed size; dynamic shared memory: HIERA_DYNAMIC_SHARED
#define HIERA_DYNAMIC_SHARED(name) uint4* const name = hiera::cuda_shim::DynamicShared()

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) double2 {
  double x, y;
};

// Of the compiler's own kind: a thread_local that another file defines is reached through a
// function that the undefined-behaviour sanitizer takes for null.
extern __thread uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace hiera::cuda_shim {

uint4* DynamicShared();
void SyncBlock();
// Waits for the lanes of the thread's warp that have not ended.
void SyncWarp();
// Exchanges up to 16 bytes between the lanes of a warp: `out` gets what lane `source` passed; its
// own where there is no such lane.
void Exchange(const void* in, void* out, size_t bytes, int source);
int Lane();

// Runs `kernel` for every thread of every block.
void LaunchOnCpu(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& kernel);

template <typename T>
T Exchanged(T value, int source) {
  static_assert(sizeof(T) <= 16);
  T out;
  Exchange(&value, &out, sizeof(T), source);
  return out;
}

}  // namespace hiera::cuda_shim

inline void __syncthreads() { hiera::cuda_shim::SyncBlock(); }
inline void __syncwarp(unsigned = 0xffffffffu) { hiera::cuda_shim::SyncWarp(); }

// The masks must name the whole warp: that is all that HIERA's kernels use.
template <typename T>
T __shfl_sync(unsigned, T value, int source, int width = 32) {
  const int lane = hiera::cuda_shim::Lane();
  return hiera::cuda_shim::Exchanged(value, lane / width * width + source % width);
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
  return hiera::cuda_shim::Exchanged(value, hiera::cuda_shim::Lane() ^ mask);
}
template <typename T>
T __shfl_up_sync(unsigned, T value, unsigned delta, int width = 32) {
  const int lane = hiera::cuda_shim::Lane();
  const int source = lane - static_cast<int>(delta);
  return hiera::cuda_shim::Exchanged(value, source < lane / width * width ? lane : source);
}
template <typename T>
T __shfl_down_sync(unsigned, T value, unsigned delta, int width = 32) {
  const int lane = hiera::cuda_shim::Lane();
  const int source = lane + static_cast<int>(delta);
  return hiera::cuda_shim::Exchanged(value, source >= (lane / width + 1) * width ? lane : source);
}
template <typename T>
T __ldg(const T* address) {
  return *address;
}
template <typename T>
void __stcs(T* address, T value) {
  *address = value;
}

#endif  // HIERA_TESTS_CUDA_SHIM_CUDA_SHIM_H_
