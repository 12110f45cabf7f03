// Code: what the fictional driver loads: objects that the fictional NVRTC made, and the
// interpreter's own image, whose kernels are compiled into the driver.
#ifndef HIERA_TESTS_FAKE_CUDA_CODE_H_
#define HIERA_TESTS_FAKE_CUDA_CODE_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/fake_cuda/driver_api.h"
#include "tests/fake_cuda/kernel_table.h"

namespace hiera::fake_cuda {

// What CUkernel and CUfunction point at. Lives as long as the process, as code does.
struct Kernel {
  const hiera_fake::Module* module;
  const hiera_fake::Kernel* table;
  int most_dynamic_shared;        // bytes; raised by cuKernelSetAttribute
  bool any_cluster_size = false;  // as well
};

// What CUlibrary and CUmodule point at.
struct Library {
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

// Of `image`, whose length it tells itself. Errors: CUDA_ERROR_INVALID_IMAGE,
// CUDA_ERROR_NO_BINARY_FOR_GPU (code for a GPU that is real).
CUresult LoadCode(const void* image, std::unique_ptr<Library>* library);

}  // namespace hiera::fake_cuda

// The interpreter's kernels, compiled for the host.
extern "C" const hiera_fake::Module hiera_fake_interpreter;

#endif  // HIERA_TESTS_FAKE_CUDA_CODE_H_
