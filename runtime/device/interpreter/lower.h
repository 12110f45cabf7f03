// Lowering: a task as a list of stages that an interpreter can run one after another. Reductions
// that do not depend on everything around them, reductions inside reductions, and scans become
// stages of their own with buffers of their own, so that nothing is computed twice; a reduction of
// many elements to few is split, so that it can use the whole device. Pure functions.
#ifndef HIERA_RUNTIME_DEVICE_INTERPRETER_LOWER_H_
#define HIERA_RUNTIME_DEVICE_INTERPRETER_LOWER_H_

#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/interpreter/storage.h"
#include "runtime/task/task.h"

namespace hiera::interpreter {

// A tensor of the task, or a buffer of the interpreter's own (numbers from Task::bound_count on).
struct Buffer {
  Storage storage = Storage::kF32;
  std::vector<int64_t> extents, strides;  // in elements
  Outside outside = Outside::kRefuse;

  int64_t bytes() const;  // from the first element to the end of the last
};

// One statement. A scan stage instead turns the last axis of `statement.output`, a dense buffer,
// into its scan, in place.
struct Stage {
  Statement statement;
  bool is_scan = false;
  Scan scan;
};

struct Lowered {
  Formula formula;  // indices and nodes, the task's own and those that lowering added; not the
                    // statements: those are in `stages`
  std::vector<std::vector<int>> depends;  // per node: the indices its value depends on, ascending
  std::vector<Buffer> buffers;
  std::vector<Stage> stages;
  int bound_count = 0;
  Lane real = Lane::kF32;
  bool exact = false;  // Arithmetic::kExact
};

// When a reduction to few results is made in two stages.
struct Splitting {
  int64_t workers = 1;      // fewer results than this leave some of the device idle; 1: never split
  int64_t least_parts = 1;  // fewer are not worth a stage
  int64_t most_parts = 64;  // for each result
};

// Errors: kUnsupported (a scan of reads that a keep rule may break).
Result<Lowered> Lower(const Task& task, const Splitting& splitting);

// Whether a read under `node` of a tensor with a keep rule can fall outside it.
bool CanBreakKeep(const Lowered& lowered, int node);
// The least and largest value that an affine without its divisor takes over all index ranges.
struct Interval {
  int64_t low, high;
};
Interval RangeOf(const Affine& affine, const std::vector<Index>& indices);

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_INTERPRETER_LOWER_H_
