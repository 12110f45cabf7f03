// ContextStates<T>: a T for each CUDA context in which a library call was made ready. Lookups are
// lock-free and may run beside an addition; additions are serialised. States live as long as this
// and are destroyed in their contexts; that of a context which is gone is given up, as all that it
// held is gone with it.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CONTEXT_STATES_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CONTEXT_STATES_H_

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/library/cuda/gpu_entries.h"

namespace hiera {

template <typename T>
class ContextStates {
 public:
  static constexpr int kMost = 16;

  explicit ContextStates(const GpuEntries& gpu) : gpu_(gpu) {}
  ~ContextStates() {
    for (Entry& entry : entries_) {
      if (entry.state == nullptr) continue;
      unsigned long long id = 0;
      const bool there = gpu_.context_id(entry.handle, &id) == 0 && id == entry.context &&
                         gpu_.push(entry.handle) == 0;
      if (!there) {
        static_cast<void>(entry.state.release());
        continue;
      }
      entry.state.reset();
      void* popped = nullptr;
      gpu_.pop(&popped);
    }
  }
  ContextStates(const ContextStates&) = delete;
  ContextStates& operator=(const ContextStates&) = delete;

  // Makes the current context's state by `make`, unless there is one. Errors: kUnavailable (no
  // context, or too many), and those of `make`.
  template <typename F>
  Status Prepare(F&& make) {
    const Result<uint64_t> context = CurrentContext(gpu_);
    if (!context.ok()) return context.status();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Find(*context) != nullptr) return {};
    const int at = count_.load(std::memory_order_relaxed);
    if (at == kMost) return Unavailable("made ready in 16 contexts already");
    const OutsideCapture relaxed(gpu_);
    Result<std::unique_ptr<T>> state = make();
    if (!state.ok()) return state.status();
    void* handle = nullptr;
    if (gpu_.context(&handle) != 0) return Unavailable("the CUDA context is gone");
    entries_[at] = {*context, handle, *std::move(state)};
    count_.store(at + 1, std::memory_order_release);
    return {};
  }

  // The state of the current context, for the time of a call; where the thread has no context, that
  // of the first that was made ready, which is current meanwhile.
  class Use {
   public:
    explicit Use(const ContextStates& states) noexcept : gpu_(states.gpu_) {
      unsigned long long context = 0;
      if (gpu_.context_id(nullptr, &context) == 0) {
        state_ = states.Find(context);
      } else if (states.count_.load(std::memory_order_acquire) > 0) {
        pushed_ = gpu_.push(states.entries_[0].handle) == 0;
        if (pushed_) state_ = states.entries_[0].state.get();
      }
    }
    ~Use() {
      void* popped = nullptr;
      if (pushed_) gpu_.pop(&popped);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    T* get() const { return state_; }  // null where the current context was not made ready

   private:
    const GpuEntries& gpu_;
    T* state_ = nullptr;
    bool pushed_ = false;
  };

 private:
  struct Entry {
    uint64_t context = 0;  // its number
    void* handle = nullptr;
    std::unique_ptr<T> state;
  };

  T* Find(uint64_t context) const noexcept {
    const int count = count_.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i) {
      if (entries_[i].context == context) return entries_[i].state.get();
    }
    return nullptr;
  }

  const GpuEntries& gpu_;
  std::mutex mutex_;
  std::atomic<int> count_{0};
  std::array<Entry, kMost> entries_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CONTEXT_STATES_H_
