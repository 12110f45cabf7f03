// GpuBench: a GPU worker's side of one task: the device, its context, the trials in its memory, and
// the candidate and incumbent that are loaded. Owned by the worker for its life, used by one
// thread.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_BENCH_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_BENCH_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/device_state.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/compare.h"
#include "runtime/evaluator/gpu_arena.h"
#include "runtime/evaluator/gpu_copies.h"
#include "runtime/evaluator/gpu_monitor.h"
#include "runtime/evaluator/gpu_plan.h"
#include "runtime/evaluator/gpu_stream.h"
#include "runtime/evaluator/shared_memory.h"
#include "runtime/evaluator/worker_protocol.h"
#include "runtime/task/task.h"

namespace hiera {

class GpuBench {
 public:
  // Makes context, stream and trials. The result is what is lacking, "" where nothing is. Errors:
  // kOutOfMemory (the device's memory, with the figures), kUnavailable, kDeviceError.
  Result<std::string> SetUp(const WorkerSetup& setup);

  // Each fills in the reply; a finding is what the candidate is rejected for, or why it cannot be
  // judged. Only after one of Load can another candidate follow.
  using MaybeFinding = std::optional<Finding>;
  MaybeFinding Load(const WorkerRequest& request);
  MaybeFinding RunOnce(const WorkerRequest& request, WorkerReply& reply);
  MaybeFinding Measure(const WorkerRequest& request, WorkerReply& reply);
  MaybeFinding Repeat(const WorkerRequest& request, WorkerReply& reply);

  bool has_candidate() const { return candidate_ != nullptr; }
  // Whether the context still works.
  bool IsSound() const { return stream_ && stream_->Wait().ok(); }

 private:
  Status MapTrials();
  Status TakeMemory(int64_t most_bytes);
  Status LoadIncumbent(const Incumbent& incumbent);
  Status LoadCandidate(const WorkerRequest& request);
  Result<GpuArena*> ArenaOf(uint32_t trial);
  Result<std::optional<std::string>> FindDamage(const GpuArena& arena) const;

  WorkerSetup setup_;
  Task task_;
  Layout layout_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<cuda::DeviceState> state_;
  std::optional<GpuStream> stream_;
  std::unique_ptr<GpuMonitor> monitor_;  // null: no NVML
  std::vector<MappedRegion> inputs_;     // of each trial
  MappedRegion outputs_;
  uint32_t timed_ = 0;            // the trial that is timed
  int64_t workspace_limit_ = 0;   // of a candidate
  std::vector<GpuArena> arenas_;  // as many as there is memory for; most recently used last
  std::optional<GpuCopies> copies_;

  Incumbent loaded_incumbent_{Incumbent::Kind::kNone, {}, "", ""};
  std::unique_ptr<Executable> incumbent_;  // null: none
  std::unique_ptr<Executable> candidate_;
  std::optional<GuardedPlan> guarded_;  // of a candidate that is device code
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_BENCH_H_
