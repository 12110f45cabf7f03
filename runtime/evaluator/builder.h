// Builder: turns the source of candidates into shared objects with the system's compilers, and into
// code for a GPU with NVRTC, in a child of the evaluator's own program. Two builds run at once, at
// a low priority, each in a process group that is killed at its deadline.
//
// What is built is named by its content (SHA-256) and remembered by what it was built from
// (compiler, flags, source), so that nothing is built twice while the work folder lasts, and so
// that no two objects ever share a name: a dynamic linker takes equal names for equal code.
//
// Not thread-safe. Owns the subfolders build/, built/ and objects/ of its work folder.
#ifndef HIERA_RUNTIME_EVALUATOR_BUILDER_H_
#define HIERA_RUNTIME_EVALUATOR_BUILDER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "runtime/base/environment.h"
#include "runtime/base/status.h"
#include "runtime/evaluator/child_process.h"
#include "runtime/evaluator/compilers.h"
#include "runtime/task/candidate.h"
#include "runtime/task/contract.h"

namespace hiera {

struct BuildResult {
  bool ok = false;
  std::string detail;  // why not: the compiler's words, shortened
  std::string path;    // of the object, absolute
  std::string sha256;
  double seconds = 0;  // 0: it had been built before
};

class Builder {
 public:
  // Makes the subfolders. Errors: kUnavailable.
  static Result<Builder> Make(const std::string& work_path, const Environment& environment);
  Builder(Builder&&) = default;
  Builder& operator=(Builder&&) = default;

  const Compilers& compilers() const { return compilers_; }

  // Queues a build and starts it if fewer than two are running. `seconds` is its wall budget from
  // its own start on; `nice` its priority; `architecture` what NVRTC compiles for ("sm_90a"), ""
  // where there is no GPU or no NVRTC. Tickets are never reused.
  int Start(const Candidate& candidate, Arithmetic arithmetic, double seconds, int nice,
            const std::string& architecture = {});
  // Drives all builds until this one has ended, or until the deadline, where there is one: then it
  // is a failure that says so. Each ticket is taken once.
  BuildResult Take(int ticket, int64_t deadline_ns = 0);
  // Looks after running builds without waiting: starts queued ones, ends late ones.
  void Poll();
  // Stops and continues the running compilers, so that they do not disturb a measurement; the time
  // between does not count against their budgets.
  void Pause();
  void Resume();
  // Kills and forgets everything that was not taken.
  void Abandon();

 private:
  struct Job {
    std::string key;  // of what it is built from
    std::string source;
    std::string source_name, built_name;  // in its folder
    std::string suffix;                   // of the kept object
    std::vector<std::string> command;
    std::vector<std::string> environment;  // beside that of compilers
    double seconds = 0;
    int nice = 0;
    ChildProcess child;
    std::string folder;
    int log_fd = -1;
    int64_t started_ns = 0, deadline_ns = 0;
    bool running = false, done = false;
    BuildResult result;
  };

  Builder() = default;
  // What is to be done for a candidate. Errors: kInvalidArgument, kUnavailable.
  Status PlanHostBuild(const Candidate& candidate, Arithmetic arithmetic, Job& job) const;
  Status PlanDeviceBuild(const Candidate& candidate, Arithmetic arithmetic,
                         const std::string& architecture, Job& job) const;
  bool Remembered(Job& job) const;
  void Launch(int ticket, Job& job);
  void Finish(Job& job, bool late);
  BuildResult Collect(const Job& job) const;

  Environment environment_;
  Compilers compilers_;
  std::string work_path_;
  std::map<int, Job> jobs_;
  std::deque<int> queue_;
  int next_ticket_ = 1;
  int64_t paused_ns_ = 0;  // since when; 0: not paused
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_BUILDER_H_
