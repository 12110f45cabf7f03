// Program: one stage, compiled to instructions on blocks of lanes. Immutable once compiled.
//
// The instructions lie in blocks. Block 0 runs once a thread and run, block 1 for each combination
// of the outer output indices, block 2 for each block of lanes along the lane index; the others are
// bodies of reduction loops. An instruction stands in the innermost block that one of its indices
// belongs to, so nothing is computed more often than it changes.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_PROGRAM_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_PROGRAM_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/device/host/interpreter/lanes.h"
#include "runtime/task/tensor.h"

namespace hiera::interpreter {

// A value is as many lanes as its slot has: one (uniform) or a block.
struct Slot {
  int64_t scratch_offset = 0;
  Lane type = Lane::kF32;
  bool vector = false;
};
inline constexpr int kNoSlot = 0;  // slot 0 belongs to no value

// (sum of coefficient * index + lane_coefficient * lane index + offset) / divisor, or a gather.
struct AxisRead {
  std::vector<std::pair<int, int64_t>> terms;  // (index, coefficient), without the lane index
  int64_t lane_coefficient = 0;
  int64_t offset = 0;
  int64_t divisor = 1;
  int gather = kNoSlot;  // integers
  bool gather_vector = false;
};

struct Load {
  int buffer = -1;
  std::vector<AxisRead> axes;
  int lane_index = -1;    // of the region it stands in; -1: uniform
  bool can_leave = true;  // a subscript can fall outside the buffer
  bool slow = false;      // gathers, or quotients that differ from lane to lane
  Storage storage = Storage::kF32;
  Outside outside = Outside::kRefuse;
  Lane type = Lane::kF32;
  int slot = kNoSlot;  // where it is converted to if the element cannot be used in place
  int mask = kNoSlot;  // booleans: 1 where the read breaks a keep rule
};

enum class ItemKind : uint8_t {
  kOp,        // fn(out, a, b, c)
  kLoad,      // loads[number]
  kIndex,     // out = axis read `number` of Program::indices
  kScalar,    // out = scalar `number`
  kFill,      // out = constant
  kLoop,      // block `number` for each value of `index`
  kLaneLoop,  // block `number` for each block of lanes along `index`
  kFactors,   // out = the factors of sums[number]
  kTaps,      // out = sums[number]
  kFold,      // out = fold of the lanes of a
  kOrdered,   // out = out combined with the lanes of a in order
  kArg,       // (out, b) = step of an arg-reduction of a along `index`
  kArgFold,   // out = the winner among the lanes of (a, b)
};

struct Item {
  ItemKind kind = ItemKind::kOp;
  bool vector = false;       // works on the lanes of the block; else on one
  bool largest = false;      // kArgFold
  bool along_lanes = false;  // kArg: `index` is the lane index
  Lane type = Lane::kF32;    // kFill, kArgFold, kScalar: of the value
  int form = 0;
  int out = kNoSlot, a = kNoSlot, b = kNoSlot, c = kNoSlot;
  int number = -1;
  int index = -1;
  int64_t lanes = 0;   // kFill, kFold, kArgFold: this many lanes; 0: those of the block
  int64_t extent = 0;  // loops
  double constant = 0;
  int64_t integer = 0;
  LaneFn fn = nullptr;
  FoldFn fold = nullptr;
  OrderedFn ordered = nullptr;
  ArgFn arg = nullptr;
};

// What one tap of a sum multiplies: the lanes of `row` from `shift` on. Its factor is the product
// of `factors`, uniform values, and of the sum's factor load.
struct Tap {
  int row = -1;
  int64_t shift = 0;  // lanes
  std::vector<int> factors;
  bool negative = false;
};

// Lanes that taps share: a row of a tensor, read once for all shifts along it, or a value.
struct TapRow {
  int load = -1;       // from the least shift on
  int64_t spread = 0;  // lanes that are read beyond those of the block
  int family = -1;     // of the load
  int64_t offset = 0;  // from the family's place to the row's, in bytes
  int slot = kNoSlot;  // where there is no load
};

// Rows of one buffer that move together. While all their taps are inside, each is read in place.
struct TapFamily {
  int load = -1;        // without offsets
  bool direct = false;  // elements are lanes as they are, one after another
  bool can_leave = false;
  std::vector<int64_t> low, high;  // the offsets of the taps along each axis
};

// A sum of lanes, each times a uniform value, in the order of the taps: see taps.cc.
struct TapSum {
  std::vector<Tap> taps;
  std::vector<TapRow> rows;
  std::vector<TapFamily> families;
  std::vector<int64_t> places;         // of each tap from the only family's place, in bytes
  bool one_family = false;             // and no row is a value
  int factors = kNoSlot;               // one lane a tap
  int addresses = kNoSlot;             // room for one integer a tap, a row and a family
  int factor_load = -1;                // -1: none. The factor of tap t is multiplied with the
  std::vector<int64_t> factor_offset;  // element that lies factor_offset[t] bytes behind
};

// A read of a tensor with a keep rule: output elements for which it is outside are not computed.
struct Clip {
  AxisRead axis;  // bound indices replaced by their ranges: offset + [low, high]
  int64_t low = 0, high = 0;
  int64_t extent = 0;
};

// A sum over `bound` of scale * row, where `row` varies along the lanes and `scale` does not, for
// several values of the output index `row_index` at once: see panel.cc.
struct PanelPlan {
  int scale = -1, row = -1;  // loads
  std::vector<int> bound;
  std::vector<int64_t> extents;
  int64_t count = 1;   // product of the extents
  int row_index = -1;  // -1: none
  int out = kNoSlot;
};

struct Program {
  std::vector<std::vector<Item>> blocks;
  std::vector<Load> loads;
  std::vector<AxisRead> indices;
  std::vector<TapSum> sums;
  std::vector<Slot> slots;
  int64_t scratch_bytes = 0;
  std::vector<Clip> clips;
  bool has_panel = false;
  PanelPlan panel;
  Lane real = Lane::kF32;
  bool exact = false;

  int output = -1;              // buffer
  std::vector<int> axis_index;  // output index of each axis
  int lane = -1;                // output index along the lanes; -1: one lane
  int64_t lane_extent = 1;
  std::vector<int> outer;  // the other output indices, outermost first, without the row index
  std::vector<int64_t> outer_extents;
  int64_t row_extent = 1;  // of panel.row_index

  int root = kNoSlot;
  bool root_vector = false;
  Lane root_type = Lane::kF32;
  Storage output_storage = Storage::kF32;
  int root_mask = kNoSlot;
  bool root_mask_vector = false;
  bool root_is_last =
      false;           // the last instruction of block 2 makes it, and may write to the output
  double cost_ns = 0;  // of the whole stage on one core, a rough guess
};

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_PROGRAM_H_
