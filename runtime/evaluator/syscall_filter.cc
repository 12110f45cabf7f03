#include "runtime/evaluator/syscall_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>
#include <utility>
#include <vector>

#include "runtime/evaluator/worker_protocol.h"

namespace hiera {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // the sanitizers' own run time needs memory while it runs
#else
constexpr bool kSanitized = false;
#endif

constexpr uint32_t kX32Bit = 0x40000000;

// A classic BPF program over struct seccomp_data: one decision per system call, first match wins.
class Filter {
 public:
  Filter() {
    Load(offsetof(seccomp_data, arch));
    Add(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    Return(SECCOMP_RET_KILL_PROCESS);
    LoadNumber();
    Add(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1);
    Return(SECCOMP_RET_KILL_PROCESS);
  }

  void On(std::initializer_list<int> numbers, uint32_t action) {
    for (const int number : numbers) {
      Add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1);
      Return(action);
    }
  }

  // The low halves of all the named arguments, masked, must be the values named.
  struct Argument {
    int index;
    uint32_t mask, value;
  };
  void OnArguments(int number, const std::vector<Argument>& arguments, uint32_t action) {
    const size_t body = arguments.size() * 3 + 2;
    Add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, static_cast<uint8_t>(body));
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Argument& a = arguments[i];
      Load(offsetof(seccomp_data, args) + sizeof(uint64_t) * a.index);
      Add(BPF_ALU | BPF_AND | BPF_K, a.mask, 0, 0);
      const size_t left = (arguments.size() - 1 - i) * 3;
      Add(BPF_JMP | BPF_JEQ | BPF_K, a.value, 0, static_cast<uint8_t>(left + 1));
    }
    Return(action);
    LoadNumber();
  }

  Status Install(uint32_t otherwise) {
    Return(otherwise);
    sock_fprog program = {static_cast<unsigned short>(code_.size()), code_.data()};
    const long answer =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (answer == 0) return {};
    return Unsupported(std::string("seccomp: ") +
                       (answer > 0 ? "a thread could not follow" : std::strerror(errno)));
  }

 private:
  void Add(int code, uint32_t k, uint8_t yes, uint8_t no) {
    code_.push_back({static_cast<uint16_t>(code), yes, no, k});
  }
  void Load(size_t offset) { Add(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset), 0, 0); }
  void LoadNumber() { Load(offsetof(seccomp_data, nr)); }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, action, 0, 0); }

  std::vector<sock_filter> code_;
};

constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
constexpr uint32_t kTrap = SECCOMP_RET_TRAP;
constexpr uint32_t Answer(int error) { return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error); }

constexpr std::pair<int, const char*> kNames[] = {
    {SYS_fork, "fork"},
    {SYS_vfork, "vfork"},
    {SYS_clone, "clone"},
    {SYS_clone3, "clone3"},
    {SYS_execve, "execve"},
    {SYS_execveat, "execveat"},
    {SYS_socket, "socket"},
    {SYS_connect, "connect"},
    {SYS_kill, "kill"},
    {SYS_tgkill, "tgkill"},
    {SYS_open, "open"},
    {SYS_openat, "openat"},
    {SYS_write, "write"},
    {SYS_read, "read"},
    {SYS_writev, "writev"},
    {SYS_sendto, "sendto"},
    {SYS_unlink, "unlink"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_mprotect, "mprotect"},
    {SYS_mmap, "mmap"},
    {SYS_munmap, "munmap"},
    {SYS_mremap, "mremap"},
    {SYS_rt_sigaction, "rt_sigaction"},
    {SYS_ptrace, "ptrace"},
    {SYS_prctl, "prctl"},
};

}  // namespace

