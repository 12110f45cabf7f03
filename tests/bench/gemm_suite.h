// The matrix products that bench_gemm and bench_api run, with random operands.
#ifndef HIERA_TESTS_BENCH_GEMM_SUITE_H_
#define HIERA_TESTS_BENCH_GEMM_SUITE_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/policies/gemm_case.h"

namespace hiera {

// Column-major and dense, C = op(A) op(B).
struct GemmRow {
  std::string name;
  int64_t m = 0, n = 0, k = 0, batch = 1;
  bool transpose_a = false, transpose_b = false;
  GemmCase product;
};

// The rows of a suite; empty for an unknown name and for a type that the suite does not have.
std::vector<GemmRow> GemmSuite(const std::string& name, DType dtype);

// Random operands of a product in A, B and C.
class GemmOperands {
 public:
  explicit GemmOperands(const GemmCase& product);
  void* const* pointers() const { return pointers_; }

 private:
  void Fill(int tensor, int64_t rows, int64_t cols, int64_t row, int64_t col, const GemmView& view,
            int64_t GemmView::BatchAxis::*stride, DType dtype);

  struct Free {
    void operator()(char* p) const { std::free(p); }
  };
  uint64_t state_ = 1;
  std::unique_ptr<char, Free> buffers_[3];
  void* pointers_[3] = {};
};

}  // namespace hiera

#endif  // HIERA_TESTS_BENCH_GEMM_SUITE_H_
