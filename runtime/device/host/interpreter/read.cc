// Reads of blocks of lanes: in place where possible, the inside converted in one go, and what is
// outside by its rule.
#include <algorithm>
#include <cstring>

#include "runtime/device/host/interpreter/frame.h"

namespace hiera::interpreter {
namespace {

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t CeilDivide(int64_t a, int64_t b) { return -FloorDivide(-a, b); }

// Whether the element can be used as a lane as it is. A boolean in memory may be any byte.
bool IsLane(Storage storage, Lane lane) {
  return (storage == Storage::kF32 && lane == Lane::kF32) ||
         (storage == Storage::kF64 && lane == Lane::kF64) ||
         (storage == Storage::kI64 && lane == Lane::kInt);
}

LoadFn LoaderOf(const Frame& frame, const Load& load) {
  return frame.table->load[static_cast<int>(load.storage)][load.type == Lane::kF64 ? 1 : 0];
}

// A subscript by the rule: false where the element is outside and the rule names none.
bool Resolve(Outside rule, int64_t extent, int64_t* subscript) {
  if (*subscript >= 0 && *subscript < extent) return true;
  if (extent == 0) return false;
  if (rule == Outside::kClamp) {
    *subscript = *subscript < 0 ? 0 : extent - 1;
    return true;
  }
  if (rule == Outside::kWrap) {
    *subscript -= FloorDivide(*subscript, extent) * extent;
    return true;
  }
  return false;
}

bool KeepsOrZeroes(Outside rule) { return rule == Outside::kZero || rule == Outside::kKeep; }

// Lanes [from, to) one by one.
void ReadSlowly(const Frame& frame, const Load& load, int64_t from, int64_t to, void* own,
                uint8_t* mask) {
  const View& view = frame.views[load.buffer];
  const LoadFn loader = LoaderOf(frame, load);
  const int64_t lane_bytes = LaneBytes(load.type), element_bytes = StorageBytes(load.storage);
  char* out = static_cast<char*>(own);
  for (int64_t l = from; l < to; ++l) {
    int64_t offset = 0;
    bool inside = true;
    for (size_t axis = 0; axis < load.axes.size(); ++axis) {
      const AxisRead& read = load.axes[axis];
      int64_t subscript;
      if (read.gather != kNoSlot) {
        subscript =
            static_cast<const int64_t*>(frame.slots[read.gather])[read.gather_vector ? l : 0];
      } else {
        const int64_t numerator =
            Numerator(read, frame.index, load.lane_index) + l * read.lane_coefficient;
        subscript = FloorDivide(numerator, read.divisor);
        if (subscript * read.divisor != numerator && KeepsOrZeroes(load.outside)) subscript = -1;
      }
      inside = Resolve(load.outside, view.extents[axis], &subscript) && inside;
      offset += subscript * view.strides[axis];
    }
    if (mask != nullptr) mask[l] = inside ? 0 : 1;
    if (inside) {
      loader(out + l * lane_bytes, view.base + offset * element_bytes, 1, 1);
    } else {
      std::memset(out + l * lane_bytes, 0, lane_bytes);
    }
  }
}

// The lanes that are inside along every axis, and where lane 0 of them would be.
struct Inside {
  int64_t low, high;   // lanes
  int64_t offset = 0;  // of lane 0, in elements; it may itself be outside
  int64_t stride = 0;  // from lane to lane
  bool none = false;   // an axis that all lanes share is outside
};

Inside FindInside(const Frame& frame, const Load& load, int64_t n) {
  const View& view = frame.views[load.buffer];
  Inside r{0, n};
  for (size_t axis = 0; axis < load.axes.size(); ++axis) {
    const AxisRead& read = load.axes[axis];
    int64_t base, step = read.lane_coefficient;
    if (read.gather != kNoSlot) {
      base = *static_cast<const int64_t*>(frame.slots[read.gather]);
    } else {
      base = Numerator(read, frame.index, load.lane_index);
      if (read.divisor != 1) {  // all lanes are exact or none is
        step /= read.divisor;
        const int64_t quotient = FloorDivide(base, read.divisor);
        if (quotient * read.divisor != base && KeepsOrZeroes(load.outside)) r.none = true;
        base = quotient;
      }
    }
    const int64_t extent = view.extents[axis];
    if (step == 0) {
      if (load.can_leave && !Resolve(load.outside, extent, &base)) r.none = true;
    } else if (load.can_leave) {
      if (step == 1) {
        r.low = std::max(r.low, -base);
        r.high = std::min(r.high, extent - base);
        r.offset += base * view.strides[axis];
        r.stride += view.strides[axis];
        continue;
      }
      const int64_t first =
          step > 0 ? CeilDivide(-base, step) : CeilDivide(extent - 1 - base, step);
      const int64_t last =
          step > 0 ? FloorDivide(extent - 1 - base, step) : FloorDivide(-base, step);
      r.low = std::max(r.low, first);
      r.high = std::min(r.high, last + 1);
    }
    r.offset += base * view.strides[axis];
    r.stride += step * view.strides[axis];
  }
  return r;
}

void FillOutside(const Load& load, int64_t from, int64_t to, void* own, uint8_t* mask) {
  if (from >= to) return;
  const int64_t bytes = LaneBytes(load.type);
  std::memset(static_cast<char*>(own) + from * bytes, 0, (to - from) * bytes);
  if (mask != nullptr) std::memset(mask + from, 1, to - from);
}

}  // namespace

int64_t Numerator(const AxisRead& axis, const int64_t* index, int lane_index) {
  int64_t sum = axis.offset;
  for (const auto& [i, coefficient] : axis.terms) sum += coefficient * index[i];
  if (axis.lane_coefficient != 0) sum += axis.lane_coefficient * index[lane_index];
  return sum;
}

const void* ReadLanes(const Frame& frame, const Load& load, int64_t n, void* own, uint8_t* mask) {
  if (load.slow) {
    ReadSlowly(frame, load, 0, n, own, mask);
    return own;
  }
  const View& view = frame.views[load.buffer];
  const int64_t element_bytes = StorageBytes(load.storage);
  const Inside in = FindInside(frame, load, n);
  if (in.none || in.high <= in.low) {
    if (!in.none && !KeepsOrZeroes(load.outside)) {
      ReadSlowly(frame, load, 0, n, own, mask);
    } else {
      FillOutside(load, 0, n, own, mask);
    }
    return own;
  }
  const char* source = view.base + in.offset * element_bytes;
  const bool all = in.low == 0 && in.high == n;
  if (all && (in.stride == 1 || n == 1) && IsLane(load.storage, load.type)) {
    if (mask != nullptr) std::memset(mask, 0, n);
    return source;
  }
  LoaderOf(frame, load)(static_cast<char*>(own) + in.low * LaneBytes(load.type),
                        source + in.low * in.stride * element_bytes, in.stride, in.high - in.low);
  if (mask != nullptr) std::memset(mask + in.low, 0, in.high - in.low);
  if (all) return own;
  if (KeepsOrZeroes(load.outside) || load.outside == Outside::kRefuse) {
    FillOutside(load, 0, in.low, own, mask);
    FillOutside(load, in.high, n, own, mask);
  } else {
    ReadSlowly(frame, load, 0, in.low, own, mask);
    ReadSlowly(frame, load, in.high, n, own, mask);
  }
  return own;
}

}  // namespace hiera::interpreter
