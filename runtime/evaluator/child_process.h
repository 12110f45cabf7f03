// ChildProcess: a program that the evaluator started and can always get rid of. The child leads a
// process group of its own, dies with the thread that started it, holds no descriptor but those
// given to it, and is killed with its whole group, and reaped, by the destructor.
// Not thread-safe.
#ifndef HIERA_RUNTIME_EVALUATOR_CHILD_PROCESS_H_
#define HIERA_RUNTIME_EVALUATOR_CHILD_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace hiera {

struct ChildOptions {
  std::string program;                   // a path; no search
  std::vector<std::string> arguments;    // with the name of the program first
  std::vector<std::string> environment;  // all of it: "NAME=value"
  std::string directory;                 // to start in; "" leaves it
  int output_fd = -1;                    // standard output and error; -1: /dev/null
  std::vector<int> descriptors;          // become 3, 4, 5, ... in the child
  int nice = 0;                          // added to the priority; above 0 also a batch schedule
  int64_t address_space_bytes = 0;       // limits; 0: none
  int64_t file_bytes = 0;
  int cpu_seconds = 0;
};

class ChildProcess {
 public:
  ChildProcess() = default;
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    std::swap(ended_, other.ended_);
    std::swap(wait_status_, other.wait_status_);
    return *this;
  }
  ~ChildProcess() { Kill(); }

  // Errors: kUnavailable with the reason, the failure to execute included.
  static Result<ChildProcess> Start(const ChildOptions& options);

  pid_t pid() const { return pid_; }
  // Whether it has ended, waiting up to timeout_ms (negative: for ever). Reaps it.
  bool Wait(int timeout_ms);
  // As waitpid reports it; only once it has ended.
  int wait_status() const { return wait_status_; }
  // "exited with status 1", "was killed by signal 9 (Killed)".
  std::string EndText() const;

  // Ends and reaps the whole group at once.
  void Kill();
  // Stops and continues the whole group.
  void Pause() const;
  void Resume() const;

 private:
  pid_t pid_ = -1;
  bool ended_ = false;
  int wait_status_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_CHILD_PROCESS_H_
