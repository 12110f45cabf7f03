// Frame: one thread's state while it runs a program. Lives on that thread's stack for one stage.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_FRAME_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_FRAME_H_

#include <cstdint>

#include "runtime/device/host/interpreter/program.h"

namespace hiera::interpreter {

// Where a buffer's elements are in this run.
struct View {
  char* base = nullptr;
  const int64_t* strides = nullptr;  // in elements
  const int64_t* extents = nullptr;
};

struct Frame {
  const Program* program = nullptr;
  const LaneTable* table = nullptr;
  const View* views = nullptr;      // by buffer
  const double* scalars = nullptr;  // rounded to the accumulation type
  int64_t* index = nullptr;         // value of each index; of the lane index: of lane 0
  void** slots = nullptr;           // where each value's lanes are now
  char* scratch = nullptr;          // where each value's own lanes are
  int64_t lanes = 0;                // of the current block

  void* OwnLanes(int slot) const { return scratch + program->slots[slot].scratch_offset; }
};

// Reads n lanes of `load` at the current indices, by its rule where that is outside. Returns where
// they are: in the buffer itself if they can be used as they are, else in `own`, which has room for
// n lanes. `mask`, where not null, gets a 1 for each lane that breaks a keep rule, else a 0.
const void* ReadLanes(const Frame& frame, const Load& load, int64_t n, void* own, uint8_t* mask);

// numerator of the affine at lane 0, before the division.
int64_t Numerator(const AxisRead& axis, const int64_t* index, int lane_index);

// Runs block `number` of the program once.
void RunBlock(Frame& frame, int number);

// A sum of taps, and its factors.
void RunTaps(Frame& frame, const Item& item);
void RunFactors(const Frame& frame, const Item& item);

// Computes the panel's sums for `rows` rows from the current value of its row index on, at the
// current lanes: row r at sums + r * kBlockLanes lanes. `work`: PanelWorkBytes of scratch.
void RunPanel(Frame& frame, int64_t rows, void* sums, char* work);
int64_t PanelWorkBytes(Lane real);
inline constexpr int64_t kMostPanelRows = 32;

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_FRAME_H_
