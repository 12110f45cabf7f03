#include "runtime/device/cuda/cuda_device.h"

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/device/cuda/cuda_timer.h"
#include "runtime/device/cuda/device_state.h"
#include "runtime/device/cuda/interpreter/code.h"
#include "runtime/device/cuda/interpreter/interpreter.h"
#include "runtime/device/cuda/plan_executable.h"

namespace hiera {
namespace cuda {
namespace {

class CudaDevice final : public Device {
 public:
  CudaDevice(const Driver& driver, Facts facts)
      : name_("cuda:" + std::to_string(facts.device)),
        fingerprint_(FingerprintOf(facts)),
        state_(std::make_shared<DeviceState>(driver, std::move(facts))) {}

  std::string_view name() const override { return name_; }
  std::string_view uuid() const override { return state_->facts().uuid; }
  const Fingerprint& fingerprint() const override { return fingerprint_; }
  int64_t usual_alignment() const override { return kWideAlignment; }
  int parallelism() const override { return state_->facts().multiprocessors; }

  Result<std::unique_ptr<Executable>> Load(const Task& task, const LaunchPlan& plan,
                                           const std::string& artifact_path) override {
    return LoadPlan(state_, task, plan, artifact_path);
  }
  Result<std::unique_ptr<Executable>> Interpret(const Task& task) override {
    Result<std::shared_ptr<const InterpreterKernels>> kernels = Kernels();
    if (!kernels.ok()) return kernels.status();
    return MakeInterpreter(state_, *std::move(kernels), task);
  }
  std::unique_ptr<CallTimer> MakeTimer() override { return std::make_unique<CudaTimer>(state_); }
  Status InContext(const std::function<Status()>& work) override {
    const EnsuredContext context(*state_);
    return context.ok() ? work() : Unavailable("the device has no context that can be used");
  }
  bool IsCapturing(void* stream) const noexcept override {
    return IsCaptured(state_->driver(), static_cast<CUstream>(stream));
  }

  Status Synchronise(void* stream) override {
    const Driver& driver = state_->driver();
    const EnsuredContext context(*state_);
    const CUresult result = driver.StreamSynchronize(static_cast<CUstream>(stream));
    if (result != CUDA_SUCCESS) return Refused(driver, result, "waiting for a stream");
    return {};
  }

 private:
  // The interpreter's, loaded when they are first asked for.
  Result<std::shared_ptr<const InterpreterKernels>> Kernels() {
    const std::lock_guard lock(mutex_);
    if (kernels_ != nullptr) return kernels_;
    auto loaded = InterpreterKernels::Load(*state_, InterpreterCode());
    if (loaded.ok()) kernels_ = *loaded;
    return loaded;
  }

  const std::string name_;
  const Fingerprint fingerprint_;
  const std::shared_ptr<DeviceState> state_;
  std::mutex mutex_;
  std::shared_ptr<const InterpreterKernels> kernels_;
};

}  // namespace

Result<std::unique_ptr<Device>> MakeDevice(const Driver& driver, std::string_view which) {
  Result<Facts> facts = ChooseDevice(driver, which);
  if (!facts.ok()) return facts.status();
  return std::unique_ptr<Device>(std::make_unique<CudaDevice>(driver, *std::move(facts)));
}

}  // namespace cuda

Result<std::unique_ptr<Device>> MakeCudaDevice(std::string_view which) {
  const Result<const cuda::Driver*> driver = cuda::MachineDriver();
  if (!driver.ok()) return driver.status();
  return cuda::MakeDevice(**driver, which);
}

}  // namespace hiera
