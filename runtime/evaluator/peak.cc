#include "runtime/evaluator/peak.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/evaluator/shared_memory.h"

namespace hiera {
namespace {

constexpr int64_t kLargestCopyBytes = int64_t{192} << 20;  // both arrays together
constexpr int kCopyRounds = 5;
constexpr int kPeakRounds = 3;
constexpr long kPeakLoops = 400'000;
constexpr int kChains = 12;  // independent sums: more than any core's units times latency

// `loops` rounds of kChains multiply-adds on vectors of T; the result keeps them alive.
template <typename Vector>
[[gnu::always_inline]] inline double Chains(long loops) {
  Vector sums[kChains];
  Vector factor, term;
  for (size_t lane = 0; lane < sizeof(Vector) / sizeof(factor[0]); ++lane) {
    factor[lane] = static_cast<decltype(+factor[0])>(0.999999);
    term[lane] = static_cast<decltype(+factor[0])>(1e-6);
  }
  for (Vector& sum : sums) sum = term;
  for (long i = 0; i < loops; ++i) {
    for (Vector& sum : sums) {
      sum = sum * factor + term;
      // Keeps the compiler from merging rounds.
      asm volatile("" : "+x"(sum));
    }
  }
  double total = 0;
  for (const Vector& sum : sums) total += static_cast<double>(sum[0]);
  return total;
}

typedef float F32x4 __attribute__((vector_size(16)));
typedef float F32x8 __attribute__((vector_size(32)));
typedef double F64x2 __attribute__((vector_size(16)));
typedef double F64x4 __attribute__((vector_size(32)));
typedef float F32x16 __attribute__((vector_size(64)));
typedef double F64x8 __attribute__((vector_size(64)));

// A routine and the lanes of its vectors.
struct Routine {
  double (*run)(long loops);
  int lanes;
};

double Sse32(long loops) { return Chains<F32x4>(loops); }
double Sse64(long loops) { return Chains<F64x2>(loops); }
__attribute__((target("avx2,fma"))) double Avx32(long loops) { return Chains<F32x8>(loops); }
__attribute__((target("avx2,fma"))) double Avx64(long loops) { return Chains<F64x4>(loops); }
__attribute__((target("avx512f,fma"))) double Wide32(long loops) { return Chains<F32x16>(loops); }
__attribute__((target("avx512f,fma"))) double Wide64(long loops) { return Chains<F64x8>(loops); }

Routine WidestRoutine(DType dtype) {
  const bool f64 = dtype == DType::kF64;
  if (__builtin_cpu_supports("avx512f")) return f64 ? Routine{Wide64, 8} : Routine{Wide32, 16};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    return f64 ? Routine{Avx64, 4} : Routine{Avx32, 8};
  }
  return f64 ? Routine{Sse64, 2} : Routine{Sse32, 4};
}

double ThreadSeconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Seconds of the quickest of `rounds` regions on every thread.
template <typename Body>
double BestSeconds(const ThreadPool& pool, long count, int rounds, Body body) {
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    const int64_t begin = MonotonicNs();
    pool.Run(
        count,
        [](void* context, long from, long to, int) { (*static_cast<Body*>(context))(from, to); },
        &body);
    const double seconds = static_cast<double>(MonotonicNs() - begin) * 1e-9;
    best = round == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

}  // namespace

double MeasureCopyRate(const ThreadPool& pool, int64_t last_level_bytes) {
  const int64_t bytes = std::min(std::max(2 * last_level_bytes, int64_t{32} << 20),
                                 kLargestCopyBytes / 2);  // of each array
  auto from = MappedRegion::Anonymous(bytes), to = MappedRegion::Anonymous(bytes);
  if (!from.ok() || !to.ok()) return 0;
  const long vectors = bytes / static_cast<long>(sizeof(F64x2));
  const F64x2* source = reinterpret_cast<const F64x2*>(from->data());
  F64x2* target = reinterpret_cast<F64x2*>(to->data());
  std::memset(from->data(), 1, static_cast<size_t>(bytes));  // pages of its own, not the zero page
  const double seconds = BestSeconds(pool, vectors, kCopyRounds + 1, [=](long begin, long end) {
    for (long i = begin; i < end; ++i) {
      F64x2 value = source[i];
      // Keeps this from becoming memcpy, which switches to stores that bypass the caches.
      asm volatile("" : "+x"(value));
      target[i] = value;
    }
  });
  return seconds > 0 ? 2 * static_cast<double>(bytes) / seconds * 1e-9 : 0;
}

double MeasurePeak(const ThreadPool& pool, DType dtype) {
  const Routine routine = WidestRoutine(dtype);
  double best = 0;
  for (int round = 0; round < kPeakRounds; ++round) {
    // Each thread by the processor time it was given, so that others on its core do not count.
    struct {
      const Routine& routine;
      std::atomic<double> rate{0}, sink{0};
    } shared{routine};
    pool.Run(
        pool.threads(),
        [](void* context, long begin, long end, int) {
          auto& s = *static_cast<decltype(shared)*>(context);
          for (long i = begin; i < end; ++i) {
            const double seconds = ThreadSeconds();
            s.sink = s.routine.run(kPeakLoops);
            const double spent = ThreadSeconds() - seconds;
            if (spent > 0) s.rate += 2.0 * s.routine.lanes * kChains * kPeakLoops / spent;
          }
        },
        &shared);
    best = std::max(best, shared.rate.load());
  }
  return best;
}

}  // namespace hiera
