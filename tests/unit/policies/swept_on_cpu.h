// Generated CUDA sweeps, built by the system's compiler behind the CUDA shim and run on the CPU,
// every CUDA thread a thread: for tests of what they compute.
#ifndef HIERA_TESTS_UNIT_POLICIES_SWEPT_ON_CPU_H_
#define HIERA_TESTS_UNIT_POLICIES_SWEPT_ON_CPU_H_

#include <memory>
#include <string>
#include <vector>

#include "policies/framework/cuda_loops.h"
#include "runtime/device/device.h"

namespace hiera {

// Owns a temporary folder and the object in it, which it unloads and removes when destroyed. One
// launch at a time.
class SweptOnCpu {
 public:
  // Builds all sources into one object, with warnings as errors. error() says what went wrong.
  explicit SweptOnCpu(const std::vector<CudaSource>& sources);
  ~SweptOnCpu();
  SweptOnCpu(const SweptOnCpu&) = delete;
  SweptOnCpu& operator=(const SweptOnCpu&) = delete;

  const std::string& error() const { return error_; }
  // Runs the plan of source `number`, made of `task`; borrows this object and the source. A run
  // fails where it writes outside of the workspace, or reads outside of that and the tensors.
  std::unique_ptr<Executable> Make(size_t number, const Task& task) const;

 private:
  const std::vector<CudaSource>& sources_;
  std::string folder_;
  std::string error_;
  void* handle_ = nullptr;
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_POLICIES_SWEPT_ON_CPU_H_
