// WorkerProcess: the judge's side of one worker. Owns the process; destroying it ends it.
// Not thread-safe.
#ifndef HIERA_RUNTIME_EVALUATOR_WORKER_PROCESS_H_
#define HIERA_RUNTIME_EVALUATOR_WORKER_PROCESS_H_

#include <optional>
#include <string>

#include "runtime/base/status.h"
#include "runtime/evaluator/child_process.h"
#include "runtime/evaluator/compare.h"
#include "runtime/evaluator/fault_record.h"
#include "runtime/evaluator/prepared_task.h"
#include "runtime/evaluator/worker_protocol.h"

namespace hiera {

class WorkerProcess {
 public:
  WorkerProcess() = default;
  WorkerProcess(WorkerProcess&& other) noexcept { *this = std::move(other); }
  WorkerProcess& operator=(WorkerProcess&& other) noexcept;
  ~WorkerProcess();

  // Starts `program MODE` ("--worker" or "--gpu-worker") on the trials of a task. Says nothing to
  // it yet. Errors: kUnavailable (our own trouble, not the candidate's).
  static Result<WorkerProcess> Start(const std::string& program, const std::string& mode,
                                     const std::vector<std::string>& environment,
                                     const PreparedTask& prepared);

  // Hands over the setup or a request and waits for the answer. Whatever goes wrong meanwhile is
  // the candidate's doing and comes back as a finding; the worker is then gone, unless it says that
  // it goes on.
  struct Outcome {
    std::optional<Finding> finding;
    WorkerReply reply;
  };
  Outcome SetUp(const WorkerSetup& setup, double timeout_seconds);
  Outcome Ask(const WorkerRequest& request, double timeout_seconds);
  pid_t pid() const { return child_.pid(); }
  bool is_gone() const { return socket_ < 0 || gone_; }
  // Processor time that all its threads have used so far; 0 where it is gone.
  int64_t ProcessorNs() const;

 private:
  Outcome Exchange(const std::string& bytes, double timeout_seconds, Verdict refused);
  Finding DescribeEnd();
  Finding DescribeFault(const FaultRecord& record) const;

  ChildProcess child_;
  int socket_ = -1;
  bool gone_ = false;
  uint64_t secret_ = 0;
  const Task* task_ = nullptr;
  SharedMemory fault_memory_;
  MappedRegion fault_view_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_WORKER_PROCESS_H_
