// StencilTask: a task as the stencil template sees it. Grids of one to three dimensions, a state
// that is read at offsets, further read-only fields, and the formula as the text of a C++ functor.
// Plain values; pure functions.
#ifndef HIERA_POLICIES_KERNEL_STENCIL_TASK_H_
#define HIERA_POLICIES_KERNEL_STENCIL_TASK_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

// Dimensions are planes, rows, cells of a row: 2-D grids are planes of one row, 1-D grids are one
// plane of one row. The last one has stride 1 in every tensor.
struct StencilTask {
  struct Source {
    int tensor = -1;
    Outside rule = Outside::kRefuse;
    std::array<int64_t, 3> extent{1, 1, 1};
    std::array<int64_t, 2> stride{0, 0};  // of planes and rows, in elements
  };
  // All reads of one source in one row: offsets along it lie in [low, high].
  struct Row {
    int source = 0;
    int64_t d0 = 0, d1 = 0, low = 0, high = 0;
    int64_t points = 0;  // distinct offsets
  };
  // What one cell costs, for the model.
  struct Work {
    int64_t reads = 0;
    int64_t shifted_reads = 0;  // at an offset along the row: not aligned to a register
    int64_t operations = 0;     // a multiplication and the addition of its product count as one
    int64_t divisions = 0, roots = 0;
  };

  DType dtype = DType::kF32;
  std::array<int64_t, 3> extent{1, 1, 1};  // of the output
  std::array<int64_t, 3> begin{0, 0, 0};   // cells in [begin, end) are written, others are kept
  std::array<int64_t, 3> end{1, 1, 1};
  std::array<int64_t, 3> low{0, 0, 0};  // reach of the reads of the state, both >= 0
  std::array<int64_t, 3> high{0, 0, 0};
  std::vector<Source> sources;  // the state first
  std::vector<Row> rows;
  int output = -1;
  std::array<int64_t, 2> stride{0, 0};
  std::vector<int> scalars;  // the task's scalars that the functor takes, in its order
  int64_t steps = 1;
  int64_t max_fuse = 1;  // more steps than this may not share a pass
  int64_t workspace_limit = 0;
  int64_t alignment = 0;  // bytes that every pointer is promised to keep to; 0 and 1: its element
  Work work;
  std::string cell;  // the functor's body: statements over `u` and `s`

  int64_t cells() const { return extent[0] * extent[1] * extent[2]; }
  bool keeps() const;
};

// Errors: kUnsupported, with a reason that says what the template does not cover.
Result<StencilTask> MapStencil(const Task& task);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_STENCIL_TASK_H_
