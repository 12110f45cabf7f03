// Compile: a stage's statement to a program of the interpreter kernel. Pure function.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_COMPILE_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_COMPILE_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/interpreter/assembly.h"
#include "runtime/device/interpreter/lower.h"
#include "runtime/device/interpreter/step_plan.h"

namespace hiera::cuda {

struct StageProgram {
  Encoded encoded;
  int64_t points = 0;
  uint32_t team = 1;
  std::vector<int> buffers;  // numbers of Lowered::buffers, as the program counts them
  std::vector<int> scalars;  // numbers of Task::scalars, likewise
  interpreter::Unwritten unwritten;
};

// What programs and launches are made for.
struct Target {
  int multiprocessors = 1;
  uint32_t block_threads = 256;  // a multiple of a warp, at most 1,024
};

// Errors: kUnsupported, for a statement that needs more values at once than a thread can hold.
Result<StageProgram> Compile(const interpreter::Lowered& lowered, const Statement& statement,
                             const Target& target);

// The program that copies from the layout of buffer `from` to that of `to`, which have the same
// extents: from its buffer 0 to its buffer 1.
StageProgram CompileCopy(const interpreter::Lowered& lowered, int from, int to);

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_COMPILE_H_
