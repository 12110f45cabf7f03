// LiveTrial: decides between what runs now (the incumbent) and a new variant by timing both on
// alternate calls of the application. Used where the evaluator could not run the baseline itself: a
// caller's own function.
//
// Decision: the ratio incumbent / variant of each pair of neighbouring calls; the variant wins when
// the lower end of a 95 % confidence interval of the median ratio is above kWorthwhile, and loses
// when the upper end is below it. The interval comes from order statistics (the sign test), which
// assumes nothing about the noise: for 6, 12, 24 and 48 pairs the 1st, 3rd, 7th and 17th smallest
// and largest ratios cover the median with at least 96 %. No decision after 48 pairs keeps the
// incumbent. The pair before the first is not counted: it warms the variant up.
//
// Borrows everything it is given. Run: any thread; allocates and locks nothing. While a stage waits
// for calls in flight, and after the end, calls run the incumbent or the winner untimed. So do
// calls that become part of a graph.
#ifndef HIERA_RUNTIME_CORE_LIVE_TRIAL_H_
#define HIERA_RUNTIME_CORE_LIVE_TRIAL_H_

#include <array>
#include <atomic>
#include <memory>

#include "runtime/core/active.h"
#include "runtime/device/device.h"

namespace hiera {

class LiveTrial final : public Executable {
 public:
  static constexpr double kWorthwhile = 1.02;
  static constexpr std::array<int, 4> kStagePairs = {6, 12, 24, 48};
  static constexpr std::array<int, 4> kStageRank = {1, 3, 7, 17};
  static constexpr int kMaxCalls = 2 * (kStagePairs.back() + 1);

  class Listener {
   public:
    virtual ~Listener() = default;
    // Called once, by the call that brings the decision. Must not block.
    virtual void TrialDecided(const LiveTrial& trial) noexcept = 0;
    // A variant, on trial or the incumbent, failed on a call.
    virtual void VariantFailed(const Active& variant, hiera_status status) noexcept = 0;
  };

  // `baseline` answers what neither can take. can_redo: a call that failed half way may be run
  // again, because no output is also an input.
  LiveTrial(const Active& incumbent, const Active& variant, const Executable& baseline,
            bool can_redo, Device& device, Listener& listener);

  hiera_status Run(const Call& call) const noexcept override;

  const Active& incumbent() const { return incumbent_; }
  const Active& variant() const { return variant_; }
  // Null while undecided.
  const Active* winner() const noexcept { return winner_.load(std::memory_order_acquire); }
  // Median of incumbent / variant; 0 while undecided. Read after winner().
  double ratio() const noexcept { return ratio_.load(std::memory_order_relaxed); }
  // Median time of the incumbent; 0 while undecided.
  double incumbent_ns() const noexcept { return incumbent_ns_.load(std::memory_order_relaxed); }

 private:
  hiera_status RunUntimed(const Active& active, const Call& call) const noexcept;
  void TryDecide() const noexcept;
  void Decide(const Active& winner) const noexcept;

  const Active& incumbent_;
  const Active& variant_;
  const Executable& baseline_;
  const bool can_redo_;
  const Device& device_;
  Listener& listener_;
  std::array<std::unique_ptr<CallTimer>, kMaxCalls> timers_;  // even: incumbent, odd: variant
  mutable std::array<bool, kMaxCalls> unfit_{};
  mutable std::atomic<int> begun_{0};
  mutable std::atomic<int> ended_{0};
  mutable std::atomic<int> stage_{0};
  mutable std::atomic<bool> deciding_{false};
  mutable std::atomic<const Active*> winner_{nullptr};
  mutable std::atomic<double> ratio_{0};
  mutable std::atomic<double> incumbent_ns_{0};
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_LIVE_TRIAL_H_
