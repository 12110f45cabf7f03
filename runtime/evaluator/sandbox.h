// The worker's sandbox, put up before any code of a candidate is loaded. What the kernel lacks is
// left out and told, never silently.
#ifndef HIERA_RUNTIME_EVALUATOR_SANDBOX_H_
#define HIERA_RUNTIME_EVALUATOR_SANDBOX_H_

#include <cstdint>
#include <string>
#include <vector>

namespace hiera {

struct SandboxOptions {
  std::vector<std::string> readable;  // folders and files that may be read and loaded from
  int64_t data_bytes = 0;             // of private memory, all in all; 0: no limit
  int cpu_seconds = 0;
};

// Gives up privileges, sets limits, closes the file system but for what is readable, and forbids
// the outside world (syscall_filter.h). Every thread of the process must exist already. Returns
// what could not be had, "" where all was.
std::string EnterSandbox(const SandboxOptions& options);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_SANDBOX_H_
