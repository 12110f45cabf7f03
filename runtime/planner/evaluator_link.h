// EvaluatorLink: the evaluator process at the other end of a socket pair. Started at the first
// question, restarted when it dies, killed when it hangs. Owns the process. One thread uses it.
#ifndef HIERA_RUNTIME_PLANNER_EVALUATOR_LINK_H_
#define HIERA_RUNTIME_PLANNER_EVALUATOR_LINK_H_

#include <sys/types.h>

#include <string>

#include "runtime/ipc/channel.h"
#include "runtime/planner/evaluation.h"

namespace hiera {

class EvaluatorLink : public Evaluation {
 public:
  // work_path: a folder of its own for builds, made by the evaluator. threads: how many a candidate
  // may use on the host, which is part of the fingerprint that the evaluator then reports.
  EvaluatorLink(std::string program, std::string work_path, int threads)
      : program_(std::move(program)), work_path_(std::move(work_path)), threads_(threads) {}
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

  std::string program_;
  std::string work_path_;
  int threads_;
  Channel channel_;
  pid_t pid_ = -1;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_EVALUATOR_LINK_H_
