// GemmCase: one matrix product with its layout, for running a GEMM kernel on guarded buffers and
// comparing it with plain loops.
#ifndef HIERA_TESTS_UNIT_POLICIES_GEMM_CASE_H_
#define HIERA_TESTS_UNIT_POLICIES_GEMM_CASE_H_

#include <cstdint>
#include <string>

#include "runtime/device/host/abi.h"
#include "runtime/task/classify.h"

namespace hiera {

struct GemmCase {
  DType dtype = DType::kF32;
  GemmView view;  // tensors 0, 1, 2 and 3 for A, B, C and the bias

  // Dense matrices, each padded by `pad` elements a row; transposed or column-major as asked.
  static GemmCase Make(DType dtype, int64_t m, int64_t n, int64_t k, bool column_major,
                       bool transpose_a, bool transpose_b, int64_t pad);

  std::string Text() const;

  // Runs `kernel` and compares every element of C. Around C, in its gaps and behind the workspace
  // lie marks that must stay; around and in the gaps of A, B and the bias lies NaN, which would
  // reach C if it were read. "" where all is well, else what is not.
  std::string Check(hiera_variant_fn kernel, int64_t workspace_bytes) const;
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_POLICIES_GEMM_CASE_H_
