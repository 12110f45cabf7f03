// Generated CUDA code, compiled by NVRTC for the GPU that is there, as an executable.
#ifndef HIERA_TESTS_GPU_GENERATED_CODE_H_
#define HIERA_TESTS_GPU_GENERATED_CODE_H_

#include <memory>
#include <string>
#include <vector>

#include "policies/framework/cuda_loops.h"
#include "runtime/device/device.h"
#include "runtime/task/task.h"

namespace hiera::gpu {

struct GeneratedForm {
  std::string name;
  Result<CudaSource> source;
};

// Every way that the generators write the task, each with what it is called; what they refuse is
// left out.
std::vector<GeneratedForm> GeneratedForms(const Task& task);

// Where the task is a stencil: the sweep that the model likes best on this GPU, and others beside
// it, so that a wrong model shows.
std::vector<GeneratedForm> SweepForms(const Task& task, size_t most);

// Errors: the compiler's or the device's.
Result<std::unique_ptr<Executable>> MakeGenerated(Device& device, const Task& task,
                                                  const CudaSource& source, bool optimised);

}  // namespace hiera::gpu

#endif  // HIERA_TESTS_GPU_GENERATED_CODE_H_
