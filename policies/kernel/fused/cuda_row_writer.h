// CudaRowWriter: a row program as one CUDA kernel. The threads of a warp or of a block walk a row
// together; values that a later pass needs wait in registers, so that a row is read once and
// written once. Pure functions.
#ifndef HIERA_POLICIES_KERNEL_FUSED_CUDA_ROW_WRITER_H_
#define HIERA_POLICIES_KERNEL_FUSED_CUDA_ROW_WRITER_H_

#include "policies/framework/cuda_loops.h"
#include "policies/kernel/fused/row_program.h"
#include "runtime/task/task.h"

namespace hiera {

struct CudaRowOptions {
  // Threads of a row: 32 (a warp; a block then has `rows` of them) or a multiple of it (a block).
  int threads = 256;
  int rows = 1;
  // Neighbouring elements that a thread moves at once; see WidestNeighbours.
  int neighbours = 1;
};

// The most neighbours that fill 16 bytes of the narrowest tensor and that every row can be cut
// into, with every access along the row in order and aligned; 1 where there is no more.
int WidestNeighbours(const Task& task, const RowProgram& program);

// Errors: kUnsupported: nothing to compute, or more rows than a grid has.
Result<CudaSource> WriteCudaRows(const Task& task, const RowProgram& program,
                                 const CudaRowOptions& options);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_FUSED_CUDA_ROW_WRITER_H_
