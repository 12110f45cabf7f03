// Teams of threads that make one value of many: a single thread, a warp, or a whole block.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_TEAM_CUH_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_TEAM_CUH_

#include <cstdint>

#include "runtime/device/cuda/interpreter/numbers.cuh"
#include "runtime/device/cuda/interpreter/program.h"

namespace hiera::cuda {
namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;

struct Team {
  uint32_t rank;
  uint32_t size;    // 1, a warp, or the whole block: a multiple of a warp
  uint4* exchange;  // kExchangeBytes that the block shares
};

// Returns when every thread of the team is here.
__device__ inline void Await(const Team& team) {
  if (team.size == 1) return;
  if (team.size == kWarp) return __syncwarp();
  __syncthreads();
}

template <typename T>
__device__ inline T Step(T x, T y, bool product) {
  return product ? x * y : x + y;
}

template <typename T>
__device__ inline T Joined(T x, T y, Combination how) {
  switch (how) {
    case Combination::kSum:
      return x + y;
    case Combination::kProduct:
      return x * y;
    case Combination::kMax:
      return MaxOf(x, y);
    default:
      return MinOf(x, y);
  }
}

// The combination of the whole team's values, in every thread of it. Every thread of the team must
// come here.
template <typename T>
__device__ T Combined(const Team& team, T value, Combination how) {
  if (team.size == 1) return value;
  for (uint32_t distance = kWarp / 2; distance > 0; distance /= 2) {
    value = Joined(value, __shfl_xor_sync(kAllLanes, value, distance), how);
  }
  if (team.size == kWarp) return value;
  T* const parts = reinterpret_cast<T*>(team.exchange);
  __syncthreads();  // what was exchanged before has been read
  if (team.rank % kWarp == 0) parts[team.rank / kWarp] = value;
  __syncthreads();
  value = parts[0];
  for (uint32_t warp = 1; warp < team.size / kWarp; ++warp) {
    value = Joined(value, parts[warp], how);
  }
  return value;
}
// Integers wrap.
__device__ inline int64_t Combined(const Team& team, int64_t value, Combination how) {
  if (how == Combination::kSum || how == Combination::kProduct) {
    return Wrapped(Combined(team, static_cast<uint64_t>(value), how));
  }
  return Combined<int64_t>(team, value, how);
}

// Whether x at `at` goes before `best` at `best_at`: the larger (or smaller), the first NaN before
// all, of equals the first.
template <typename T>
__device__ inline bool Beats(T x, int64_t at, T best, int64_t best_at, bool largest) {
  const bool x_nan = x != x, best_nan = best != best;
  if (x == best || (x_nan && best_nan)) return at < best_at;
  if (x_nan || best_nan) return x_nan;
  return largest ? x > best : x < best;
}

// Where the team's winner is, in every thread of it; negative positions take no part. Every thread
// of the team must come here.
template <typename T>
__device__ int64_t WinnerOf(const Team& team, T value, int64_t at, bool largest) {
  if (team.size == 1) return at;
  const auto take = [&](T other, int64_t other_at) {
    if (other_at < 0 || (at >= 0 && !Beats(other, other_at, value, at, largest))) return;
    value = other;
    at = other_at;
  };
  for (uint32_t distance = kWarp / 2; distance > 0; distance /= 2) {
    const T other = __shfl_xor_sync(kAllLanes, value, distance);
    const int64_t other_at = __shfl_xor_sync(kAllLanes, at, distance);
    take(other, other_at);
  }
  if (team.size == kWarp) return at;
  T* const values = reinterpret_cast<T*>(team.exchange);
  int64_t* const places = reinterpret_cast<int64_t*>(team.exchange) + kWarp;
  __syncthreads();  // what was exchanged before has been read
  if (team.rank % kWarp == 0) {
    values[team.rank / kWarp] = value;
    places[team.rank / kWarp] = at;
  }
  __syncthreads();
  for (uint32_t warp = 0; warp < team.size / kWarp; ++warp) take(values[warp], places[warp]);
  return at;
}

template <typename T>
struct Scanned {
  T before, with;  // the combination of the threads before this one, and with its own
  T total;         // of the block
};

// Every thread of the block must come here; its size is a multiple of a warp.
template <typename T>
__device__ Scanned<T> ScanOfBlock(T own, T neutral, bool product, uint4* exchange) {
  const uint32_t lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  T with = own;
  for (uint32_t distance = 1; distance < kWarp; distance *= 2) {
    const T before = __shfl_up_sync(kAllLanes, with, distance);
    if (lane >= distance) with = Step(before, with, product);
  }
  T before = __shfl_up_sync(kAllLanes, with, 1);
  if (lane == 0) before = neutral;
  T* const totals = reinterpret_cast<T*>(exchange);
  __syncthreads();  // what was exchanged before has been read
  if (lane == kWarp - 1) totals[warp] = with;
  __syncthreads();
  T earlier = neutral, total = neutral;
  for (uint32_t w = 0; w < blockDim.x / kWarp; ++w) {
    if (w == warp) earlier = total;
    total = Step(total, totals[w], product);
  }
  return {Step(earlier, before, product), Step(earlier, with, product), total};
}

}  // namespace
}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_TEAM_CUH_
