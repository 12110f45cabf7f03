// GuardedPlan: a candidate's device code, run for verification with a workspace of its own that is
// poisoned and has zones around it. (It is measured as the application runs it, through the CUDA
// device.) Not thread-safe; stream and task must outlive it.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_PLAN_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_PLAN_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/device_state.h"
#include "runtime/device/cuda/prepared_launch.h"
#include "runtime/evaluator/gpu_arena.h"
#include "runtime/evaluator/gpu_stream.h"
#include "runtime/task/task.h"
#include "runtime/task/variant.h"

namespace hiera {

class GuardedPlan {
 public:
  // Loads the code into the current context. Errors: those of the plan's parser and checks,
  // kUnavailable (no file), kUnsupported (a tensor need not be aligned as the plan wants it),
  // kOutOfMemory, kDeviceError.
  static Result<GuardedPlan> Make(cuda::DeviceState& state, const GpuStream& stream,
                                  const Task& task, const LaunchPlan& plan,
                                  const std::string& artifact_path);

  // Fills workspace and zones for one of the two runs of a verification.
  Status Prepare(int run);
  // Queues one run; the stream is that of the plan. Errors: kDeviceError with the driver's name.
  Status Run(const Call& call) const;
  // As GpuArena's.
  Result<std::optional<std::string>> FindDamage() const;

 private:
  explicit GuardedPlan(const GpuStream& stream) : stream_(&stream) {}
  CUdeviceptr workspace() const { return block_.address() + kZoneBytes; }

  const GpuStream* stream_;
  std::vector<cuda::PreparedLaunch> launches_;
  DeviceBlock block_;  // empty where the plan has no workspace
  int64_t workspace_bytes_ = 0;
  GpuZone before_, behind_;
  int run_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_PLAN_H_
