#include "runtime/evaluator/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

constexpr int kFirstDescriptor = 3;

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& s : strings) pointers.push_back(const_cast<char*>(s.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void Limit(int resource, int64_t value) {
  if (value <= 0) return;
  const rlimit limit = {static_cast<rlim_t>(value), static_cast<rlim_t>(value)};
  setrlimit(static_cast<__rlimit_resource>(resource), &limit);
}

// What the child needs, prepared before the fork: afterwards it may neither allocate nor lock.
struct Plan {
  const ChildOptions& options;
  std::vector<char*> arguments, environment;
  std::vector<int> descriptors;  // above every number that they will take
  int output_fd;
  int null_fd;
  int failure_fd;  // close-on-exec; tells errno
  pid_t parent;
};

[[noreturn]] void Fail(const Plan& plan) {
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(plan.failure_fd, &error, sizeof error);
  _exit(127);
}

[[noreturn]] void BecomeChild(const Plan& plan) {
  const ChildOptions& options = plan.options;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != plan.parent) _exit(127);
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int s = 1; s < 32; ++s) signal(s, SIG_DFL);

  if (options.nice > 0) {
    [[maybe_unused]] const int now = nice(options.nice);
    const sched_param batch = {0};
    sched_setscheduler(0, SCHED_BATCH, &batch);
  }
  Limit(RLIMIT_AS, options.address_space_bytes);
  Limit(RLIMIT_FSIZE, options.file_bytes);
  Limit(RLIMIT_CPU, options.cpu_seconds);
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);

  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) Fail(plan);
  if (dup2(plan.null_fd, 0) < 0 || dup2(plan.output_fd, 1) < 0 || dup2(plan.output_fd, 2) < 0) {
    Fail(plan);
  }
  int next = kFirstDescriptor;
  for (const int fd : plan.descriptors) {
    if (dup2(fd, next++) < 0) Fail(plan);
  }
  // Everything else is close-on-exec, the failure pipe too; this also covers what is not.
  syscall(SYS_close_range, static_cast<unsigned>(next), ~0u, 4 /* CLOSE_RANGE_CLOEXEC */);
  execve(options.program.c_str(), plan.arguments.data(), plan.environment.data());
  Fail(plan);
}

class Descriptors {
 public:
  ~Descriptors() {
    for (const int fd : all_) close(fd);
  }
  int Keep(int fd) {
    if (fd >= 0) all_.push_back(fd);
    return fd;
  }

 private:
  std::vector<int> all_;
};

}  // namespace

Result<ChildProcess> ChildProcess::Start(const ChildOptions& options) {
  Descriptors held;
  Plan plan{options, Pointers(options.arguments), Pointers(options.environment), {}, -1, -1, -1, 0};
  const int above = kFirstDescriptor + static_cast<int>(options.descriptors.size());
  for (const int fd : options.descriptors) {
    plan.descriptors.push_back(held.Keep(fcntl(fd, F_DUPFD_CLOEXEC, above)));
  }
  plan.null_fd = held.Keep(open("/dev/null", O_RDWR | O_CLOEXEC));
  plan.output_fd = options.output_fd >= 0 ? options.output_fd : plan.null_fd;
  plan.output_fd = held.Keep(fcntl(plan.output_fd, F_DUPFD_CLOEXEC, above));
  int failure[2];
  if (plan.null_fd < 0 || plan.output_fd < 0 || pipe2(failure, O_CLOEXEC) != 0) {
    return Unavailable(std::string("cannot start a process: ") + std::strerror(errno));
  }
  held.Keep(failure[0]);
  plan.failure_fd = fcntl(failure[1], F_DUPFD_CLOEXEC, above);
  close(failure[1]);
  plan.parent = getpid();

  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  if (pid == 0) BecomeChild(plan);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  close(plan.failure_fd);
  if (pid < 0) return Unavailable(std::string("cannot fork: ") + std::strerror(error));

  ChildProcess child;
  child.pid_ = pid;
  int child_error = 0;
  ssize_t got;
  do {
    got = read(failure[0], &child_error, sizeof child_error);
  } while (got < 0 && errno == EINTR);
  if (got != 0) {
    return Unavailable("cannot execute " + options.program + ": " + std::strerror(child_error));
  }
  return child;
}

bool ChildProcess::Wait(int timeout_ms) {
  if (pid_ < 0 || ended_) return true;
  const int64_t deadline = MonotonicNs() + int64_t{timeout_ms} * 1'000'000;
  const int pid_fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  for (;;) {
    int status = 0;
    const pid_t got = waitpid(pid_, &status, WNOHANG);
    if (got == pid_ || (got < 0 && errno == ECHILD)) {
      ended_ = true;
      wait_status_ = status;
      break;
    }
    int wait_ms = -1;
    if (timeout_ms >= 0) {
      const int64_t left = deadline - MonotonicNs();
      if (left <= 0) break;
      wait_ms = static_cast<int>(left / 1'000'000) + 1;
    }
    pollfd poll_fd = {pid_fd, POLLIN, 0};
    // Without process descriptors (an old kernel) look every 2 ms.
    poll(&poll_fd, pid_fd >= 0 ? 1 : 0,
         pid_fd >= 0 ? wait_ms : (wait_ms < 0 ? 2 : std::min(wait_ms, 2)));
  }
  if (pid_fd >= 0) close(pid_fd);
  return ended_;
}

std::string ChildProcess::EndText() const {
  if (WIFSIGNALED(wait_status_)) {
    const int number = WTERMSIG(wait_status_);
    return "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
  }
  return "exited with status " + std::to_string(WEXITSTATUS(wait_status_));
}

void ChildProcess::Kill() {
  if (pid_ < 0) return;
  // The number of a group stays taken while any member of it, or the unreaped leader, is there.
  if (!ended_) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    Wait(-1);
  }
}

void ChildProcess::Pause() const {
  if (pid_ >= 0 && !ended_) kill(-pid_, SIGSTOP);
}

void ChildProcess::Resume() const {
  if (pid_ >= 0 && !ended_) kill(-pid_, SIGCONT);
}

}  // namespace hiera
