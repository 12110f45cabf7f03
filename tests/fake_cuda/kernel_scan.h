// What the fictional NVRTC must know of a source before a host's compiler reads it.
#ifndef HIERA_TESTS_FAKE_CUDA_KERNEL_SCAN_H_
#define HIERA_TESTS_FAKE_CUDA_KERNEL_SCAN_H_

#include <string>
#include <string_view>
#include <vector>

namespace hiera::fake_cuda {

struct ScannedKernel {
  std::string name;
  std::string max_threads;  // an expression
};

// The kernels with C's names, in their order.
std::vector<ScannedKernel> ScanKernels(std::string_view source);

// The source with `extern __shared__ T name[];` written as what the host's compiler understands.
std::string WithDynamicShared(std::string_view source);

}  // namespace hiera::fake_cuda

#endif  // HIERA_TESTS_FAKE_CUDA_KERNEL_SCAN_H_
