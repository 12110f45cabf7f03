// TimedBaseline: the baseline while its first calls are timed, so that the planner knows what it
// has to beat in this application. A slot starts with it and goes over to the plain baseline when
// the calls are done; a call that still holds it then runs the plain baseline. So does a call that
// becomes part of a graph: it takes no time now.
//
// Borrows the baseline and the listener. Run: any thread; allocates and locks nothing.
#ifndef HIERA_RUNTIME_CORE_TIMED_BASELINE_H_
#define HIERA_RUNTIME_CORE_TIMED_BASELINE_H_

#include <array>
#include <atomic>
#include <memory>

#include "runtime/device/device.h"

namespace hiera {

class TimedBaseline final : public Executable {
 public:
  static constexpr int kCalls = 8;

  class Listener {
   public:
    virtual ~Listener() = default;
    // Called once, by the call that completes the measurement. Must not block.
    virtual void BaselineMeasured(double median_ns) noexcept = 0;
  };

  TimedBaseline(const Executable& baseline, Device& device, Listener& listener);

  hiera_status Run(const Call& call) const noexcept override;
  // Whether a call so far became part of a graph.
  bool captured() const noexcept { return captured_.load(std::memory_order_relaxed); }

 private:
  void TryFinish() const noexcept;

  const Executable& baseline_;
  const Device& device_;
  Listener& listener_;
  std::array<std::unique_ptr<CallTimer>, kCalls> timers_;
  mutable std::array<bool, kCalls> failed_{};  // written by its call, read after the last one
  mutable std::atomic<int> begun_{0};
  mutable std::atomic<int> ended_{0};
  mutable std::atomic<bool> captured_{false};
  mutable std::atomic<bool> finishing_{false};  // some call is in TryFinish, or it is all done
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_TIMED_BASELINE_H_
