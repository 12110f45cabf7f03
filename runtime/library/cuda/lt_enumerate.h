// EnumerateLt: every way in which cuBLASLt can run a problem, within limits.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_LT_ENUMERATE_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_LT_ENUMERATE_H_

#include <cstdint>
#include <vector>

#include "runtime/library/cuda/lt_problem.h"

namespace hiera {

struct LtLimits {
  int64_t workspace_bytes = int64_t{64} << 20;
  int ranked = 32;      // entries asked of the library's heuristic
  int checks = 150000;  // questions to the library; each takes microseconds
  int choices = 8192;
};

struct LtEnumeration {
  std::vector<LtChoice> choices;  // the library's ranking first; none twice
  int checks = 0;                 // that were made
  bool complete = true;           // false: a limit ended it
};

// Heuristic first; then every algorithm number with its tiles and stages; then, around what the
// library accepts, clusters, custom options, orders of blocks, and splits of the sum with every
// reduction scheme that keeps the sums in their type. Breadth first, so that a limit cuts the far
// corners of every algorithm and not whole algorithms. Needs a current context; runs nothing.
LtEnumeration EnumerateLt(const LtProblem& problem, const LtLimits& limits);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_LT_ENUMERATE_H_
