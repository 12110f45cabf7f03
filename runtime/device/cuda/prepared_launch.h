// PreparedLaunch: one step of a launch plan, with everything in place that does not change from run
// to run. Immutable once made; any thread.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_PREPARED_LAUNCH_H_
#define HIERA_RUNTIME_DEVICE_CUDA_PREPARED_LAUNCH_H_

#include <string>
#include <vector>

#include "runtime/device/cuda/device_state.h"
#include "runtime/device/device.h"
#include "runtime/task/cuda_plan.h"

namespace hiera::cuda {

class PreparedLaunch {
 public:
  // A launch of `kernel`, or a fill where `kernel` is null. Sets the kernel's limits for dynamic
  // shared memory and clusters on this device. Errors: kInvalidArgument (parameters that are not
  // the kernel's), kUnsupported (more than the device has), kDeviceError.
  static Result<PreparedLaunch> Make(const DeviceState& state, const CudaStep& step,
                                     CUkernel kernel);

  CUresult Run(const Driver& driver, const Call& call, CUdeviceptr workspace) const noexcept;

 private:
  struct Patch {
    CudaArgument::Kind kind;
    DType type;
    int number;
    uint32_t at;
    uint64_t offset;
  };

  Status PlaceArguments(const Driver& driver, const CudaStep& step);
  void Patched(const Call& call, CUdeviceptr workspace, char* block) const noexcept;

  CUkernel kernel_ = nullptr;
  uint64_t fill_offset_ = 0, fill_bytes_ = 0;
  CUlaunchConfig config_ = {};
  std::vector<CUlaunchAttribute> attributes_;
  std::vector<char> block_;  // the parameters, constants in place
  std::vector<Patch> patches_;
};

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_PREPARED_LAUNCH_H_
