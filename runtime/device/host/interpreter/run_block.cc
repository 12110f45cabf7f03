#include <algorithm>
#include <cstring>

#include "runtime/device/host/interpreter/frame.h"

namespace hiera::interpreter {
namespace {

void RunFill(const Frame& frame, const Item& item) {
  void* out = frame.slots[item.out];
  const int64_t n = item.lanes > 0 ? item.lanes : item.vector ? frame.lanes : 1;
  switch (item.type) {
    case Lane::kF32:
      std::fill_n(static_cast<float*>(out), n, static_cast<float>(item.constant));
      break;
    case Lane::kF64:
      std::fill_n(static_cast<double*>(out), n, item.constant);
      break;
    case Lane::kInt:
      std::fill_n(static_cast<int64_t*>(out), n, item.integer);
      break;
    case Lane::kBool:
      std::memset(out, item.integer != 0 ? 1 : 0, n);
      break;
  }
}

void RunIndex(const Frame& frame, const Item& item) {
  const AxisRead& read = frame.program->indices[item.number];
  int64_t* out = static_cast<int64_t*>(frame.slots[item.out]);
  const int64_t first = Numerator(read, frame.index, item.index);
  const int64_t n = item.vector ? frame.lanes : 1;
  for (int64_t l = 0; l < n; ++l) out[l] = first + l * read.lane_coefficient;
}

// The best of the lanes that hold a candidate; of equals the one with the smallest position, and
// the first NaN before all.
template <typename A>
int64_t ArgWinner(const A* best, const int64_t* at, int64_t n, bool largest) {
  int64_t winner = -1;
  for (int64_t l = 0; l < n; ++l) {
    if (at[l] < 0) continue;
    if (winner < 0) {
      winner = l;
      continue;
    }
    const A x = best[l], y = best[winner];
    const bool x_nan = x != x, y_nan = y != y;
    const bool equal = x == y || (x_nan && y_nan);
    const bool beats = y_nan ? false : x_nan || (largest ? x > y : x < y);
    if (beats || (equal && at[l] < at[winner])) winner = l;
  }
  return winner < 0 ? -1 : at[winner];
}

void RunArgFold(const Frame& frame, const Item& item) {
  const void* best = frame.slots[item.a];
  const int64_t* at = static_cast<const int64_t*>(frame.slots[item.b]);
  int64_t* out = static_cast<int64_t*>(frame.slots[item.out]);
  const int64_t n = item.lanes;
  switch (item.type) {
    case Lane::kF32:
      *out = ArgWinner(static_cast<const float*>(best), at, n, item.largest);
      break;
    case Lane::kF64:
      *out = ArgWinner(static_cast<const double*>(best), at, n, item.largest);
      break;
    case Lane::kInt:
      *out = ArgWinner(static_cast<const int64_t*>(best), at, n, item.largest);
      break;
    case Lane::kBool:
      *out = ArgWinner(static_cast<const uint8_t*>(best), at, n, item.largest);
      break;
  }
}

void RunLaneLoop(Frame& frame, const Item& item) {
  const int64_t lanes_before = frame.lanes;
  for (int64_t first = 0; first < item.extent; first += kBlockLanes) {
    frame.index[item.index] = first;
    frame.lanes = std::min(kBlockLanes, item.extent - first);
    RunBlock(frame, item.number);
  }
  frame.lanes = lanes_before;
}

void RunRare(Frame& frame, const Item& item) {
  switch (item.kind) {
    case ItemKind::kIndex:
      RunIndex(frame, item);
      break;
    case ItemKind::kScalar: {
      const double value = frame.scalars[item.number];
      if (item.type == Lane::kF64) {
        *static_cast<double*>(frame.slots[item.out]) = value;
      } else {
        *static_cast<float*>(frame.slots[item.out]) = static_cast<float>(value);
      }
      break;
    }
    case ItemKind::kFactors:
      RunFactors(frame, item);
      break;
    case ItemKind::kFold:
      item.fold(frame.slots[item.out], frame.slots[item.a], item.lanes);
      break;
    case ItemKind::kOrdered:
      item.ordered(frame.slots[item.out], frame.slots[item.a], frame.lanes, item.form);
      break;
    case ItemKind::kArg:
      item.arg(frame.slots[item.out], static_cast<int64_t*>(frame.slots[item.b]),
               frame.slots[item.a], frame.index[item.index], item.along_lanes ? 1 : 0,
               item.vector ? frame.lanes : 1, item.form);
      break;
    case ItemKind::kArgFold:
      RunArgFold(frame, item);
      break;
    default:
      break;
  }
}

}  // namespace

void RunBlock(Frame& frame, int number) {
  for (const Item& item : frame.program->blocks[number]) {
    switch (item.kind) {
      case ItemKind::kOp:
        item.fn(frame.slots[item.out], frame.slots[item.a], frame.slots[item.b],
                frame.slots[item.c], item.vector ? frame.lanes : 1, item.form);
        break;
      case ItemKind::kLoad: {
        const Load& load = frame.program->loads[item.number];
        uint8_t* mask =
            load.mask == kNoSlot ? nullptr : static_cast<uint8_t*>(frame.slots[load.mask]);
        frame.slots[item.out] = const_cast<void*>(
            ReadLanes(frame, load, item.vector ? frame.lanes : 1, frame.OwnLanes(load.slot), mask));
        break;
      }
      case ItemKind::kTaps:
        RunTaps(frame, item);
        break;
      case ItemKind::kFill:
        RunFill(frame, item);
        break;
      case ItemKind::kLoop:
        for (int64_t i = 0; i < item.extent; ++i) {
          frame.index[item.index] = i;
          RunBlock(frame, item.number);
        }
        break;
      case ItemKind::kLaneLoop:
        RunLaneLoop(frame, item);
        break;
      default:
        RunRare(frame, item);
    }
  }
}

}  // namespace hiera::interpreter
