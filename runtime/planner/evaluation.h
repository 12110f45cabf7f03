// Evaluation: what the planner asks of the evaluator process, as an interface, so that the search
// can be tested with a fictional evaluator. Not thread-safe.
#ifndef HIERA_RUNTIME_PLANNER_EVALUATION_H_
#define HIERA_RUNTIME_PLANNER_EVALUATION_H_

#include <functional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/ipc/messages.h"

namespace hiera {

class Evaluation {
 public:
  virtual ~Evaluation() = default;

  // Measures the machine. Blocks for up to a few seconds.
  virtual Result<MachineReport> Machine() = 0;

  // What the device's libraries offer for a task. May take seconds where they are opened for it.
  // Errors: kUnavailable with the reason.
  virtual Result<EnumerateReport> Enumerate(const EnumerateRequest& request) = 0;

  // Judges the request's candidates in order; exactly one report for each, also where the evaluator
  // dies or hangs: the candidate it was at is charged with that, and the rest go to a new
  // evaluator. `seen` is called with each report as it comes; where it returns false the rest is
  // left out.
  virtual std::vector<JudgeReport> Judge(const JudgeRequest& request,
                                         const std::function<bool(const JudgeReport&)>& seen) = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_EVALUATION_H_
