// CblasCall: a GEMM task as calls of the CBLAS interface, by structure. A plain value derived from
// the task alone, so that what proposes a library call, what stores it and what launches it agree
// on it without a library at hand. Pure functions.
#ifndef HIERA_RUNTIME_TASK_CBLAS_CALL_H_
#define HIERA_RUNTIME_TASK_CBLAS_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/classify.h"
#include "runtime/task/task.h"

namespace hiera {

// One call for each matrix of the batch, in order; then, where there is a bias or an activation,
// a pass over C that applies them, as an application would write it.
struct CblasCall {
  enum class Routine : uint8_t {
    kGemm,  // C = alpha op(A) op(B) + beta C
    kGemv,  // C = alpha op(A) B + beta C with vectors B and C; ldb and ldc are their increments.
            // Always row-major; m x n is A as it is stored
  };
  Routine routine = Routine::kGemm;
  DType dtype = DType::kF32;  // f32 or f64
  bool column_major = false;
  bool transpose_a = false;
  bool transpose_b = false;
  int32_t m = 0, n = 0, k = 0;  // as the routine counts them
  int32_t lda = 1, ldb = 1, ldc = 1;
  int a = -1, b = -1, c = -1;  // bound tensors, in the routine's roles
  GemmView::Factor alpha, beta;
  std::vector<GemmView::BatchAxis> batch;  // strides in the routine's roles; outermost first

  // The pass after the calls, over C's own rows and columns.
  int64_t rows = 0, cols = 0;
  int64_t c_row = 0, c_col = 0;  // strides of C
  int bias = -1;                 // bound tensor
  int64_t bias_row = 0, bias_col = 0;
  std::vector<Op> activation;

  // "cblas_sgemm order=row transa=n transb=t m=8 n=8 k=8 alpha=s0 a=t0 lda=8 ...": equal texts are
  // equal calls. A factor is sN (scalar N) or a number.
  std::string Text() const;
};

// Every way to say the task, the one an application would most likely write first. Errors:
// kUnsupported with the reason: not a gemm, an element type or a layout that CBLAS has no name for,
// exact arithmetic, ...
Result<std::vector<CblasCall>> CblasCallsOf(const Task& task);
// The same from a view; `dtype` is that of every tensor.
Result<std::vector<CblasCall>> CblasCallsOf(const GemmView& view, DType dtype);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CBLAS_CALL_H_
