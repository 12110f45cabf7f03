// The stencils that bench_stencil runs: as formulas, and as the loop that a programmer would write.
#ifndef HIERA_TESTS_BENCH_STENCIL_SUITE_H_
#define HIERA_TESTS_BENCH_STENCIL_SUITE_H_

#include <string>
#include <vector>

#include "runtime/task/tensor.h"

namespace hiera {

struct SuiteStencil {
  std::string name;
  int dims = 2;
  int radius = 1;
  std::vector<std::vector<int64_t>> points;
  bool gradient = false;
  double divisor = 1;
};

// Reads tests/bench/data/stencils.csv. Empty where the file cannot be read.
std::vector<SuiteStencil> ReadSuite(const std::string& path);

// The task's text: `steps` sweeps over a grid whose border is kept.
std::string FormulaText(const SuiteStencil& stencil, const std::vector<int64_t>& extents,
                        DType dtype, int64_t steps);

// C++ that defines hiera_variant: one sweep, plain loops with constant sizes, the outermost one
// shared out over the threads.
std::string PlainLoop(const SuiteStencil& stencil, const std::vector<int64_t>& extents,
                      DType dtype);

}  // namespace hiera

#endif  // HIERA_TESTS_BENCH_STENCIL_SUITE_H_
