// A task as plain CUDA: one kernel a statement, one thread an element, or one block a row where
// that pays. Covers every formula but those that it refuses by name. Pure functions.
#ifndef HIERA_POLICIES_FRAMEWORK_CUDA_LOOPS_H_
#define HIERA_POLICIES_FRAMEWORK_CUDA_LOOPS_H_

#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/task/cuda_plan.h"
#include "runtime/task/task.h"

namespace hiera {

struct CudaLoopsOptions {
  int threads = 256;  // of a block: a multiple of 32
  // Threads of a block along the innermost output index; the others lie along the next one, of
  // which each thread computes `rows`. 0: elements are numbered through.
  int tile = 0;
  int rows = 1;
  // Reductions are shared out over a block's threads. Sums are then in another order, which exact
  // arithmetic does not admit.
  bool together = false;
};

struct CudaSource {
  std::string text;  // CUDA C++ whose functions are device functions unless they say otherwise
  CudaPlan plan;
  int64_t workspace_bytes = 0;
};

// Errors: kUnsupported, saying what of the formula cannot be generated.
Result<CudaSource> WriteCudaLoops(const Task& task, const CudaLoopsOptions& options);

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_CUDA_LOOPS_H_
