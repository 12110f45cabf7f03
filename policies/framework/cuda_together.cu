// Putting together what the threads of a block have: every thread calls, with full warps, and every
// thread gets the result. Placed behind scalar_functions.cc in generated CUDA kernels.
namespace fn {

template <typename T, typename F>
static inline T across(T x, F combine) {
  for (int step = 16; step > 0; step /= 2) x = combine(x, __shfl_xor_sync(0xffffffffu, x, step));
  if (blockDim.x == 32) return x;
  __shared__ T parts[32];
  __syncthreads();  // what was there before has been read
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
  __syncthreads();
  x = parts[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) x = combine(x, parts[warp]);
  return x;
}

template <typename T>
static inline T across_sum(T x) {
  return across(x, [](T a, T b) { return a + b; });
}
template <typename T>
static inline T across_prod(T x) {
  return across(x, [](T a, T b) { return a * b; });
}
template <typename T>
static inline T across_max(T x) {
  return across(x, [](T a, T b) { return max(a, b); });
}
template <typename T>
static inline T across_min(T x) {
  return across(x, [](T a, T b) { return min(a, b); });
}
static inline bool across_any(bool x) {
  return across(x ? 1 : 0, [](int a, int b) { return a | b; }) != 0;
}
static inline bool across_all(bool x) {
  return across(x ? 1 : 0, [](int a, int b) { return a & b; }) != 0;
}

// The first index of the first NaN, else of the extreme value. `sign` is 1 for the largest.
template <typename T>
static inline bool precedes(T a, long at_a, T b, long at_b, int sign) {
  const bool nan_a = a != a, nan_b = b != b;
  if (nan_a || nan_b) return nan_a && (!nan_b || at_a < at_b);
  if (a == b) return at_a < at_b;
  return sign > 0 ? a > b : a < b;
}
template <typename T>
static inline long across_arg(T best, long at, int sign) {
  for (int step = 16; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(0xffffffffu, best, step);
    const long at_other = __shfl_xor_sync(0xffffffffu, at, step);
    if (precedes(other, at_other, best, at, sign)) {
      best = other;
      at = at_other;
    }
  }
  if (blockDim.x == 32) return at;
  __shared__ T values[32];
  __shared__ long places[32];
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    values[threadIdx.x / 32] = best;
    places[threadIdx.x / 32] = at;
  }
  __syncthreads();
  best = values[0];
  at = places[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) {
    if (!precedes(values[warp], places[warp], best, at, sign)) continue;
    best = values[warp];
    at = places[warp];
  }
  return at;
}
template <typename T>
static inline long across_argmax(T best, long at) {
  return across_arg(best, at, 1);
}
template <typename T>
static inline long across_argmin(T best, long at) {
  return across_arg(best, at, -1);
}

}  // namespace fn