Status ForbidOutsideWorld() {
  Filter filter;
  const uint32_t pid = static_cast<uint32_t>(getpid());
  filter.OnArguments(SYS_clone, {{0, CLONE_THREAD, CLONE_THREAD}}, kAllow);
  filter.OnArguments(SYS_tgkill, {{0, ~0u, pid}}, kAllow);  // abort()
  // glibc falls back to clone, whose flags can be looked at.
  filter.On({SYS_clone3}, Answer(ENOSYS));
  filter.On({SYS_clone, SYS_fork, SYS_vfork, SYS_execve, SYS_execveat}, kTrap);
  filter.On({SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
             SYS_pidfd_send_signal, SYS_pidfd_open, SYS_pidfd_getfd},
            kTrap);
  filter.On({SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4,
             SYS_io_uring_setup},
            kTrap);
  constexpr uint32_t kChanging = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  filter.OnArguments(SYS_open, {{1, kChanging, 0}}, kAllow);
  filter.OnArguments(SYS_openat, {{2, kChanging, 0}}, kAllow);
  filter.On({SYS_open,    SYS_openat,    SYS_openat2,  SYS_creat,     SYS_open_by_handle_at,
             SYS_unlink,  SYS_unlinkat,  SYS_rename,   SYS_renameat,  SYS_renameat2,
             SYS_mkdir,   SYS_mkdirat,   SYS_rmdir,    SYS_link,      SYS_linkat,
             SYS_symlink, SYS_symlinkat, SYS_truncate, SYS_ftruncate, SYS_fallocate,
             SYS_chmod,   SYS_fchmod,    SYS_fchmodat, SYS_chown,     SYS_fchown,
             SYS_lchown,  SYS_fchownat,  SYS_mknod,    SYS_mknodat},
            kTrap);
  filter.On({SYS_ptrace,
             SYS_process_vm_readv,
             SYS_process_vm_writev,
             SYS_bpf,
             SYS_userfaultfd,
             SYS_perf_event_open,
             SYS_keyctl,
             SYS_add_key,
             SYS_request_key,
             SYS_mount,
             SYS_umount2,
             SYS_pivot_root,
             SYS_chroot,
             SYS_setns,
             SYS_unshare,
             SYS_memfd_create,
             SYS_personality,
             SYS_setuid,
             SYS_setgid,
             SYS_setsid,
             SYS_setpgid},
            kTrap);
  if (!kSanitized) filter.On({SYS_prctl}, Answer(EPERM));
  return filter.Install(kAllow);
}

Status ForbidAllButRunning(bool allow_memory) {
  Filter filter;
  filter.On(
      {SYS_futex, SYS_sched_yield, SYS_exit, SYS_exit_group, SYS_rt_sigreturn, SYS_rt_sigprocmask,
       SYS_getpid, SYS_gettid, SYS_clock_gettime, SYS_getrusage, SYS_restart_syscall, SYS_poll},
      kAllow);
  // What a thread does first. One that was started a moment ago may not have come so far.
  filter.On({SYS_set_robust_list, SYS_rseq}, kAllow);
  filter.OnArguments(SYS_prctl, {{0, ~0u, PR_SET_NAME}}, kAllow);
  const uint32_t socket = kWorkerSocket;
  filter.OnArguments(SYS_read, {{0, ~0u, socket}}, kAllow);
  filter.OnArguments(SYS_sendto, {{0, ~0u, socket}}, kAllow);
  filter.OnArguments(SYS_tgkill, {{0, ~0u, static_cast<uint32_t>(getpid())}}, kAllow);
  if (allow_memory || kSanitized) {
    filter.OnArguments(SYS_mmap, {{2, PROT_EXEC, 0}, {3, MAP_FIXED | MAP_ANONYMOUS, MAP_ANONYMOUS}},
                       kAllow);
    filter.On({SYS_munmap, SYS_madvise, SYS_sched_getaffinity}, kAllow);
  } else {
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_DATA, &none);
  }
  filter.On({SYS_brk}, kAllow);  // the limit answers it; the C library takes no error from here
  if (kSanitized) {
    // The thread sanitizer has a thread of its own, which sleeps and looks at the clock.
    filter.On({SYS_mmap, SYS_mprotect, SYS_sigaltstack, SYS_nanosleep, SYS_gettimeofday}, kAllow);
  }
  // Where memory lies is a wish: libraries that state one (OpenBLAS) go on without an answer.
  filter.On({SYS_mbind, SYS_get_mempolicy, SYS_set_mempolicy}, Answer(ENOSYS));
  // A candidate that asks for memory gets none and carries on as it can; changing the protection of
  // what is mapped is an attack.
  filter.On({SYS_mmap, SYS_munmap, SYS_madvise}, Answer(ENOMEM));
  return filter.Install(kTrap);
}

std::string SystemCallName(int number) {
  for (const auto& [known, name] : kNames) {
    if (known == number) return name;
  }
  return "system call " + std::to_string(number);
}

}  // namespace hiera
