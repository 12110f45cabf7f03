// RowAxes: which indices of a task's statements are one and the same axis. Used by row_program.cc.
#ifndef HIERA_POLICIES_KERNEL_FUSED_ROW_AXES_H_
#define HIERA_POLICIES_KERNEL_FUSED_ROW_AXES_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

struct RowAxes {
  std::vector<int> axis_of;      // per index of the formula: its axis
  std::vector<int64_t> extents;  // per axis: outer axes first, then row axes
  int outer = 0;                 // how many outer axes
};

// Errors: kUnsupported.
Result<RowAxes> FindRowAxes(const Task& task);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_FUSED_ROW_AXES_H_
