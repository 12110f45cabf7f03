// The cases of evaluator_gpu_cases.cc on the fictional GPU of tests/fake_cuda, which ctest shows to
// this program and all that it starts.
#include "tests/fault/evaluator_gpu_cases.h"

namespace hiera {

std::string WhyNoGpu() { return {}; }
std::vector<std::string> GpuVariables() { return {}; }

}  // namespace hiera
