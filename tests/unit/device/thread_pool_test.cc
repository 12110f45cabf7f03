#include "runtime/device/host/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

// Thread sanitizer refuses threads in the child of a threaded process unless told otherwise.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_options() {
  return "die_after_fork=0";
}

namespace hiera {
namespace {

struct Piece {
  long begin = -1, end = -1;
  int thread = -1;
  pthread_t ran_on{};
};

// Runs one region and records each piece, in the order of the thread numbers.
std::vector<Piece> RunAndRecord(const ThreadPool& pool, long count) {
  std::vector<Piece> pieces(pool.threads());
  pool.Run(
      count,
      [](void* context, long begin, long end, int thread) {
        auto& all = *static_cast<std::vector<Piece>*>(context);
        all[thread] = {begin, end, thread, pthread_self()};
      },
      &pieces);
  return pieces;
}

void CountInto(void* context, long begin, long end, int) {
  static_cast<std::atomic<long>*>(context)->fetch_add(end - begin);
}

long RunAndCount(const ThreadPool& pool, long count) {
  std::atomic<long> sum{0};
  pool.Run(count, CountInto, &sum);
  return sum.load();
}

TEST(ThreadPoolTest, PiecesAreContiguousAndCoverTheRange) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const long count : {1L, 2L, 7L, 8L, 9L, 1000L}) {
      const std::vector<Piece> pieces = RunAndRecord(pool, count);
      long expected_begin = 0;
      for (int t = 0; t < threads && t < count; ++t) {
        EXPECT_EQ(pieces[t].thread, t);
        EXPECT_EQ(pieces[t].begin, expected_begin);
        const long size = pieces[t].end - pieces[t].begin;
        EXPECT_TRUE(size == count / threads || size == count / threads + 1 || size == 1);
        expected_begin = pieces[t].end;
      }
      EXPECT_EQ(expected_begin, count) << threads << " threads";
    }
  }
}

TEST(ThreadPoolTest, EmptyRangeRunsNothing) {
  ThreadPool pool(4);
  EXPECT_EQ(RunAndRecord(pool, 0)[0].thread, -1);
  EXPECT_EQ(RunAndRecord(pool, -5)[0].thread, -1);
}

TEST(ThreadPoolTest, EachPieceStaysOnItsThread) {
  ThreadPool pool(4);
  const std::vector<Piece> first = RunAndRecord(pool, 100);
  EXPECT_TRUE(pthread_equal(first[0].ran_on, pthread_self()));
  for (int i = 0; i < 50; ++i) {
    const std::vector<Piece> again = RunAndRecord(pool, 100);
    for (int t = 0; t < 4; ++t) {
      EXPECT_TRUE(pthread_equal(first[t].ran_on, again[t].ran_on)) << t;
      for (int u = 0; u < t; ++u) {
        EXPECT_FALSE(pthread_equal(again[t].ran_on, again[u].ran_on));
      }
    }
  }
}

TEST(ThreadPoolTest, ThroughTheAbi) {
  ThreadPool pool(3);
  const hiera_parallel* parallel = pool.parallel();
  EXPECT_EQ(parallel->threads, 3);
  std::atomic<long> sum{0};
  parallel->run(parallel, 1234, CountInto, &sum);
  EXPECT_EQ(sum.load(), 1234);
}

TEST(ThreadPoolTest, FaceWithFewerThreads) {
  ThreadPool pool(4);
  EXPECT_EQ(pool.FaceOf(0).abi.threads, 4);
  EXPECT_EQ(pool.FaceOf(9).abi.threads, 4);
  const PoolFace face = pool.FaceOf(2);
  EXPECT_EQ(face.abi.threads, 2);
  std::atomic<int> highest{0};
  face.abi.run(
      &face.abi, 100,
      [](void* context, long, long, int thread) {
        auto& h = *static_cast<std::atomic<int>*>(context);
        for (int seen = h; thread > seen && !h.compare_exchange_weak(seen, thread);) {
        }
      },
      &highest);
  EXPECT_EQ(highest.load(), 1);
}

TEST(ThreadPoolTest, ManyRegionsInARow) {
  ThreadPool pool(4);
  for (int i = 1; i < 4'000; ++i) ASSERT_EQ(RunAndCount(pool, i % 37 + 1), i % 37 + 1);
}

TEST(ThreadPoolTest, WorkersThatWentToSleepWakeUp) {
  ThreadPool pool(3);
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(RunAndCount(pool, 99), 99);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // far beyond the spin
  }
}

