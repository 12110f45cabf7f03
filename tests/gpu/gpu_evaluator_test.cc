// The cases of tests/fault/evaluator_gpu_cases.cc on a real GPU.
#include "runtime/device/cuda/driver.h"
#include "tests/fault/evaluator_gpu_cases.h"

namespace hiera {

std::string WhyNoGpu() {
  const auto driver = cuda::MachineDriver();
  return driver.ok() ? "" : driver.status().message();
}

std::vector<std::string> GpuVariables() { return {}; }

}  // namespace hiera
