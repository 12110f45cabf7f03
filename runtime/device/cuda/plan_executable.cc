#include "runtime/device/cuda/plan_executable.h"

#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/device/cuda/prepared_launch.h"
#include "runtime/task/cuda_plan.h"

namespace hiera::cuda {
namespace {

// Errors that speak of the launch itself. Others come from work before it, on this stream or
// another, and are not the variant's doing.
bool IsOfTheLaunch(CUresult result) {
  switch (result) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_INVALID_CLUSTER_SIZE:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING:
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE:
    case CUDA_ERROR_NOT_SUPPORTED:
      return true;
    default:
      return false;
  }
}

class PlanExecutable final : public Executable {
 public:
  PlanExecutable(std::shared_ptr<DeviceState> state, std::vector<PreparedLaunch> launches,
                 std::vector<CUkernel> kernels, int64_t alignment, int tensors,
                 int64_t workspace_bytes)
      : state_(std::move(state)),
        launches_(std::move(launches)),
        residence_(std::move(kernels)),
        misaligned_bits_(static_cast<uintptr_t>(alignment - 1)),
        tensors_(tensors),
        workspace_bytes_(workspace_bytes) {}

  hiera_status Run(const Call& call) const noexcept override {
    uintptr_t bits = 0;
    for (int t = 0; t < tensors_; ++t) bits |= reinterpret_cast<uintptr_t>(call.pointers[t]);
    if ((bits & misaligned_bits_) != 0) return HIERA_UNAVAILABLE;
    CUcontext context = nullptr;
    if (state_->driver().CtxGetCurrent(&context) != CUDA_SUCCESS) return HIERA_UNAVAILABLE;
    if (residence_.Has(context)) [[likely]]
      return workspace_bytes_ == 0 ? Launch(call, 0) : LaunchWithWorkspace(call);
    return RunElsewhere(call);
  }

  // Loads the kernels in the contexts that exist now.
  Status LoadNow() const;

 private:
  hiera_status Launch(const Call& call, CUdeviceptr workspace) const noexcept;
  hiera_status LaunchWithWorkspace(const Call& call) const noexcept;
  hiera_status RunElsewhere(const Call& call) const noexcept;

