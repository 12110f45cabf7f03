// The interpreter of formulas on a CUDA device: runs any task at once, with nothing compiled. It
// queues one launch a stage, and takes memory for what lies between stages in the stream's order.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_INTERPRETER_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_INTERPRETER_H_

#include <array>
#include <memory>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/device/cuda/device_state.h"
#include "runtime/device/device.h"
#include "runtime/task/task.h"

namespace hiera::cuda {

// The interpreter's kernels on one device; made once, shared by its interpreters.
class InterpreterKernels {
 public:
  enum Kernel { kF32, kF64, kFarF32, kFarF64, kScanF32, kScanF64, kScanI64, kKernels };

  // `code`: as InterpreterCode. Errors: kDeviceError.
  static Result<std::shared_ptr<const InterpreterKernels>> Load(DeviceState& state,
                                                                std::string_view code);

  CUkernel operator[](Kernel kernel) const { return kernels_[kernel]; }
  const Residence& residence() const { return residence_; }

 private:
  explicit InterpreterKernels(const std::array<CUkernel, kKernels>& kernels)
      : kernels_(kernels), residence_({kernels.begin(), kernels.end()}) {}

  const std::array<CUkernel, kKernels> kernels_;
  const Residence residence_;
};

// An executable of a valid task. Its Run fails where a tensor is not aligned to its element or the
// current context belongs to another device (kInvalidArgument), and where the device does. It may
// be captured; what lies between stages then belongs to the graph. Errors: kUnsupported,
// kOutOfMemory, kDeviceError.
Result<std::unique_ptr<Executable>> MakeInterpreter(
    std::shared_ptr<DeviceState> state, std::shared_ptr<const InterpreterKernels> kernels,
    const Task& task);

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_INTERPRETER_H_
