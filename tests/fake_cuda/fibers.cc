#include "tests/fake_cuda/fibers.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

// Saves the registers that a call keeps, and the stack pointer in *from; goes on at `to`. What is
// left for good goes on at hiera_fake_resume, with `to` for a stack pointer.
asm(".pushsection .text\n"
    ".type hiera_fake_switch, @function\n"
    "hiera_fake_switch:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "hiera_fake_resume:\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size hiera_fake_switch, . - hiera_fake_switch\n"
    ".popsection\n");
extern "C" {
void hiera_fake_switch(void** from, void* to) __attribute__((visibility("hidden")));
extern const char hiera_fake_resume[] __attribute__((visibility("hidden")));
}

namespace hiera::fake_cuda {
namespace {

constexpr int kWarp = 32;
constexpr size_t kPage = 4096;
constexpr size_t kStackBytes = 128 << 10;  // its lowest page may not be touched
constexpr size_t kFaultStackBytes = 64 << 10;

enum class State : char { kNew, kReady, kAtBlock, kAtWarp, kDone };

struct Fiber {
  State state = State::kNew;
  unsigned exchanges = 0;  // that it has begun
  char* stack = nullptr;
  void* at = nullptr;  // its stack pointer while another runs
};

// What the lanes of a warp pass to each other. Two sets in turn: a lane may be one exchange ahead.
struct Value {
  unsigned exchange = 0;  // which it belongs to, counted from 1 in each block
  std::array<char, 16> bytes;
};
using Passed = std::array<std::array<Value, kWarp>, 2>;

class Stacks {
 public:
  char* Take() {
    if (free_.empty()) return Make();
    char* stack = free_.back();
    free_.pop_back();
    return stack;
  }
  void Give(char* stack) { free_.push_back(stack); }