TEST(ThreadPoolTest, SeveralCallersAtOnce) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      for (int i = 1; i < 3'000; ++i) {
        if (RunAndCount(pool, i) != i) ++wrong;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(ThreadPoolTest, RegionInsideARegionRunsInPlace) {
  ThreadPool pool(3);
  struct Context {
    const ThreadPool* pool;
    std::atomic<long> inner{0};
    std::atomic<int> elsewhere{0};
  } context{&pool};
  pool.Run(
      3,
      [](void* outer, long, long, int) {
        auto& c = *static_cast<Context*>(outer);
        for (const Piece& piece : RunAndRecord(*c.pool, 3)) {
          if (!pthread_equal(piece.ran_on, pthread_self())) ++c.elsewhere;
        }
        c.inner += RunAndCount(*c.pool, 10);
      },
      &context);
  EXPECT_EQ(context.inner.load(), 30);
  EXPECT_EQ(context.elsewhere.load(), 0);
}

TEST(ThreadPoolTest, WorkersAreNamedAndBlockSignals) {
  ThreadPool pool(2);
  struct Seen {
    char name[16] = "";
    sigset_t blocked;
  } seen[2];
  pool.Run(
      2,
      [](void* context, long, long, int thread) {
        Seen& s = static_cast<Seen*>(context)[thread];
        pthread_getname_np(pthread_self(), s.name, sizeof(s.name));
        pthread_sigmask(SIG_BLOCK, nullptr, &s.blocked);
      },
      seen);
  EXPECT_STREQ(seen[1].name, "hiera-1");
  for (const int signal : {SIGINT, SIGTERM, SIGCHLD, SIGPROF, SIGUSR1}) {
    EXPECT_EQ(sigismember(&seen[1].blocked, signal), 1) << signal;
    EXPECT_EQ(sigismember(&seen[0].blocked, signal), 0) << signal;
  }
}

// Waits for `child` and returns its exit status; -1 where it did not end in ten seconds.
int ExitStatus(pid_t child) {
  for (int i = 0; i < 10'000; ++i) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return -1;
}

TEST(ThreadPoolTest, ChildOfAForkMakesItsOwnWorkers) {
  ThreadPool pool(3);
  ASSERT_EQ(RunAndCount(pool, 100), 100);
  const pid_t child = fork();
  if (child == 0) {
    const std::vector<Piece> pieces = RunAndRecord(pool, 3);
    const bool threaded = !pthread_equal(pieces[0].ran_on, pieces[1].ran_on);
    _exit(RunAndCount(pool, 1000) == 1000 && threaded ? 0 : 1);
  }
  EXPECT_EQ(ExitStatus(child), 0);
  EXPECT_EQ(RunAndCount(pool, 100), 100);  // the parent's workers are still there
}

TEST(ThreadPoolTest, ForkWhileAnotherThreadIsInARegion) {
  ThreadPool pool(2);
  std::atomic<bool> inside{false}, leave{false};
  struct Context {
    std::atomic<bool>*inside, *leave;
  } context{&inside, &leave};
  std::thread other([&] {
    pool.Run(
        2,
        [](void* c, long, long, int) {
          auto& flags = *static_cast<Context*>(c);
          flags.inside->store(true);
          while (!flags.leave->load()) std::this_thread::yield();
        },
        &context);
  });
  while (!inside.load()) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) _exit(RunAndCount(pool, 1000) == 1000 ? 0 : 1);
  EXPECT_EQ(ExitStatus(child), 0);
  leave = true;
  other.join();
}

// Where a leak checker can reach it.
ThreadPool* volatile never_destroyed = nullptr;

TEST(ThreadPoolTest, ExitWithAPoolThatIsNeverDestroyed) {
  const pid_t child = fork();
  if (child == 0) {
    never_destroyed = new ThreadPool(3);
    exit(RunAndCount(*never_destroyed, 100) == 100 ? 7 : 1);
  }
  EXPECT_EQ(ExitStatus(child), 7);
}

TEST(ThreadPoolTest, DestroyedUnusedAndUsed) {
  { ThreadPool unused(4); }
  {
    ThreadPool used(4);
    EXPECT_EQ(RunAndCount(used, 5), 5);
  }
}

}  // namespace
}  // namespace hiera
