#include "runtime/device/host/thread_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

// Both sides of a region spin this long before they sleep: longer than waking a sleeper takes, so
// that back-to-back regions never pay for it, and too short to matter to anyone else on the core.
constexpr int64_t kSpinNs = 30'000;

void FutexWait(std::atomic<uint32_t>* word, uint32_t value) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void FutexWake(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// A word that one thread waits on until it no longer holds a value.
struct alignas(64) Signal {
  std::atomic<uint32_t> word{0};
  std::atomic<uint32_t> sleeping{0};

  // Makes the new value visible and wakes the waiter if it sleeps. The store and the load that
  // follows it, like their counterparts in AwaitChange, are sequentially consistent: either the
  // waiter sees the value or the setter sees the sleeper.
  void Set(uint32_t value) {
    word.store(value, std::memory_order_seq_cst);
    WakeSleeper();
  }
  void WakeSleeper() {
    if (sleeping.load(std::memory_order_seq_cst) != 0) FutexWake(&word);
  }

  uint32_t AwaitChange(uint32_t old) {
    const int64_t deadline = MonotonicNs() + kSpinNs;
    for (int i = 0;; ++i) {
      const uint32_t now = word.load(std::memory_order_acquire);
      if (now != old) return now;
      __builtin_ia32_pause();
      if (i % 64 == 63 && MonotonicNs() > deadline) break;
    }
    sleeping.store(1, std::memory_order_seq_cst);
    uint32_t now;
    while ((now = word.load(std::memory_order_seq_cst)) == old) FutexWait(&word, old);
    sleeping.store(0, std::memory_order_relaxed);
    return now;
  }
};

// Counts the forks between this process and the first one that made a pool.
std::atomic<uint32_t> g_fork_generation{0};

void CountFork() { g_fork_generation.fetch_add(1, std::memory_order_relaxed); }

void WatchForks() {
  static const int registered = pthread_atfork(nullptr, nullptr, CountFork);
  (void)registered;
}

thread_local bool t_inside_region = false;

// Pieces first to last - 1 of `pieces`.
void RunPiecesHere(long count, int pieces, int first, int last, ThreadPool::Body body,
                   void* context) {
  for (int t = first; t < last; ++t) {
    const PieceRange range = PieceOf(count, pieces, t);
    body(context, range.begin, range.end, t);
  }
}

}  // namespace

// The workers and the region they are in. Everything but `taken` and the signals is written by the
// thread that holds `taken`, before it sets a worker's signal, and read by that worker after it.
struct ThreadPool::Crew {
  struct Worker {
    Crew* crew;
    int thread;
    pthread_t handle;
    Signal go;  // counts the regions this worker took part in
  };

  Crew(int threads, Crew* forgotten_crew)
      : forgotten(forgotten_crew), generation(g_fork_generation.load(std::memory_order_relaxed)) {
    workers.reserve(threads - 1);
    for (int t = 1; t < threads; ++t) workers.push_back(std::make_unique<Worker>());
  }

  void Start();
  static void* Work(void* argument);

  Crew* const forgotten;  // the crew of a parent process: kept, never touched
  const uint32_t generation;
  std::atomic<bool> taken{false};
  bool started = false;
  bool stop = false;
  int made = 0;  // workers that could be created: all but in a process short of threads
  std::vector<std::unique_ptr<Worker>> workers;

  Body body = nullptr;
  void* context = nullptr;
  long count = 0;
  int pieces = 0;
  std::atomic<uint32_t> remaining{0};
  Signal done;  // counts the finished regions
};

void ThreadPool::Crew::Start() {
  started = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (auto& worker : workers) {
    worker->crew = this;
    worker->thread = made + 1;
    if (pthread_create(&worker->handle, nullptr, Work, worker.get()) != 0) break;
    ++made;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void* ThreadPool::Crew::Work(void* argument) {
  Worker& self = *static_cast<Worker*>(argument);
  Crew& crew = *self.crew;
  char name[16];
  std::snprintf(name, sizeof(name), "hiera-%d", self.thread);
  pthread_setname_np(pthread_self(), name);
  t_inside_region = true;
  for (uint32_t seen = 0;;) {
    seen = self.go.AwaitChange(seen);
    if (crew.stop) return nullptr;
    const PieceRange range = PieceOf(crew.count, crew.pieces, self.thread);
    crew.body(crew.context, range.begin, range.end, self.thread);
    if (crew.remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      crew.done.Set(crew.done.word.load(std::memory_order_relaxed) + 1);
    }
  }
}

ThreadPool::ThreadPool(int threads) : face_{{RunFace, std::max(threads, 1)}, this} { WatchForks(); }

ThreadPool::~ThreadPool() {
  Crew* crew = crew_.load(std::memory_order_acquire);
  // After a fork the parent's workers are not here; what they may have held is left alone.
  if (crew == nullptr || crew->generation != g_fork_generation.load(std::memory_order_relaxed)) {
    return;
  }
  crew->stop = true;
  for (int i = 0; i < crew->made; ++i) {
    Signal& go = crew->workers[i]->go;
    go.Set(go.word.load(std::memory_order_relaxed) + 1);
    pthread_join(crew->workers[i]->handle, nullptr);
  }
  delete crew;
}

ThreadPool::Crew* ThreadPool::CurrentCrew() const {
  Crew* crew = crew_.load(std::memory_order_acquire);
  while (crew == nullptr || crew->generation != g_fork_generation.load(std::memory_order_relaxed)) {
    auto fresh = std::make_unique<Crew>(threads(), crew);
    if (crew_.compare_exchange_strong(crew, fresh.get(), std::memory_order_acq_rel)) {
      return fresh.release();
    }
  }
  return crew;
}

void ThreadPool::RunFace(const hiera_parallel* self, long count, Body body, void* context) {
  reinterpret_cast<const PoolFace*>(self)->pool->Run(count, body, context, self->threads);
}

PoolFace ThreadPool::FaceOf(int at_most) const {
  PoolFace face = face_;
  if (at_most > 0) face.abi.threads = std::min(at_most, threads());
  return face;
}

void ThreadPool::Run(long count, Body body, void* context, int at_most) const {
  if (count <= 0) return;
  const int pieces = static_cast<int>(std::min<long>(std::min(at_most, threads()), count));
  if (pieces == 1 || t_inside_region) return RunPiecesHere(count, pieces, 0, pieces, body, context);
  Crew& crew = *CurrentCrew();
  if (crew.taken.exchange(true, std::memory_order_acquire)) {
    return RunPiecesHere(count, pieces, 0, pieces, body, context);
  }
  if (!crew.started) crew.Start();
  t_inside_region = true;
  const int with_worker = std::min(pieces - 1, crew.made);
  crew.body = body;
  crew.context = context;
  crew.count = count;
  crew.pieces = pieces;
  crew.remaining.store(with_worker, std::memory_order_relaxed);
  const uint32_t finished = crew.done.word.load(std::memory_order_relaxed);
  for (int i = 0; i < with_worker; ++i) {
    Signal& go = crew.workers[i]->go;
    go.Set(go.word.load(std::memory_order_relaxed) + 1);
  }
  RunPiecesHere(count, pieces, 0, 1, body, context);
  RunPiecesHere(count, pieces, with_worker + 1, pieces, body, context);
  if (with_worker > 0) crew.done.AwaitChange(finished);
  t_inside_region = false;
  crew.taken.store(false, std::memory_order_release);
}

}  // namespace hiera
