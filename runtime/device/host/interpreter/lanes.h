// Lanes: the vector kernels that the interpreter's instructions call. Each works on a block of at
// most kBlockLanes consecutive elements ("lanes") of one type. The kernels are compiled once for
// each level of the processor (lanes_v1.cc, lanes_v3.cc, lanes_v4.cc, all from lanes_body.inc) and
// picked once. Pure functions of their arguments; any thread.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_LANES_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_LANES_H_

#include <cstdint>

#include "runtime/device/interpreter/storage.h"
#include "runtime/task/formula.h"

namespace hiera::interpreter {

inline constexpr int64_t kBlockLanes = 256;
inline constexpr int kPanelRows = 4;  // rows of a sum of products that one kernel call works on

// Bits of `form`: which operands are one value for all lanes.
inline constexpr int kFirstUniform = 1, kSecondUniform = 2, kThirdUniform = 4;

// out[l] = f(a[l], b[l], c[l]) for l < n; operands that are not used are ignored. `out` may be one
// of the operands, but overlaps none otherwise.
using LaneFn = void (*)(void* out, const void* a, const void* b, const void* c, int64_t n,
                        int form);
// out[l] = converted element source[l * stride].
using LoadFn = void (*)(void* out, const void* source, int64_t stride, int64_t n);
// target[l * stride] = converted lane; where mask is given, only where mask[l] is 0.
using StoreFn = void (*)(void* target, int64_t stride, const void* lanes, const uint8_t* mask,
                         int64_t n, int form);
// One step of an argmax or argmin: where x[l] beats best[l], or at[l] < 0, takes it and sets at[l]
// to first + l * step.
using ArgFn = void (*)(void* best, int64_t* at, const void* x, int64_t first, int64_t step,
                       int64_t n, int form);
// Combines n lanes into *out, in no stated order.
using FoldFn = void (*)(void* out, const void* lanes, int64_t n);
// *total = ((*total + x[0]) + x[1]) + ..., in this order; likewise products.
using OrderedFn = void (*)(void* total, const void* x, int64_t n, int form);
// sums[r * kBlockLanes + l] += sum over k of scale[k * kPanelRows + r] * rows[k][l], for
// r < kPanelRows and l < lanes, in the order of k. `rounded`: each product is rounded.
using PanelFn = void (*)(void* sums, const void* scale, const void* const* rows, int64_t count,
                         int64_t lanes, bool rounded);

// out[l] = sum over t < count of factors[t] * x_t[l], in the order of t, where x_t lies at the
// address base + places[t] and has n elements, `rounded`: each
// product is rounded.
using TapsFn = void (*)(void* out, uintptr_t base, const int64_t* places, const void* factors,
                        int64_t count, int64_t n, bool rounded);

struct LaneTable {
  static constexpr int kOps = static_cast<int>(Op::kScan) + 1;
  // By operation and type of the operands (for kSelect, of the values). Empty where it makes none.
  LaneFn op[kOps][kLaneTypes];
  LaneFn multiply_add[2];         // a * b + c in one rounding; kF32, kF64
  LaneFn to_real[2][2];           // [integer, boolean][kF32, kF64]
  LoadFn load[kStorageTypes][2];  // reals [to kF32, kF64]; integers and booleans as [0]
  StoreFn store[kStorageTypes][kLaneTypes];
  ArgFn arg_max[kLaneTypes], arg_min[kLaneTypes];
  FoldFn fold[4][kLaneTypes];  // kSum, kProd, kMax, kMin
  OrderedFn ordered[2][2];     // [sum, product][kF32, kF64]
  PanelFn panel[2];            // kF32, kF64
  TapsFn taps[2];              // kF32, kF64
};

// The best table for this processor.
const LaneTable& Lanes();

extern const LaneTable kLanesV1, kLanesV3, kLanesV4;

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_LANES_H_
