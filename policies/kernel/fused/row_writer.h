// RowWriter: a row program as C++ with vectors along the row. A row is read once and written once
// where it fits the cache: values that a later pass needs wait in a buffer on the stack. Pure
// functions.
#ifndef HIERA_POLICIES_KERNEL_FUSED_ROW_WRITER_H_
#define HIERA_POLICIES_KERNEL_FUSED_ROW_WRITER_H_

#include <string>

#include "policies/framework/loops.h"
#include "policies/kernel/fused/row_program.h"
#include "runtime/task/task.h"

namespace hiera {

struct RowOptions {
  int vector_bytes = 32;  // 16, 32 or 64
  int unroll = 4;         // vectors that a reduction accumulates side by side
  // Rows are shared out among threads; or each row is cut into chunks that are, with the partial
  // results in the workspace and combined in the order of the chunks.
  bool split_rows = false;
};

GeneratedSource WriteRows(const Task& task, const RowProgram& program, const RowOptions& options);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_FUSED_ROW_WRITER_H_
