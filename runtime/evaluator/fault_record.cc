#include "runtime/evaluator/fault_record.h"

#include <signal.h>
#include <ucontext.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace hiera {
namespace {

constexpr int kFaultSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};
constexpr size_t kAlternateStackBytes = 64 << 10;
constexpr greg_t kWriteFault = 2;  // bit 1 of the page fault's error code

FaultRecord* g_record = nullptr;
const std::vector<GuardedRange>* g_ranges = nullptr;

void Describe(const std::byte* address) {
  for (const GuardedRange& range : *g_ranges) {
    if (address < range.guard_begin || address >= range.guard_end) continue;
    g_record->guarded = 1;
    g_record->tensor = range.tensor;
    g_record->offset = address - range.begin;
    g_record->past = address - range.end;
    return;
  }
}

void OnFault(int signal, siginfo_t* info, void* context) {
  if (g_record->signal == 0) {
    g_record->signal = signal;
    if (signal == SIGSYS) g_record->system_call = info->si_syscall;
    if (signal == SIGSEGV || signal == SIGBUS) {
      const ucontext_t* machine = static_cast<const ucontext_t*>(context);
      g_record->is_write = (machine->uc_mcontext.gregs[REG_ERR] & kWriteFault) != 0 ? 1 : 0;
      Describe(static_cast<const std::byte*>(info->si_addr));
    }
  }
  // Not _exit: before a call that is known not to return, the address sanitizer looks into /proc,
  // which the sandbox forbids.
  for (;;) syscall(SYS_exit_group, kFaultExitStatus);
}

}  // namespace

void InstallFaultHandlers(FaultRecord* record, const std::vector<GuardedRange>* ranges) {
  g_record = record;
  g_ranges = ranges;
  // A stack of its own, so that an overflow of the ordinary one can still be told.
  static char* const stack = static_cast<char*>(std::malloc(kAlternateStackBytes));
  const stack_t alternate = {stack, 0, kAlternateStackBytes};
  sigaltstack(&alternate, nullptr);
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  for (const int signal : kFaultSignals) sigaction(signal, &action, nullptr);
}

void UnblockFaultSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kFaultSignals) sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace hiera
