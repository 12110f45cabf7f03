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
constexpr int kPeakRounds = 10;
constexpr long kPeakLoops = 400'000;
constexpr int kChains = 12;  // independent sums: more than any core's units times latency

// `loops` rounds of kChains multiply-adds on vectors; the result keeps them alive. Each sum is a
// variable of its own, because an array of them would live in memory.
template <typename Vector>
[[gnu::always_inline]] inline double Chains(long loops) {
  const Vector factor = Vector{} + 0.999999f, term = Vector{} + 1e-6f;
  Vector a = term, b = term, c = term, d = term, e = term, f = term;
  Vector g = term, h = term, i = term, j = term, k = term, l = term;
  const auto add = [&](Vector & sum) __attribute__((always_inline)) {
    sum = sum * factor + term;
    asm volatile("" : "+x"(sum));  // keeps the compiler from merging rounds
  };
  for (long round = 0; round < loops; ++round) {
    add(a), add(b), add(c), add(d), add(e), add(f);
    add(g), add(h), add(i), add(j), add(k), add(l);
  }
  const Vector total = ((a + b) + (c + d)) + ((e + f) + (g + h)) + ((i + j) + (k + l));
  return static_cast<double>(total[0]);
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

// Runs body(begin, end) on every thread, in pieces of [0, count), and returns the best round's sum
// over the threads of items per second. Each thread counts the processor time it was given, so that
// others on its core do not count; where there are none this is the wall time.
template <typename Body>
double BestRate(const ThreadPool& pool, long count, int rounds, Body body) {
  struct Shared {
    Body& body;
    std::atomic<double> rate{0};
  };
  double best = 0;
  for (int round = 0; round < rounds; ++round) {
    Shared shared{body};
    pool.Run(
        count,
        [](void* context, long begin, long end, int) {
          Shared& s = *static_cast<Shared*>(context);
          const double start = ThreadSeconds();
          s.body(begin, end);
          const double spent = ThreadSeconds() - start;
          if (spent > 0) s.rate += static_cast<double>(end - begin) / spent;
        },
        &shared);
    best = std::max(best, shared.rate.load());
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
  const double rate = BestRate(pool, vectors, kCopyRounds + 1, [=](long begin, long end) {
    for (long i = begin; i < end; ++i) {
      F64x2 value = source[i];
      // Keeps this from becoming memcpy, which switches to stores that bypass the caches.
      asm volatile("" : "+x"(value));
      target[i] = value;
    }
  });
  return 2 * static_cast<double>(sizeof(F64x2)) * rate * 1e-9;
}

double MeasurePeak(const ThreadPool& pool, DType dtype) {
  const Routine routine = WidestRoutine(dtype);
  std::atomic<double> sink{0};
  const double rate = BestRate(pool, pool.threads(), kPeakRounds, [&](long begin, long end) {
    for (long i = begin; i < end; ++i) sink = routine.run(kPeakLoops);
  });
  return rate * 2 * routine.lanes * kChains * kPeakLoops;
}

}  // namespace hiera
