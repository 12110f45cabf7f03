// EventCount: lets threads sleep until something may have changed. A sleeper reads Value(), looks
// at the state it waits for, and calls AwaitChange with the value it read: a Notify in between
// makes that return at once, so nothing is missed.
//
// Any thread. Owns no descriptor, and holds no lock that a fork could leave behind; in the child it
// works as if new. Notify makes a system call only where somebody sleeps.
#ifndef HIERA_RUNTIME_CORE_EVENT_COUNT_H_
#define HIERA_RUNTIME_CORE_EVENT_COUNT_H_

#include <atomic>
#include <cstdint>

namespace hiera {

class EventCount {
 public:
  uint32_t Value() const noexcept { return value_.load(std::memory_order_seq_cst); }

  void Notify() noexcept;

  // Returns when Value() is no longer `seen`, after timeout_ns, or earlier for no reason at all.
  void AwaitChange(uint32_t seen, int64_t timeout_ns) noexcept;

 private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_EVENT_COUNT_H_
