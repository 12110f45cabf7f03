// Sums of taps: a stencil's row in one pass over its operands, which are read where they lie as
// long as all of them are inside their tensor.
#include <algorithm>

#include "runtime/device/host/interpreter/frame.h"

namespace hiera::interpreter {
namespace {

uintptr_t AddressOf(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Where the family's element without offsets lies at lane 0, or would; 0 where not all of its taps
// can be read in place.
uintptr_t FamilyPlace(const Frame& frame, const TapFamily& family) {
  if (!family.direct) return 0;
  const Load& load = frame.program->loads[family.load];
  const View& view = frame.views[load.buffer];
  int64_t offset = 0;
  for (size_t axis = 0; axis < load.axes.size(); ++axis) {
    const AxisRead& read = load.axes[axis];
    const int64_t first = Numerator(read, frame.index, load.lane_index);
    const int64_t last = first + (frame.lanes - 1) * read.lane_coefficient;
    if (family.can_leave &&
        (first + family.low[axis] < 0 || last + family.high[axis] >= view.extents[axis])) {
      return 0;
    }
    offset += first * view.strides[axis];
  }
  return AddressOf(view.base) + static_cast<uintptr_t>(offset * StorageBytes(load.storage));
}

template <typename A>
void FactorsOf(const Frame& frame, const TapSum& sum, A* out) {
  const char* source = nullptr;
  LoadFn load_one = nullptr;
  if (sum.factor_load >= 0) {
    const Load& load = frame.program->loads[sum.factor_load];
    const View& view = frame.views[load.buffer];
    int64_t offset = 0;
    for (size_t axis = 0; axis < load.axes.size(); ++axis) {
      offset += Numerator(load.axes[axis], frame.index, load.lane_index) * view.strides[axis];
    }
    source = view.base + offset * StorageBytes(load.storage);
    load_one = frame.table->load[static_cast<int>(load.storage)][load.type == Lane::kF64 ? 1 : 0];
  }
  for (size_t t = 0; t < sum.taps.size(); ++t) {
    const Tap& tap = sum.taps[t];
    A factor = 1;
    if (load_one != nullptr) load_one(&factor, source + sum.factor_offset[t], 1, 1);
    for (const int slot : tap.factors) factor *= *static_cast<const A*>(frame.slots[slot]);
    out[t] = tap.negative ? -factor : factor;
  }
}

}  // namespace

void RunFactors(const Frame& frame, const Item& item) {
  const TapSum& sum = frame.program->sums[item.number];
  void* out = frame.slots[sum.factors];
  if (frame.program->real == Lane::kF64) {
    FactorsOf(frame, sum, static_cast<double*>(out));
  } else {
    FactorsOf(frame, sum, static_cast<float*>(out));
  }
}

void RunTaps(Frame& frame, const Item& item) {
  const Program& program = *frame.program;
  const TapSum& sum = program.sums[item.number];
  const TapsFn kernel = frame.table->taps[program.real == Lane::kF64 ? 1 : 0];
  const auto count = static_cast<int64_t>(sum.taps.size());
  const void* factors = frame.slots[sum.factors];
  void* out = frame.slots[item.out];
  if (sum.one_family) {
    const uintptr_t place = FamilyPlace(frame, sum.families[0]);
    if (place != 0) {
      kernel(out, place, sum.places.data(), factors, count, frame.lanes, program.exact);
      return;
    }
  }
  auto* taps = static_cast<int64_t*>(frame.slots[sum.addresses]);
  int64_t* rows = taps + count;
  int64_t* families = rows + sum.rows.size();
  for (size_t f = 0; f < sum.families.size(); ++f) {
    families[f] = static_cast<int64_t>(FamilyPlace(frame, sum.families[f]));
  }
  for (size_t r = 0; r < sum.rows.size(); ++r) {
    const TapRow& row = sum.rows[r];
    const void* lanes = nullptr;
    if (row.load < 0) {
      lanes = frame.slots[row.slot];
    } else if (families[row.family] != 0) {
      rows[r] = families[row.family] + row.offset;
      continue;
    } else {
      const Load& load = program.loads[row.load];
      lanes = ReadLanes(frame, load, frame.lanes + row.spread, frame.OwnLanes(load.slot), nullptr);
    }
    rows[r] = static_cast<int64_t>(AddressOf(lanes));
  }
  const int64_t lane_bytes = LaneBytes(program.real);
  for (int64_t t = 0; t < count; ++t) {
    taps[t] = rows[sum.taps[t].row] + sum.taps[t].shift * lane_bytes;
  }
  kernel(out, 0, taps, factors, count, frame.lanes, program.exact);
}

}  // namespace hiera::interpreter
