// Turns a statement's formula into the body of a stencil's cell functor: C++ over the operations of
// stencil/stencil_pack.cc, in the order that the formula states. Pure functions.
#ifndef HIERA_POLICIES_KERNEL_STENCIL_CELL_H_
#define HIERA_POLICIES_KERNEL_STENCIL_CELL_H_

#include <functional>
#include <string>
#include <vector>

#include "policies/kernel/stencil_task.h"
#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

struct StencilCell {
  std::string body;          // statements; the last one returns the cell's value
  std::vector<int> scalars;  // the task's scalars that `s` holds, in its order
  StencilTask::Work work;    // without the reads
};

// `read` gives the text of a kLoad node. Errors: kUnsupported, naming the operation that the
// template has no counterpart for.
Result<StencilCell> EmitStencilCell(const Task& task,
                                    const std::function<std::string(int node)>& read);

// A literal of `dtype` (f32 or f64) that reads back as exactly `value` rounded to it.
std::string RealLiteral(double value, DType dtype);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_STENCIL_CELL_H_
