// Counters: what hiera_engine_stats reports. Any thread; each counter stands for itself.
#ifndef HIERA_RUNTIME_CORE_COUNTERS_H_
#define HIERA_RUNTIME_CORE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace hiera {

struct Counters {
  std::atomic<uint64_t> swaps{0};
  std::atomic<uint64_t> index_hits{0};
  std::atomic<uint64_t> requests_sent{0};
  std::atomic<uint64_t> requests_dropped{0};
  std::atomic<uint64_t> load_failures{0};
  std::atomic<uint64_t> rollbacks{0};
  std::atomic<uint64_t> unfit_runs{0};
};

inline void Count(std::atomic<uint64_t>& counter) noexcept {
  counter.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_COUNTERS_H_
