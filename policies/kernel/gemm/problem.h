// GemmProblem: a matrix product as the GEMM templates see it, with C's unit stride along its
// columns, and the mapping of a task to it. A plain value.
#ifndef HIERA_POLICIES_KERNEL_GEMM_PROBLEM_H_
#define HIERA_POLICIES_KERNEL_GEMM_PROBLEM_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/classify.h"
#include "runtime/task/task.h"

namespace hiera::gemm {

// Where the operands of matrix i begin, as sums over the axes of the batch.
struct BatchAxis {
  int64_t extent = 1;
  int64_t a = 0, b = 0, c = 0, bias = 0;  // strides in elements
};

struct Problem {
  DType dtype = DType::kF32;  // f32 or f64, of every operand and of the sums
  int64_t rows = 1, cols = 1, depth = 1;
  std::vector<BatchAxis> batch;  // outermost first; axes that run on into each other are one
  // Strides in elements. C's columns are contiguous.
  int64_t a_row = 0, a_col = 1;
  int64_t b_row = 0, b_col = 1;
  int64_t c_row = 0;
  int64_t bias_row = 0, bias_col = 0;
  int a = -1, b = -1, c = -1, bias = -1;  // bound tensors; bias -1: none
  GemmView::Factor alpha{1, -1}, beta{0, -1};
  std::vector<Op> activation;
  int64_t workspace_limit = 0;  // bytes, of the contract

  int64_t matrices() const;
  int64_t element_bytes() const { return dtype == DType::kF64 ? 8 : 4; }
  double flops() const { return 2.0 * rows * cols * depth * matrices(); }
  // Of all operands, each matrix once however often the batch repeats it.
  double bytes() const;
};

// Errors: kUnsupported with the reason.
Result<Problem> ProblemOf(const Task& task);
// From a view whose operands are all of `dtype`.
Result<Problem> ProblemOf(const GemmView& view, DType dtype);

}  // namespace hiera::gemm

#endif  // HIERA_POLICIES_KERNEL_GEMM_PROBLEM_H_
