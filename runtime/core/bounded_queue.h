// BoundedQueue: from the threads that call operators to the client thread. Pushing never blocks,
// locks or allocates; a full queue refuses. After D. Vyukov's bounded queue: each cell carries the
// turn in which it may next be written or read.
//
// Push: any thread. Pop, Reset: one thread at a time. kCapacity is a power of two.
#ifndef HIERA_RUNTIME_CORE_BOUNDED_QUEUE_H_
#define HIERA_RUNTIME_CORE_BOUNDED_QUEUE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <optional>

namespace hiera {

template <typename T, size_t kCapacity>
class BoundedQueue {
  static_assert(kCapacity >= 2 && (kCapacity & (kCapacity - 1)) == 0);

 public:
  BoundedQueue() { Reset(); }

  // False where the queue is full.
  bool Push(T value) noexcept {
    size_t turn = tail_.load(std::memory_order_relaxed);
    for (;;) {
      Cell& cell = cells_[turn % kCapacity];
      const size_t ready = cell.turn.load(std::memory_order_acquire);
      if (ready == turn) {
        if (tail_.compare_exchange_weak(turn, turn + 1, std::memory_order_relaxed)) {
          cell.value = value;
          cell.turn.store(turn + 1, std::memory_order_release);
          return true;
        }
      } else if (ready < turn) {
        return false;
      } else {
        turn = tail_.load(std::memory_order_relaxed);
      }
    }
  }

  // Empty where nothing is there, or where the next value is only just being written.
  std::optional<T> Pop() noexcept {
    Cell& cell = cells_[head_ % kCapacity];
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return std::nullopt;
    const T value = cell.value;
    cell.turn.store(head_ + kCapacity, std::memory_order_release);
    ++head_;
    return value;
  }

  // Empties the queue, also one that a vanished thread was writing to. Nobody may push meanwhile.
  void Reset() noexcept {
    head_ = 0;
    tail_.store(0, std::memory_order_relaxed);
    for (size_t i = 0; i < kCapacity; ++i) cells_[i].turn.store(i, std::memory_order_relaxed);
  }

 private:
  struct Cell {
    std::atomic<size_t> turn;
    T value;
  };
  std::array<Cell, kCapacity> cells_;
  alignas(64) std::atomic<size_t> tail_;
  alignas(64) size_t head_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_BOUNDED_QUEUE_H_
