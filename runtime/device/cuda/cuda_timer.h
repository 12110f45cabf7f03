// CudaTimer: times what runs on a stream between two events. See CallTimer.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_CUDA_TIMER_H_
#define HIERA_RUNTIME_DEVICE_CUDA_CUDA_TIMER_H_

#include <memory>

#include "runtime/device/cuda/device_state.h"
#include "runtime/device/device.h"

namespace hiera::cuda {

// The events are made at the first Begin, in the context of that call. Not to be used on a stream
// that is captured.
class CudaTimer final : public CallTimer {
 public:
  explicit CudaTimer(std::shared_ptr<DeviceState> state) : state_(std::move(state)) {}
  ~CudaTimer() override;

  void Begin(void* stream) noexcept override;
  void End(void* stream) noexcept override;
  double ElapsedNs() noexcept override;

 private:
  const std::shared_ptr<DeviceState> state_;
  CUevent begin_ = nullptr, end_ = nullptr;
  CUresult result_ = CUDA_ERROR_NOT_READY;  // of the recordings; not ready: none yet
};

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_CUDA_TIMER_H_
