// Judge: says of candidates whether they build, are right, and are faster than what there is. It
// never runs a candidate itself: workers do, one process per candidate on the host and one for many
// candidates of a task on a GPU, and the judge looks at what they leave in shared memory.
// References, inputs and expectations stay with the judge, which makes no context on a GPU.
//
// Not thread-safe. The devices must outlive it.
#ifndef HIERA_RUNTIME_EVALUATOR_JUDGE_H_
#define HIERA_RUNTIME_EVALUATOR_JUDGE_H_

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/builder.h"
#include "runtime/evaluator/compare.h"
#include "runtime/evaluator/duty.h"
#include "runtime/evaluator/gpu_monitor.h"
#include "runtime/evaluator/prepared_task.h"
#include "runtime/evaluator/statistics.h"
#include "runtime/evaluator/worker_process.h"
#include "runtime/ipc/messages.h"

namespace hiera {

struct JudgeOptions {
  std::string work_path;       // for builds; belongs to the evaluator
  std::string artifacts_path;  // "" or a folder that variants may load from beside their own
  std::string worker_program;  // started with --worker, --gpu-worker, --measure-gpu
  // The most that the trials of all cached tasks may take; 0: a quarter of what is free when a task
  // comes, at most 8 GiB.
  int64_t memory_bytes = 0;
  // The most that a GPU worker may take of the device's memory; 0: as above, of what is free there.
  int64_t device_memory_bytes = 0;
};

std::string Nanoseconds(double ns);  // "812 ns", "3.5 ms"

class Judge {
 public:
  // `device` is what is judged on; `host` computes second opinions, and is the same where the host
  // is judged on. Errors: kUnavailable (the work folder can't be used).
  static Result<std::unique_ptr<Judge>> Make(Device& device, Device& host,
                                             const JudgeOptions& options);

  // Measures the machine, and remembers it in the work folder.
  MachineReport Machine();

  // Judges the candidates in order and hands each report over as soon as it is there. Stops early
  // where `report` says false (nobody listens any more).
  void Handle(const JudgeRequest& request, const std::function<bool(const JudgeReport&)>& report);

  // A GPU worker is kept for the next request on its task, with its context and memory.
  bool KeepsWorker() const { return seat_.has_value(); }
  void EndWorker() { seat_.reset(); }

 private:
  // One candidate on its way through worker, verification and measurement.
  struct Hearing {
    PreparedTask& prepared;
    PreparedTask::Course course;
    const JudgeRequest& request;
    const Candidate& candidate;
    const BuildResult& build;
    WorkerProcess own;                // of a candidate of the host
    WorkerProcess* worker = nullptr;  // that runs this candidate
    std::vector<uint32_t> positions;  // of every trial among the worker's; by trial number
    JudgeReport& report;
  };
  // The GPU worker and what it was set up for.
  struct Seat {
    WorkerProcess worker;
    std::string canonical;
    std::vector<bool> trials;  // which of the task's it holds
    int candidates = 0;        // that it has been given
  };
  // Why a hearing ends before its time.
  using MaybeFinding = std::optional<Finding>;

  Judge(Device& device, Device& host, JudgeOptions options, Builder builder);
  bool OnGpu() const { return &device_ != &host_; }
  MachineReport MeasureDevice();
  // Whether the device can be used at all. Errors: kUnavailable.
  Status CheckDevice();

  Result<PreparedTask*> Prepare(const std::string& canonical);
  void JudgeOne(PreparedTask& prepared, const JudgeRequest& request, const BuildResult& build,
                JudgeReport& report);
  // The whole course of one worker: start, verify, measure, verify again.
  MaybeFinding Hear(PreparedTask& prepared, const JudgeRequest& request, const BuildResult& build,
                    JudgeReport& report);
  // On a GPU: whoever is found guilty in a worker that others have used is heard again in a new
  // one.
  MaybeFinding HearFairly(PreparedTask& prepared, const JudgeRequest& request,
                          const BuildResult& build, JudgeReport& report);
  MaybeFinding StartWorker(Hearing& hearing);
  WorkerSetup SetupOf(Hearing& hearing) const;
  MaybeFinding StartOwnWorker(Hearing& hearing);
  MaybeFinding TakeSeat(Hearing& hearing);
  MaybeFinding Verify(Hearing& hearing, uint32_t trial);
  // Whether a run of that time is so slow that the rest is not worth its time.
  MaybeFinding GiveUp(Hearing& hearing, double run_ns) const;
  MaybeFinding Measure(Hearing& hearing);
  MaybeFinding CheckClock(Hearing& hearing);
  MaybeFinding CheckGpuClock(Hearing& hearing);
  // As WorkerProcess::SetUp and Ask, within the time that the request leaves.
  WorkerProcess::Outcome SetUp(WorkerProcess& worker, const WorkerSetup& setup,
                               double seconds) const;
  WorkerProcess::Outcome Ask(Hearing& hearing, const WorkerRequest& request, double seconds);
  double RunTimeout(const Hearing& hearing) const;
  // Below what nothing of the device could be, by bytes and by operations.
  double BytesFloorNs(const Task& task);
  double SecondsLeft() const;
  static Finding OutOfTime();
  const MachineFacts& Facts();
  int BuildNice() const;
  // Waits while the key has had its share and others need the processors.
  void WaitForTurn();

  Device& device_;
  Device& host_;
  JudgeOptions options_;
  Builder builder_;
  std::optional<MachineReport> machine_;
  std::string gpu_trouble_;  // why the GPU could not be measured
  std::list<std::unique_ptr<PreparedTask>> tasks_;  // most recently used first
  std::optional<Seat> seat_;
  bool last_seat_was_used_ = false;  // when it was last taken
  bool told_what_lacks_ = false;
  std::unique_ptr<GpuMonitor> monitor_;  // null: not asked for yet, or no NVML
  Duty duty_;
  int64_t idle_until_ns_ = 0;  // others did not need the processors when last looked at
  int64_t deadline_ns_ = 0;    // of the request at hand; 0: none
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_JUDGE_H_
