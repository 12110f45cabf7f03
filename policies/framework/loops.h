// Loops: a task as plain C++ loops, one parallel region per statement. Covers every formula but
// those that it refuses by name. Pure functions.
#ifndef HIERA_POLICIES_FRAMEWORK_LOOPS_H_
#define HIERA_POLICIES_FRAMEWORK_LOOPS_H_

#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

struct LoopsOptions {
  int64_t block = 0;  // elements of the innermost output axis that accumulate side by side; 0: one
};

struct GeneratedSource {
  std::string text;  // C++ after abi.h; defines hiera_variant
  int64_t workspace_bytes = 0;
  bool parallel = false;  // whether any region is worth more than one thread
};

// Errors: kUnsupported, saying what of the formula cannot be generated.
Result<GeneratedSource> WriteLoops(const Task& task, const LoopsOptions& options);

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_LOOPS_H_
