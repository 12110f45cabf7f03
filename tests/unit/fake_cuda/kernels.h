// Sources compiled by the fictional NVRTC and loaded into the fictional driver, for its own tests.
#ifndef HIERA_TESTS_UNIT_FAKE_CUDA_KERNELS_H_
#define HIERA_TESTS_UNIT_FAKE_CUDA_KERNELS_H_

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/device/cuda/driver.h"
#include "runtime/evaluator/device_compiler.h"
#include "tests/gpu/gpu.h"

namespace hiera::gpu {

// A kernel of a source; ends the test where there is none.
inline CUfunction Compiled(const std::string& source, const char* name) {
  static std::map<std::string, CUlibrary> libraries;
  CUlibrary& library = libraries[source];
  if (library == nullptr) {
    const auto compiler = DeviceCompiler::Open();
    if (!compiler.ok()) throw std::runtime_error(compiler.status().message());
    const auto code = (*compiler)->Compile(source, "sm_90a", {});
    if (!code.ok()) throw std::runtime_error(code.status().message());
    Check(
        Cuda().cuLibraryLoadData(&library, code->c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "loading");
  }
  CUkernel kernel = nullptr;
  Check(Cuda().cuLibraryGetKernel(&kernel, library, name), name);
  return reinterpret_cast<CUfunction>(kernel);
}

struct Shape {
  unsigned blocks = 1, threads = 32, shared_bytes = 0;
  CUstream stream = nullptr;
};

// The result of the launch itself.
template <typename... A>
CUresult Launch(CUfunction kernel, const Shape& shape, A... arguments) {
  void* each[] = {&arguments..., nullptr};
  return Cuda().cuLaunchKernel(kernel, shape.blocks, 1, 1, shape.threads, 1, 1, shape.shared_bytes,
                               shape.stream, each, nullptr);
}

template <typename T>
std::vector<T> Contents(const Memory& memory, size_t count) {
  std::vector<T> values(count);
  memory.Read(values.data(), count * sizeof(T));
  return values;
}

}  // namespace hiera::gpu

#endif  // HIERA_TESTS_UNIT_FAKE_CUDA_KERNELS_H_
