#include "runtime/ipc/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "runtime/base/environment.h"

// glibc's clone() by its other name. Sanitizers intercept `clone` and run their own code in the
// child, which must not happen in one that shares the parent's memory.
extern "C" int __clone(int (*function)(void*), void* stack, int flags, void* argument, ...);

// For what runs in the children: their stacks are unknown to the sanitizers.
#define HIERA_IN_CHILD __attribute__((no_sanitize("address", "thread", "undefined")))

namespace hiera {
namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr int kSignals = 64;
constexpr size_t kSignalSetBytes = kSignals / 8;  // as the kernel counts

// Everything the children need, prepared by the parent, whose memory they share. Both children are
// started with CLONE_VFORK, so that at each moment only one of the three runs.
struct Plan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  char* second_stack_top;
  int error = 0;  // why the program could not be executed
};

// The kernel's own structure; glibc's differs.
struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};

// Only raw system calls from here on: nothing that takes a lock, allocates, or is intercepted.

HIERA_IN_CHILD void CloseFrom(unsigned first) {
  if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  rlimit limit{};
  unsigned end = 1 << 16;
  if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit) == 0 && limit.rlim_cur < end) {
    end = static_cast<unsigned>(limit.rlim_cur);
  }
  for (unsigned fd = first; fd < end; ++fd) syscall(SYS_close, fd);
}

HIERA_IN_CHILD void ResetSignals() {
  const KernelSigaction by_default{};  // SIG_DFL is zero
  for (int signal = 1; signal <= kSignals; ++signal) {
    syscall(SYS_rt_sigaction, signal, &by_default, nullptr, kSignalSetBytes);
  }
  const uint64_t none = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, kSignalSetBytes);
}

HIERA_IN_CHILD int BecomeProgram(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  syscall(SYS_setsid);
  syscall(SYS_umask, 077);
  syscall(SYS_chdir, "/");
  const sched_param ordinary{};
  syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &ordinary);
  syscall(SYS_setpriority, PRIO_PROCESS, 0, 0);  // where it may be raised
  const long null = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
  if (null >= 0) {
    for (int fd = 0; fd <= 2; ++fd) {
      if (null != fd) syscall(SYS_dup3, null, fd, 0);
    }
    CloseFrom(3);
    ResetSignals();
    syscall(SYS_execve, plan.program, plan.arguments, plan.environment);
  }
  plan.error = errno;
  syscall(SYS_exit_group, 127);
  return 127;
}

// Its only purpose is to end: the program's parent is then whoever adopts orphans.
HIERA_IN_CHILD int BecomeIntermediate(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  if (__clone(BecomeProgram, plan.second_stack_top, CLONE_VM | CLONE_VFORK, argument) < 0) {
    plan.error = errno;
  }
  syscall(SYS_exit_group, 0);
  return 0;
}

// Memory for the two stacks, each with a guard page below it.
class Stacks {
 public:
  Stacks() {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_ = 2 * (page + kStackBytes);
    void* memory = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory == MAP_FAILED) return;
    base_ = static_cast<char*>(memory);
    first_top_ = base_ + page + kStackBytes;
    second_top_ = base_ + size_;
    for (char* top : {first_top_, second_top_}) {
      if (mprotect(top - kStackBytes, kStackBytes, PROT_READ | PROT_WRITE) != 0)
        first_top_ = nullptr;
    }
  }
  ~Stacks() {
    if (base_ != nullptr) munmap(base_, size_);
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  bool usable() const { return first_top_ != nullptr; }
  char* first_top() const { return first_top_; }
  char* second_top() const { return second_top_; }

 private:
  char* base_ = nullptr;
  size_t size_ = 0;
  char* first_top_ = nullptr;
  char* second_top_ = nullptr;
};

// What makes the dynamic loader put the application's objects into every program.
bool IsLoaderInjection(std::string_view entry) {
  return entry.starts_with("LD_PRELOAD=") || entry.starts_with("LD_AUDIT=");
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Clones with every signal blocked: a handler of the application must not run in a child that
// shares its memory. Returns what clone returned, or minus errno.
long CloneAndReap(Plan& plan, char* stack_top) {
  uint64_t all = ~uint64_t{0}, before = 0;
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, kSignalSetBytes);
  // The exit signal is 0: no SIGCHLD, and no wait without __WCLONE sees it.
  const int pid = __clone(BecomeIntermediate, stack_top, CLONE_VM | CLONE_VFORK, &plan);
  const int error = errno;
  if (pid > 0) {
    // It has ended already. Where somebody else's __WALL took it, there is nothing left to do.
    while (waitpid(pid, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  }
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, nullptr, kSignalSetBytes);
  return pid > 0 ? pid : -error;
}

}  // namespace

Status SpawnUnseen(const std::string& program, const std::vector<std::string>& arguments) {
  // The child leaves the current folder before it executes the program.
  const std::unique_ptr<char, void (*)(void*)> absolute(realpath(program.c_str(), nullptr), free);
  if (absolute == nullptr) return Unavailable(program + ": " + std::strerror(errno));

  std::vector<std::string> words{program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables;
  for (const std::string& entry : GetEnvironment().all) {
    if (!IsLoaderInjection(entry)) variables.push_back(entry);
  }
  const std::vector<char*> argument_pointers = Pointers(words);
  const std::vector<char*> variable_pointers = Pointers(variables);
  const Stacks stacks;
  if (!stacks.usable()) return OutOfMemory("no memory for starting " + program);

  Plan plan{absolute.get(), argument_pointers.data(), variable_pointers.data(),
            stacks.second_top()};
  const long cloned = CloneAndReap(plan, stacks.first_top());
  if (cloned < 0) {
    return Unavailable("clone: " + std::string(std::strerror(static_cast<int>(-cloned))));
  }
  if (plan.error != 0) return Unavailable(program + ": " + std::strerror(plan.error));
  return {};
}

}  // namespace hiera
