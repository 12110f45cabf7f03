// Where taps find their lanes: those that read one row of a tensor at several shifts share it, and
// rows of one tensor that move together form a family, which is read in place while it is inside.
#include "runtime/device/host/interpreter/compiler.h"

namespace hiera::interpreter {
namespace {

// Shifts that share a row lie less than this apart.
constexpr int64_t kMostSpread = 64;

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

bool IsLane(Storage storage, Lane lane) {
  return storage == (lane == Lane::kF64 ? Storage::kF64 : Storage::kF32);
}

}  // namespace

int Compiler::PlaceOf(const std::vector<int>& depends, int scope) const {
  while (scopes_[scope].parent >= 0) {
    const std::vector<int>& own = scopes_[scope].indices;
    if (std::any_of(own.begin(), own.end(), [&](int index) {
          return std::find(depends.begin(), depends.end(), index) != depends.end();
        })) {
      break;
    }
    scope = scopes_[scope].parent;
  }
  return scope;
}

// The family of a read, made where it is the first of its kind.
int Compiler::FamilyOf(const Node& read, int scope, TapSum* sum) {
  const int lane = scopes_[scope].lane;
  const Buffer& buffer = l_.buffers[read.target];
  Load load;
  load.buffer = read.target;
  load.storage = buffer.storage;
  load.outside = buffer.outside;
  load.type = l_.real;
  load.lane_index = lane;
  bool forward = true, leaves = false;
  int64_t lane_stride = 0;
  for (size_t axis = 0; axis < read.subscripts.size(); ++axis) {
    const Affine& affine = read.subscripts[axis].affine;
    load.axes.push_back(ReadOf({affine.terms, 0, 1}, lane));
    forward = forward && load.axes.back().lane_coefficient >= 0;
    lane_stride += load.axes.back().lane_coefficient * buffer.strides[axis];
    const Interval range = RangeOf(affine, l_.formula.indices);
    leaves |= range.low < 0 || range.high >= buffer.extents[axis];
  }
  if (leaves && buffer.outside == Outside::kKeep) {
    AddClips(read);
    if (UnderLaneBlock(scope)) leaves = false;
  }
  size_t f = 0;
  const auto same = [&](const Load& other) {
    if (other.buffer != load.buffer) return false;
    for (size_t axis = 0; axis < load.axes.size(); ++axis) {
      if (other.axes[axis].terms != load.axes[axis].terms ||
          other.axes[axis].lane_coefficient != load.axes[axis].lane_coefficient) {
        return false;
      }
    }
    return true;
  };
  while (f < sum->families.size() && !same(p_.loads[sum->families[f].load])) ++f;
  if (f == sum->families.size()) {
    TapFamily family;
    family.load = static_cast<int>(p_.loads.size());
    family.direct = forward && lane_stride == 1 && IsLane(buffer.storage, l_.real);
    for (const Subscript& s : read.subscripts) family.low.push_back(s.affine.offset);
    family.high = family.low;
    p_.loads.push_back(std::move(load));
    sum->families.push_back(std::move(family));
  }
  TapFamily& family = sum->families[f];
  family.can_leave |= leaves;
  for (size_t axis = 0; axis < read.subscripts.size(); ++axis) {
    const int64_t offset = read.subscripts[axis].affine.offset;
    family.low[axis] = std::min(family.low[axis], offset);
    family.high[axis] = std::max(family.high[axis], offset);
  }
  return static_cast<int>(f);
}

// Finds or makes the row of a tap. Until FinishRows a row's load is that of shift 0, without a
// place for its lanes; `offset` is the least shift and `spread` the greatest.
void Compiler::PlaceTap(const Node& read, int scope, Tap* tap, TapSum* sum) {
  TapRow row;
  row.family = FamilyOf(read, scope, sum);
  Load load = p_.loads[sum->families[row.family].load];
  int lane_axis = -1;
  int64_t moving = 0;
  for (size_t axis = 0; axis < load.axes.size(); ++axis) {
    load.axes[axis].offset = read.subscripts[axis].affine.offset;
    if (load.axes[axis].lane_coefficient == 0) continue;
    lane_axis = static_cast<int>(axis);
    ++moving;
  }
  int64_t shift = 0;
  if (moving == 1) {
    const int64_t step = load.axes[lane_axis].lane_coefficient, size = step < 0 ? -step : step;
    int64_t& offset = load.axes[lane_axis].offset;
    const int64_t rest = offset - FloorDivide(offset, size) * size;
    shift = (offset - rest) / step;
    // The row's shifts count from a multiple of kMostSpread on, so that they stay close.
    const int64_t start = FloorDivide(shift, kMostSpread) * kMostSpread;
    offset = rest + start * step;
    shift -= start;
  }
  const auto same = [&](const TapRow& other) {
    if (other.family != row.family) return false;
    const Load& known = p_.loads[other.load];
    for (size_t axis = 0; axis < load.axes.size(); ++axis) {
      if (known.axes[axis].offset != load.axes[axis].offset) return false;
    }
    return true;
  };
  const auto found = std::find_if(sum->rows.begin(), sum->rows.end(), same);
  tap->row = static_cast<int>(found - sum->rows.begin());
  tap->shift = shift;
  if (found != sum->rows.end()) {
    found->offset = std::min(found->offset, shift);
    found->spread = std::max(found->spread, shift);
    return;
  }
  row.load = static_cast<int>(p_.loads.size());
  row.offset = row.spread = shift;
  p_.loads.push_back(std::move(load));
  sum->rows.push_back(row);
}

// Lets each row begin at its least shift.
void Compiler::FinishRows(TapSum* sum) {
  std::vector<int64_t> least;
  for (TapRow& row : sum->rows) {
    least.push_back(row.load < 0 ? 0 : row.offset);
    if (row.load < 0) continue;
    Load& load = p_.loads[row.load];
    const Buffer& buffer = l_.buffers[load.buffer];
    const int64_t low = row.offset;
    row.spread -= low;
    row.offset = 0;
    for (size_t axis = 0; axis < load.axes.size(); ++axis) {
      load.axes[axis].offset += low * load.axes[axis].lane_coefficient;
      row.offset += load.axes[axis].offset * buffer.strides[axis] * StorageBytes(load.storage);
    }
    load.can_leave = sum->families[row.family].can_leave;
    load.slot = NewSlot(l_.real, true, kBlockLanes + row.spread);
  }
  for (Tap& tap : sum->taps) tap.shift -= least[tap.row];
  sum->one_family = sum->families.size() == 1 && sum->families[0].direct;
  for (const TapRow& row : sum->rows) sum->one_family &= row.load >= 0;
  for (const Tap& tap : sum->taps) {
    sum->places.push_back(sum->rows[tap.row].offset + tap.shift * LaneBytes(l_.real));
  }
  const int64_t addresses = static_cast<int64_t>(sum->taps.size()) +
                            static_cast<int64_t>(sum->rows.size()) +
                            static_cast<int64_t>(sum->families.size());
  sum->addresses = NewSlot(Lane::kInt, true, addresses);
}

void Compiler::EmitTaps(int scope, int factor_scope, const std::vector<TapRead>& reads, TapSum sum,
                        Value* out) {
  for (const TapRead& read : reads) {
    Tap tap = read.tap;
    if (read.read.has_value()) {
      PlaceTap(*read.read, scope, &tap, &sum);
    } else {
      tap.row = static_cast<int>(sum.rows.size());
      sum.rows.push_back({});
      sum.rows.back().slot = read.slot;
    }
    sum.taps.push_back(std::move(tap));
  }
  FinishRows(&sum);
  sum.factors = NewSlot(l_.real, true, static_cast<int64_t>(sum.taps.size()));
  Item item;
  item.kind = ItemKind::kFactors;
  item.number = static_cast<int>(p_.sums.size());
  Emit(factor_scope, item);
  item.kind = ItemKind::kTaps;
  item.vector = true;
  item.out = out->slot = NewSlot(l_.real, true);
  Emit(scope, item);
  out->vector = true;
  p_.sums.push_back(std::move(sum));
}

}  // namespace hiera::interpreter
