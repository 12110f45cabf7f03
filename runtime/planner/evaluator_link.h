// EvaluatorLink: the evaluator process at the other end of a socket pair. Started at the first
// question, restarted when it dies, killed when it hangs. Owns the process. One thread uses it.
#ifndef HIERA_RUNTIME_PLANNER_EVALUATOR_LINK_H_
#define HIERA_RUNTIME_PLANNER_EVALUATOR_LINK_H_

#include <sys/types.h>

#include <string>

#include "runtime/ipc/channel.h"
#include "runtime/planner/evaluation.h"

namespace hiera {

// What an evaluator is started with.
struct EvaluatorStart {
  std::string program;
  std::string work_path;  // a folder of its own for builds, made by the evaluator
  // How many threads a candidate may use on the host, which is part of the fingerprint that the
  // evaluator then reports.
  int threads = 1;
  std::string gpu;  // the UUID of the only device that the evaluator sees; empty: the host
};

class EvaluatorLink : public Evaluation {
 public:
  explicit EvaluatorLink(EvaluatorStart start) : start_(std::move(start)) {}
  ~EvaluatorLink() override { Stop(); }
  EvaluatorLink(const EvaluatorLink&) = delete;
  EvaluatorLink& operator=(const EvaluatorLink&) = delete;

  Result<MachineReport> Machine() override;
  Result<EnumerateReport> Enumerate(const EnumerateRequest& request) override;
  std::vector<JudgeReport> Judge(const JudgeRequest& request,
                                 const std::function<bool(const JudgeReport&)>& seen) override;

  // Ends the process, if there is one, and waits for it.
  void Stop();

 private:
  Status Start();
  // The next JudgeReport of request `id`, within the deadline.
  Result<JudgeReport> NextReport(uint64_t id, double seconds);

  EvaluatorStart start_;
  Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_EVALUATOR_LINK_H_
