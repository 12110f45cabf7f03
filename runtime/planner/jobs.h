// Jobs: the tasks that wait to be planned, and the thread that plans them one after another (the
// device can serve one measurement at a time). At most one job a key, however many ask.
//
// What happens is reported as events, which the server's thread takes with Take(). The event
// descriptor is readable while events wait.
//
// Thread safety: any thread. The catalogue must outlive it.
#ifndef HIERA_RUNTIME_PLANNER_JOBS_H_
#define HIERA_RUNTIME_PLANNER_JOBS_H_

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/ipc/messages.h"
#include "runtime/planner/catalogue.h"
#include "runtime/planner/evaluator_link.h"
#include "runtime/task/task.h"

namespace hiera {

// A message for every session that asked for the key.
struct Event {
  Hash128 key;
  Message message;
};

class Jobs {
 public:
  Jobs(Catalogue& catalogue, std::string evaluator_program, std::string work_path);
  ~Jobs();  // stops the job in progress and joins the thread
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Queues the task unless it is queued or running already. Errors: kUnavailable (too many wait),
  // kInvalidArgument (a device whose name is no UUID: folders and processes are named by it).
  Status Add(const Hash128& key, Task task, const PlanRequest& request);

  // The application measured its baseline.
  void SetBaseline(const Hash128& key, double baseline_ns);

  int event_fd() const { return event_fd_; }
  std::vector<Event> Take();

  // Waiting and running.
  size_t count();
  // One line on what is being done, for `hiera status`.
  std::string Describe();

  // Drops what waits and stops what runs at its next candidate. The task stays unsettled.
  void Cancel();

 private:
  struct Job {
    Hash128 key;
    Task task;
    PlanRequest request;
  };

  void Run();
  void Plan(Job& job);
  // The evaluator for the device that the request names.
  EvaluatorLink& EvaluatorFor(const PlanRequest& request);
  // What the evaluator measured of the device, now or in an earlier life.
  Result<MachineFacts> FactsFor(const PlanRequest& request, EvaluatorLink& evaluator);
  std::string SearchFor(Job& job, const MachineFacts& machine, EvaluatorLink& evaluator);
  void Settle(const Job& job, const std::string& outcome, bool settled);
  void Emit(const Hash128& key, Message message);
  double BaselineNs(const Hash128& key);
  bool cancelled();

  Catalogue& catalogue_;
  const std::string evaluator_program_;
  const std::string work_path_;
  const int event_fd_;

  // By fingerprint and device; of the planning thread alone. They end when nothing is left to do: a
  // GPU's holds memory there.
  std::map<std::pair<std::string, std::string>, std::unique_ptr<EvaluatorLink>> evaluators_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::optional<Hash128> running_;
  std::string running_text_;
  std::map<Hash128, double> baseline_ns_;  // of waiting and running jobs
  std::vector<Event> events_;
  bool cancel_ = false;
  bool stop_ = false;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_JOBS_H_