  const std::shared_ptr<DeviceState> state_;
  const std::vector<PreparedLaunch> launches_;
  const Residence residence_;
  const uintptr_t misaligned_bits_;
  const int tensors_;
  const int64_t workspace_bytes_;
};

// Once a step is queued, the outputs may be written: a later failure is the variant's.
hiera_status PlanExecutable::Launch(const Call& call, CUdeviceptr workspace) const noexcept {
  bool queued = false;
  for (const PreparedLaunch& launch : launches_) {
    const CUresult result = launch.Run(state_->driver(), call, workspace);
    if (result != CUDA_SUCCESS) {
      return queued || IsOfTheLaunch(result) ? HIERA_DEVICE_ERROR : HIERA_UNAVAILABLE;
    }
    queued = true;
  }
  return HIERA_OK;
}

hiera_status PlanExecutable::LaunchWithWorkspace(const Call& call) const noexcept {
  const auto stream = static_cast<CUstream>(call.stream);
  // Two graphs that are replayed at once would share what one capture was given.
  if (IsCaptured(state_->driver(), stream)) return HIERA_UNAVAILABLE;
  const StreamMemory memory(*state_, workspace_bytes_, stream);
  if (memory.result() != CUDA_SUCCESS) return HIERA_UNAVAILABLE;
  return Launch(call, memory.address());
}

// In a context where the kernels may not be loaded yet, or in none.
hiera_status PlanExecutable::RunElsewhere(const Call& call) const noexcept {
  const Driver& driver = state_->driver();
  const EnsuredContext ensured(*state_);
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (!ensured.ok() || driver.CtxGetDevice(&device) != CUDA_SUCCESS ||
      device != state_->facts().device || driver.CtxGetCurrent(&context) != CUDA_SUCCESS) {
    return HIERA_UNAVAILABLE;
  }
  if (!residence_.Has(context)) {
    if (IsCaptured(driver, static_cast<CUstream>(call.stream))) return HIERA_UNAVAILABLE;
    if (residence_.Load(driver, context) != CUDA_SUCCESS) return HIERA_UNAVAILABLE;
  }
  return workspace_bytes_ == 0 ? Launch(call, 0) : LaunchWithWorkspace(call);
}

Status PlanExecutable::LoadNow() const {
  const Driver& driver = state_->driver();
  CUcontext current = nullptr;
  CUdevice device = 0;
  if (driver.CtxGetCurrent(&current) == CUDA_SUCCESS && current != nullptr &&
      driver.CtxGetDevice(&device) == CUDA_SUCCESS && device == state_->facts().device) {
    const CUresult result = residence_.Load(driver, current);
    if (result != CUDA_SUCCESS) return Refused(driver, result, "loading code into the context");
  }
  unsigned flags = 0;
  int active = 0;
  if (driver.DevicePrimaryCtxGetState(state_->facts().device, &flags, &active) != CUDA_SUCCESS ||
      active == 0) {
    return {};
  }
  const Result<CUcontext> primary = state_->Primary();
  if (!primary.ok()) return primary.status();
  if (residence_.Has(*primary)) return {};
  CUresult result = driver.CtxPushCurrent(*primary);
  if (result != CUDA_SUCCESS) return Refused(driver, result, "the primary context");
  result = residence_.Load(driver, *primary);
  CUcontext popped = nullptr;
  driver.CtxPopCurrent(&popped);
  if (result != CUDA_SUCCESS) return Refused(driver, result, "loading code into the context");
  return {};
}

Result<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || bytes.empty()) return Unavailable("artifact " + path + " cannot be read");
  return bytes;
}

}  // namespace

Result<std::unique_ptr<Executable>> LoadPlan(std::shared_ptr<DeviceState> state, const Task& task,
                                             const LaunchPlan& plan,
                                             const std::string& artifact_path) {
  Result<CudaPlan> parsed = ParseCudaPlan(plan.text);
  if (!parsed.ok()) return parsed.status();
  if (plan.workspace_bytes < 0) return InvalidArgument("launch plan: workspace_bytes is negative");
  HIERA_RETURN_IF_ERROR(CheckCudaPlan(*parsed, task, plan.workspace_bytes));
  const Result<std::string> code = ReadFile(artifact_path);
  if (!code.ok()) return code.status();
  const Result<CUlibrary> library = state->LoadLibrary(*code);
  if (!library.ok()) return library.status();

  const Driver& driver = state->driver();
  const EnsuredContext context(*state);
  const RelaxedCapture relaxed(driver);
  std::vector<PreparedLaunch> launches;
  std::vector<CUkernel> kernels;
  for (const CudaStep& step : parsed->steps) {
    CUkernel kernel = nullptr;
    if (!step.is_fill) {
      const CUresult result = driver.LibraryGetKernel(&kernel, *library, step.kernel.c_str());
      if (result != CUDA_SUCCESS) return Refused(driver, result, "kernel " + step.kernel);
      kernels.push_back(kernel);
    }
    Result<PreparedLaunch> launch = PreparedLaunch::Make(*state, step, kernel);
    if (!launch.ok()) return launch.status();
    launches.push_back(*std::move(launch));
  }
  if (plan.workspace_bytes > 0) HIERA_RETURN_IF_ERROR(state->PreparePool());
  auto made =
      std::make_unique<PlanExecutable>(std::move(state), std::move(launches), std::move(kernels),
                                       parsed->alignment, task.bound_count, plan.workspace_bytes);
  HIERA_RETURN_IF_ERROR(made->LoadNow());
  return std::unique_ptr<Executable>(std::move(made));
}

}  // namespace hiera::cuda
