#include "runtime/core/timed_baseline.h"

#include <cmath>

namespace hiera {

TimedBaseline::TimedBaseline(const Executable& baseline, Device& device, Listener& listener)
    : baseline_(baseline), device_(device), listener_(listener) {
  for (auto& timer : timers_) timer = device.MakeTimer();
}

hiera_status TimedBaseline::Run(const Call& call) const noexcept {
  if (device_.IsCapturing(call.stream)) {
    captured_.store(true, std::memory_order_relaxed);
    return baseline_.Run(call);
  }
  int mine = begun_.load(std::memory_order_relaxed);
  if (mine < kCalls) mine = begun_.fetch_add(1, std::memory_order_relaxed);
  if (mine >= kCalls) {
    // On a device whose clock runs behind the calls, the last interval may be known only now.
    if (ended_.load(std::memory_order_acquire) == kCalls) TryFinish();
    return baseline_.Run(call);
  }
  timers_[mine]->Begin(call.stream);
  const hiera_status status = baseline_.Run(call);
  timers_[mine]->End(call.stream);
  failed_[mine] = status != HIERA_OK;
  if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == kCalls) TryFinish();
  return status;
}

void TimedBaseline::TryFinish() const noexcept {
  if (finishing_.exchange(true, std::memory_order_acquire)) return;
  std::array<double, kCalls> times;
  int count = 0;
  for (int i = 0; i < kCalls; ++i) {
    if (failed_[i]) continue;
    const double ns = timers_[i]->ElapsedNs();
    if (ns < 0) {
      finishing_.store(false, std::memory_order_release);
      return;
    }
    if (std::isnan(ns)) continue;
    int at = count++;  // sorted as they come: eight at the most
    for (; at > 0 && times[at - 1] > ns; --at) times[at] = times[at - 1];
    times[at] = ns;
  }
  // The lower median: the first call pays for cold caches and threads, later ones for neighbours.
  listener_.BaselineMeasured(count > 0 ? times[(count - 1) / 2] : 0);
}

}  // namespace hiera