 private:
  static char* Make() {
    void* made = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED || mprotect(made, kPage, PROT_NONE) != 0) std::abort();
    return static_cast<char*>(made);
  }
  std::vector<char*> free_;
};

// The grid that runs now.
struct Running {
  const GridRun* run = nullptr;
  pthread_t thread = {};
  bool in_fiber = false;
  void* scheduler = nullptr;
  Fiber* fiber = nullptr;
  int index = 0;  // of the fiber in its block
  std::vector<Fiber> fibers;
  std::vector<Passed> passed;  // by warp
  char* shared = nullptr;
  CUresult fault = CUDA_SUCCESS;
};
Running now;

Stacks& FreeStacks() {
  static Stacks& stacks = *new Stacks;
  return stacks;
}

void Yield(State state) {
  now.fiber->state = state;
  now.in_fiber = false;
  hiera_fake_switch(&now.fiber->at, now.scheduler);
}

// Every fiber begins here, by a return, with the stack as a call leaves it.
void Body() {
  now.run->kernel->call(now.run->arguments);
  Yield(State::kDone);
  std::abort();  // nobody resumes what is done
}

void Begin(Fiber* fiber) {
  if (fiber->stack == nullptr) fiber->stack = FreeStacks().Take();
  auto* top = reinterpret_cast<void**>(fiber->stack + kStackBytes) - 1;
  *top = nullptr;  // where Body would return to
  *--top = reinterpret_cast<void*>(&Body);
  top -= 6;  // the registers
  std::memset(top, 0, 6 * sizeof(void*));
  fiber->at = top;
  fiber->exchanges = 0;
}

void Resume(int index) {
  Fiber& fiber = now.fibers[index];
  if (fiber.state == State::kNew) Begin(&fiber);
  const dim3& block = now.run->block;
  const auto t = static_cast<unsigned>(index);
  *now.run->module->thread = {t % block.x, t / block.x % block.y, t / block.x / block.y};
  now.fiber = &fiber;
  now.index = index;
  now.in_fiber = true;
  hiera_fake_switch(&now.scheduler, fiber.at);
  if (fiber.state == State::kDone && now.fault == CUDA_SUCCESS) {
    FreeStacks().Give(fiber.stack);
    fiber.stack = nullptr;
  }
}

// Lets the lanes run until all that are left wait for more than their warp.
void RunWarp(int first, int last, bool backwards) {
  for (bool again = true; again;) {
    int waiting = 0, live = 0;
    for (int turn = first; turn < last; ++turn) {
      const int t = backwards ? first + last - 1 - turn : turn;
      const State state = now.fibers[t].state;
      if (state == State::kNew || state == State::kReady) Resume(t);
      if (now.fault != CUDA_SUCCESS) return;
      waiting += now.fibers[t].state == State::kAtWarp;
      live += now.fibers[t].state != State::kDone;
    }
    again = waiting > 0 && waiting == live;
    for (int t = first; again && t < last; ++t) {
      if (now.fibers[t].state == State::kAtWarp) now.fibers[t].state = State::kReady;
    }
  }
}

// Threads, and warps, take turns in one order up to a barrier and in the other behind it, and
// blocks begin with either in turn: what lacks a barrier gives another result in one of the orders.
void RunBlock(bool backwards) {
  const int threads = static_cast<int>(now.fibers.size());
  const int last_warp = (threads - 1) / kWarp * kWarp;
  for (Fiber& fiber : now.fibers) fiber.state = State::kNew;
  for (Passed& passed : now.passed) passed = {};
  if (now.shared != nullptr) std::memset(now.shared, 0xa5, now.run->shared_bytes);
  for (;; backwards = !backwards) {
    int waiting = 0, live = 0;
    for (int turn = 0; turn < threads; turn += kWarp) {
      const int first = backwards ? last_warp - turn : turn;
      RunWarp(first, std::min(first + kWarp, threads), backwards);
      if (now.fault != CUDA_SUCCESS) return;
    }
    for (const Fiber& fiber : now.fibers) {
      waiting += fiber.state == State::kAtBlock;
      live += fiber.state != State::kDone;
    }
    if (live == 0) return;
    if (waiting != live) {
      std::fprintf(stderr, "fictional GPU: threads of a block of %s wait at different barriers\n",
                   now.run->kernel->name);
      now.fault = CUDA_ERROR_LAUNCH_FAILED;
      return;
    }
    for (Fiber& fiber : now.fibers) {
      if (fiber.state == State::kAtBlock) fiber.state = State::kReady;
    }
  }
}

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
struct sigaction before[std::size(kFaults)];

CUresult ErrorOf(int signal, const siginfo_t& info) {
  switch (signal) {
    case SIGSEGV:
      // What is addressed with the wrong alignment has no address to tell.
      return info.si_code == SI_KERNEL ? CUDA_ERROR_MISALIGNED_ADDRESS : CUDA_ERROR_ILLEGAL_ADDRESS;
    case SIGBUS:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case SIGILL:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

// Leaves the fiber for good: where the handler returns to is behind the scheduler's Resume. What is
// not a kernel's fault goes back to whoever handled it before.
void OnFault(int signal, siginfo_t* info, void* context) {
  if (!now.in_fiber || pthread_equal(now.thread, pthread_self()) == 0) {
    for (size_t i = 0; i < std::size(kFaults); ++i) {
      if (kFaults[i] == signal) sigaction(signal, &before[i], nullptr);
    }
    return;
  }
  now.fault = ErrorOf(signal, *info);
  now.in_fiber = false;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RSP] = reinterpret_cast<greg_t>(now.scheduler);
  registers[REG_RIP] = reinterpret_cast<greg_t>(hiera_fake_resume);
}

// While it lives, faults of this thread's kernels come to OnFault, on a stack of their own: a
// kernel's may be what has no room.
class FaultCatcher {
 public:
  FaultCatcher() {
    static char* const memory = static_cast<char*>(std::malloc(kFaultStackBytes));
    const stack_t stack{memory, 0, kFaultStackBytes};
    sigaltstack(&stack, &stack_before_);
    struct sigaction action = {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (size_t i = 0; i < std::size(kFaults); ++i) sigaction(kFaults[i], &action, &before[i]);
  }
  ~FaultCatcher() {
    for (size_t i = 0; i < std::size(kFaults); ++i) sigaction(kFaults[i], &before[i], nullptr);
    sigaltstack(&stack_before_, nullptr);
  }

 private:
  stack_t stack_before_ = {};
};

// Memory that ends where none is: an access behind the end of what the launch asked for is a fault.
class DynamicShared {
 public:
  explicit DynamicShared(size_t bytes) {
    if (bytes == 0) return;
    const size_t rounded = (bytes + 15) / 16 * 16;
    pages_ = (rounded + kPage - 1) / kPage * kPage;
    memory_ = static_cast<char*>(
        mmap(nullptr, pages_ + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory_ == MAP_FAILED || mprotect(memory_ + pages_, kPage, PROT_NONE) != 0) std::abort();
    now.shared = memory_ + pages_ - rounded;
  }
  ~DynamicShared() {
    if (memory_ != nullptr) munmap(memory_, pages_ + kPage);
    now.shared = nullptr;
  }

 private:
  char* memory_ = nullptr;
  size_t pages_ = 0;
};

void SyncBlock() { Yield(State::kAtBlock); }
void SyncWarp() { Yield(State::kAtWarp); }
int Lane() { return now.index % kWarp; }
void* DynamicSharedMemory() { return now.shared; }

void Exchange(const void* in, void* out, unsigned long bytes, int source) {
  const unsigned exchange = ++now.fiber->exchanges;
  auto& values = now.passed[now.index / kWarp][exchange % 2];
  Value& mine = values[Lane()];
  mine.exchange = exchange;
  std::memcpy(mine.bytes.data(), in, bytes);
  Yield(State::kAtWarp);
  const bool exists = source >= 0 && source < kWarp && values[source].exchange == exchange;
  std::memcpy(out, exists ? values[source].bytes.data() : in, bytes);
}

constexpr hiera_fake::Engine kEngine = {SyncBlock, SyncWarp, Exchange, Lane, DynamicSharedMemory};

}  // namespace

CUresult RunGrid(const GridRun& run) {
  const size_t threads = size_t{run.block.x} * run.block.y * run.block.z;
  now.run = &run;
  now.thread = pthread_self();
  now.fault = CUDA_SUCCESS;
  now.fibers.assign(threads, Fiber());
  now.passed.resize((threads + kWarp - 1) / kWarp);
  const DynamicShared shared(run.shared_bytes);
  *run.module->engine = &kEngine;
  *run.module->block_size = run.block;
  *run.module->grid_size = run.grid;
  const FaultCatcher catcher;
  for (unsigned z = 0; z < run.grid.z; ++z) {
    for (unsigned y = 0; y < run.grid.y; ++y) {
      for (unsigned x = 0; x < run.grid.x && now.fault == CUDA_SUCCESS; ++x) {
        *run.module->block = {x, y, z};
        RunBlock((x + y + z) % 2 == 1);
      }
    }
  }
  for (Fiber& fiber : now.fibers) {
    if (fiber.stack != nullptr) FreeStacks().Give(fiber.stack);
  }
  return now.fault;
}

}  // namespace hiera::fake_cuda
