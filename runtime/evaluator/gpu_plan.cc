#include "runtime/evaluator/gpu_plan.h"

#include <algorithm>

#include "runtime/evaluator/digest.h"
#include "runtime/task/cuda_plan.h"

namespace hiera {
namespace {

constexpr uint8_t kWorkspacePoison[2] = {0xff, 0x7f};

// The application's tensors are no better aligned than the contract says.
Status CheckAlignment(const CudaPlan& plan, const Task& task) {
  const Layout layout = LayOut(task);
  for (size_t i = 0; i < layout.slots.size(); ++i) {
    if (layout.slots[i].alignment % plan.alignment == 0) continue;
    return Unsupported("its plan wants every tensor aligned to " + std::to_string(plan.alignment) +
                       " bytes; " + task.tensors[i].name + " need only be aligned to " +
                       std::to_string(layout.slots[i].alignment));
  }
  return {};
}

Result<cuda::PreparedLaunch> MakeStep(const cuda::DeviceState& state, CUlibrary library,
                                      const CudaStep& step) {
  const cuda::Driver& driver = state.driver();
  CUkernel kernel = nullptr;
  if (!step.is_fill) {
    CUresult result = driver.LibraryGetKernel(&kernel, library, step.kernel.c_str());
    CUfunction function = nullptr;
    if (result == CUDA_SUCCESS) result = driver.KernelGetFunction(&function, kernel);
    if (result == CUDA_SUCCESS) result = driver.FuncLoad(function);
    if (result != CUDA_SUCCESS) return cuda::Refused(driver, result, "kernel " + step.kernel);
  }
  return cuda::PreparedLaunch::Make(state, step, kernel);
}

}  // namespace

Result<GuardedPlan> GuardedPlan::Make(cuda::DeviceState& state, const GpuStream& stream,
                                      const Task& task, const LaunchPlan& plan,
                                      const std::string& artifact_path) {
  GuardedPlan guarded(stream);
  const Result<CudaPlan> parsed = ParseCudaPlan(plan.text);
  if (!parsed.ok()) return parsed.status();
  HIERA_RETURN_IF_ERROR(CheckCudaPlan(*parsed, task, plan.workspace_bytes));
  HIERA_RETURN_IF_ERROR(CheckAlignment(*parsed, task));
  const Result<std::string> code = ReadFile(artifact_path);
  if (!code.ok()) return code.status();
  const Result<CUlibrary> library = state.LoadLibrary(*code);
  if (!library.ok()) return library.status();
  for (const CudaStep& step : parsed->steps) {
    Result<cuda::PreparedLaunch> launch = MakeStep(state, *library, step);
    if (!launch.ok()) return launch.status();
    guarded.launches_.push_back(*std::move(launch));
  }
  if (plan.workspace_bytes <= 0) return guarded;
  guarded.workspace_bytes_ = plan.workspace_bytes;
  auto block = DeviceBlock::Make(state.driver(), plan.workspace_bytes + 2 * kZoneBytes);
  if (!block.ok()) return block.status();
  guarded.block_ = *std::move(block);
  guarded.before_ = {guarded.block_.address(), kZoneBytes};
  guarded.behind_ = {guarded.workspace() + static_cast<CUdeviceptr>(plan.workspace_bytes),
                     kZoneBytes};
  return guarded;
}

Status GuardedPlan::Prepare(int run) {
  run_ = run;
  if (workspace_bytes_ == 0) return {};
  HIERA_RETURN_IF_ERROR(before_.Fill(*stream_, run));
  HIERA_RETURN_IF_ERROR(behind_.Fill(*stream_, run));
  return stream_->Fill(workspace(), kWorkspacePoison[run], workspace_bytes_);
}

Status GuardedPlan::Run(const Call& call) const {
  const CUdeviceptr address = workspace_bytes_ == 0 ? 0 : workspace();
  for (const cuda::PreparedLaunch& launch : launches_) {
    const CUresult result = launch.Run(stream_->driver(), call, address);
    if (result != CUDA_SUCCESS) return cuda::Refused(stream_->driver(), result, "a launch");
  }
  return {};
}

Result<std::optional<std::string>> GuardedPlan::FindDamage() const {
  if (workspace_bytes_ == 0) return std::optional<std::string>();
  const Result<int64_t> before = before_.FirstChanged(*stream_, run_);
  if (!before.ok()) return before.status();
  if (*before >= 0) {
    return std::optional("wrote " + std::to_string(kZoneBytes - *before) +
                         " bytes before the start of the workspace");
  }
  const Result<int64_t> behind = behind_.FirstChanged(*stream_, run_);
  if (!behind.ok()) return behind.status();
  if (*behind < 0) return std::optional<std::string>();
  return std::optional("wrote " + std::to_string(*behind) +
                       " bytes behind the end of the workspace");
}

}  // namespace hiera
