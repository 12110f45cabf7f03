#include "runtime/core/event_count.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

namespace hiera {

// Sequentially consistent on both sides: either the notifier sees the sleeper, or the sleeper (in
// the kernel, which compares the value once more) sees the new value.
void EventCount::Notify() noexcept {
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) == 0) return;
  syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void EventCount::AwaitChange(uint32_t seen, int64_t timeout_ns) noexcept {
  if (timeout_ns <= 0) return;
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
  sleepers_.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace hiera
