// Judge: says of candidates whether they build, are right, and are faster than what there is. It
// never runs a candidate itself: workers do, one process per candidate, and the judge looks at what
// they leave in shared memory. References, inputs and expectations stay with the judge.
//
// Not thread-safe. The device must outlive it.
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
#include "runtime/evaluator/prepared_task.h"
#include "runtime/evaluator/statistics.h"
#include "runtime/evaluator/worker_process.h"
#include "runtime/ipc/messages.h"

namespace hiera {

struct JudgeOptions {
  std::string work_path;       // for builds; belongs to the evaluator
  std::string artifacts_path;  // "" or a folder that variants may load from beside their own
  std::string worker_program;  // started with --worker
  // The most that the trials of all cached tasks may take; 0: a quarter of what is free when a task
  // comes, at most 8 GiB.
  int64_t memory_bytes = 0;
};

class Judge {
 public:
  // Errors: kUnavailable (the work folder can't be used).
  static Result<std::unique_ptr<Judge>> Make(Device& device, const JudgeOptions& options);

  // Measures the machine, and remembers it in the work folder.
  MachineReport Machine();

  // Judges the candidates in order and hands each report over as soon as it is there. Stops early
  // where `report` says false (nobody listens any more).
  void Handle(const JudgeRequest& request, const std::function<bool(const JudgeReport&)>& report);

 private:
  // One candidate on its way through worker, verification and measurement.
  struct Hearing {
    PreparedTask& prepared;
    PreparedTask::Course course;
    const JudgeRequest& request;
    const Candidate& candidate;
    const BuildResult& build;
    WorkerProcess worker;
    std::vector<uint32_t> positions;  // of every trial among the worker's; by trial number
    JudgeReport& report;
  };
  // Why a hearing ends before its time.
  using MaybeFinding = std::optional<Finding>;

  Judge(Device& device, JudgeOptions options, Builder builder);

  Result<PreparedTask*> Prepare(const std::string& canonical);
  void JudgeOne(PreparedTask& prepared, const JudgeRequest& request, const BuildResult& build,
                JudgeReport& report);
  // The whole course of one worker: start, verify, measure, verify again.
  MaybeFinding Hear(PreparedTask& prepared, const JudgeRequest& request, const BuildResult& build,
                    JudgeReport& report);
  MaybeFinding StartWorker(Hearing& hearing);
  MaybeFinding Verify(Hearing& hearing, uint32_t trial);
  // Whether a run of that time is so slow that the rest is not worth its time.
  MaybeFinding GiveUp(Hearing& hearing, double run_ns) const;
  MaybeFinding Measure(Hearing& hearing);
  MaybeFinding CheckClock(Hearing& hearing);
  // As WorkerProcess::Ask, within the time that the request leaves.
  WorkerProcess::Outcome Ask(Hearing& hearing, const WorkerRequest& request, double seconds);
  double RunTimeout(const Hearing& hearing) const;
  double SecondsLeft() const;
  const MachineFacts& Facts();
  int BuildNice() const;
  // Waits while the key has had its share and others need the processors.
  void WaitForTurn();

  Device& device_;
  JudgeOptions options_;
  Builder builder_;
  std::optional<MachineReport> machine_;
  std::list<std::unique_ptr<PreparedTask>> tasks_;  // most recently used first
  Duty duty_;
  int64_t idle_until_ns_ = 0;  // others did not need the processors when last looked at
  int64_t deadline_ns_ = 0;    // of the request at hand; 0: none
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_JUDGE_H_
