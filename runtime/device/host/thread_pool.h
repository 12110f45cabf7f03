// ThreadPool: the threads behind struct hiera_parallel (abi.h). Small, and free of a runtime that
// could clash with one in the application.
//
// Ownership: the pool owns its workers; they are created at the first region that needs more than
// one thread, and joined by the destructor. A pool that is never destroyed costs nothing at exit.
// Thread safety: Run and parallel() from any thread. One region runs at a time; a caller that finds
// the pool taken, or is inside a region already, does all pieces itself, one after another, so a
// region can be slow but never waits for another one.
// Fork: the child has no workers and forgets those of its parent; its first region makes new ones.
// Invariants: piece t of a region runs on thread t (0 is the caller) whenever the pool was free;
// workers block every signal and are named hiera-1, hiera-2, ...
#ifndef HIERA_RUNTIME_DEVICE_HOST_THREAD_POOL_H_
#define HIERA_RUNTIME_DEVICE_HOST_THREAD_POOL_H_

#include <atomic>
#include <memory>

#include "runtime/device/host/abi.h"

namespace hiera {

// The piece of [0, count) that thread `piece` of `pieces` gets: contiguous, sizes differing by one.
struct PieceRange {
  long begin, end;
};
inline PieceRange PieceOf(long count, int pieces, int piece) {
  const long size = count / pieces, longer = count % pieces;
  const long begin = piece * size + (piece < longer ? piece : longer);
  return {begin, begin + size + (piece < longer ? 1 : 0)};
}

class ThreadPool;

// A pool as candidates see it, perhaps with fewer threads. The pool must outlive it; it is handed
// out by address, so keep it where it does not move.
struct PoolFace {
  hiera_parallel abi;  // first: `self` of abi.run is the face
  const ThreadPool* pool;
};

class ThreadPool {
 public:
  using Body = void (*)(void* context, long begin, long end, int thread);

  // `threads` >= 1 counts the caller. Creates no thread yet.
  explicit ThreadPool(int threads);
  // No region may be running. Blocks until the workers have ended.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return face_.abi.threads; }
  const hiera_parallel* parallel() const { return &face_.abi; }
  // A face with at most `threads` threads; 0: all.
  PoolFace FaceOf(int threads) const;

  // See struct hiera_parallel; at most `threads` >= 1 threads of the pool take part. Blocks until
  // every piece is done. Neither allocates nor locks once the workers exist; a system call is made
  // only to wake a thread that has gone to sleep, or to sleep.
  void Run(long count, Body body, void* context, int threads) const;
  void Run(long count, Body body, void* context) const { Run(count, body, context, threads()); }

 private:
  struct Crew;

  static void RunFace(const hiera_parallel* self, long count, Body body, void* context);
  Crew* CurrentCrew() const;

  PoolFace face_;
  mutable std::atomic<Crew*> crew_{nullptr};  // replaced after a fork
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_DEVICE_HOST_THREAD_POOL_H_
