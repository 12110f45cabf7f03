// CublasCall: a GEMM task as one call of cuBLAS or cuBLASLt, by structure. A plain value derived
// from the task alone, so that what proposes a library call, what stores it and what launches it
// agree on it without a library or a GPU at hand. Pure functions.
#ifndef HIERA_RUNTIME_TASK_CUBLAS_CALL_H_
#define HIERA_RUNTIME_TASK_CUBLAS_CALL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/classify.h"
#include "runtime/task/task.h"

namespace hiera {

// C = ending(alpha op(A) op(B) + beta C + bias), column-major, `batch` times. A, B and C are in the
// routine's roles: a row-major product is the product of the transposes with A and B exchanged.
struct CublasCall {
  enum class Routine : uint8_t {
    kGemm,  // cublasGemmEx, or cublasGemmStridedBatchedEx for a batch: no ending
    kLt,    // cublasLtMatmul
  };
  Routine routine = Routine::kGemm;
  DType inputs = DType::kF32;   // of A and B
  DType output = DType::kF32;   // of C and the bias
  DType compute = DType::kF32;  // f32 or f64: of products, sums, alpha and beta
  bool tf32 = false;            // products may round f32 operands to TF32
  bool transpose_a = false;
  bool transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  int64_t lda = 1, ldb = 1, ldc = 1;
  int a = -1, b = -1, c = -1;  // bound tensors
  GemmView::Factor alpha, beta;
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0, stride_bias = 0;  // between matrices
  int bias = -1;  // bound tensor: one element for each of the m rows
  enum class Ending : uint8_t { kNone, kRelu } ending = Ending::kNone;
  int64_t alignment = 1;  // bytes that every address is a multiple of

  // "cublas_gemm compute=f32 in=f16 out=f16 transa=n transb=t m=8 ...": equal texts are equal
  // calls.
  std::string Text() const;
  // Multiply-adds count twice.
  double flops() const;

  friend bool operator==(const CublasCall&, const CublasCall&) = default;
};
bool operator==(const GemmView::Factor& x, const GemmView::Factor& y);

// Every way to say the task as a call of that routine, the one an application would most likely
// write first. Plain f32 never becomes TF32 unless the contract admits it. Errors: kUnsupported
// with the reason.
Result<std::vector<CublasCall>> CublasCallsOf(const Task& task, CublasCall::Routine routine);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CUBLAS_CALL_H_
