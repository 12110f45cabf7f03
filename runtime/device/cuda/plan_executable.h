// A variant's device code and its launch plan as something that can be run.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_PLAN_EXECUTABLE_H_
#define HIERA_RUNTIME_DEVICE_CUDA_PLAN_EXECUTABLE_H_

#include <memory>
#include <string>

#include "runtime/device/cuda/device_state.h"
#include "runtime/device/device.h"
#include "runtime/task/task.h"
#include "runtime/task/variant.h"

namespace hiera::cuda {

// Reads the artifact, loads it into the current context and into the primary one where it is in
// use, and checks kernels, parameters, shared memory and clusters against the device.
//
// Its Run answers kUnavailable, having launched nothing, where a tensor is not aligned as the plan
// says, the current context belongs to another device, or the stream is captured and the plan needs
// a workspace or its code is not loaded in that context yet; also where an earlier fault has broken
// the context. Errors: kInvalidArgument (the plan), kUnavailable (no file), kUnsupported (this
// device cannot), kDeviceError.
Result<std::unique_ptr<Executable>> LoadPlan(std::shared_ptr<DeviceState> state, const Task& task,
                                             const LaunchPlan& plan,
                                             const std::string& artifact_path);

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_PLAN_EXECUTABLE_H_
