// Slot: the place in a process where the current implementation of one task hangs. Every operator
// of that task (and of the same baseline) runs through it.
//
// Ownership: the slot owns its baseline and every variant it was ever given; none is freed before
// the slot, and slots live as long as their engine. Thread safety: Current, the Run functions and
// the plain readers from any thread, without a lock; the functions marked [engine] only under the
// engine's mutex. Invariant: Current() is never null; its first value runs the baseline.
#ifndef HIERA_RUNTIME_CORE_SLOT_H_
#define HIERA_RUNTIME_CORE_SLOT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/core/active.h"
#include "runtime/core/counters.h"
#include "runtime/core/live_trial.h"
#include "runtime/core/timed_baseline.h"
#include "runtime/device/device.h"
#include "runtime/task/cost.h"
#include "runtime/task/task.h"
#include "runtime/task/variant.h"

namespace hiera {

// What a slot answers with while nothing better is known.
struct Baseline {
  uint32_t kind = HIERA_BASELINE_INTERPRETER;
  std::string name;  // "interpreter", "library cblas_sgemm ...", "caller"
  std::unique_ptr<Executable> executable;
  hiera_baseline_fn function = nullptr;  // where kind is HIERA_BASELINE_CALLER
  void* user = nullptr;
};

// How far a slot's planning is. Written by the client thread, and by callers where noted.
enum class Planning : uint32_t {
  kNever,  // the mode, or the limit of slots, forbids it
  kKnown,  // the index had a variant; the planner has not been asked (a caller may make it kWanted)
  kWanted,   // to be asked for
  kAsked,    // the planner is at it
  kSettled,  // the planner has nothing left to try
};

class Slot final : private TimedBaseline::Listener, private LiveTrial::Listener {
 public:
  static constexpr size_t kMaxVariants = 16;  // a process's limit for one task; then swaps end

  // Things that happened on a caller's thread and that the client thread should look at.
  enum Event : uint32_t { kBaselineTimed = 1, kTrialOver = 2, kVariantBroke = 4 };
  class Observer {
   public:
    virtual ~Observer() = default;
    // The slot has new events, or (urgent) somebody waits for the planner's answer. Must not block,
    // lock or allocate; a system call only where it is urgent.
    virtual void Notice(Slot& slot, bool urgent) noexcept = 0;
  };

  Slot(Task task, std::string canonical, const Hash128& key, Baseline baseline, Device& device,
       Counters& counters, Observer& observer);

  // ---- the call path ----
  const Active* Current() const noexcept { return current_.load(std::memory_order_acquire); }
  // A call that the current variant may not take: runs and counts on the baseline.
  hiera_status RunUnfit(const Call& call) noexcept;
  // What follows when `active` answered with another status than success: the baseline takes the
  // call over where it can, and a variant that failed is taken back.
  hiera_status Recover(const Active& active, const Call& call, hiera_status status) noexcept;

  // ---- facts ----
  const Task& task() const { return task_; }
  const std::string& canonical() const { return canonical_; }
  const Hash128& key() const { return key_; }
  const Cost& cost() const { return cost_; }
  const Baseline& baseline() const { return baseline_; }
  uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  // Of the current variant over the baseline, as measured; 1 for the baseline.
  double speedup() const noexcept;
  // Whether a call so far, while the baseline was still being timed, became part of a graph.
  bool captured() const noexcept { return timed_.captured(); }
  double baseline_ns() const noexcept { return baseline_ns_.load(std::memory_order_acquire); }
  Planning planning() const noexcept { return planning_.load(std::memory_order_acquire); }
  void set_planning(Planning p) noexcept { planning_.store(p, std::memory_order_release); }
  // Makes kKnown kWanted, on behalf of someone who waits for the planner.
  void AskSoon() noexcept;
  uint32_t TakeEvents() noexcept { return events_.exchange(0, std::memory_order_acq_rel); }

  // ---- [engine] ----
  enum class Offered { kActive, kOnTrial, kFull };
  // Makes a loaded variant current, or puts it on trial against what is. `start`: it is there
  // before the first call, which is no swap.
  Offered Offer(std::unique_ptr<Executable> executable, const Variant& variant, bool on_trial,
                bool start);
  // Makes one that the slot owns already current again; false where it does not own it.
  bool OfferAgain(const Hash128& identity);
  bool Owns(const Hash128& identity) const;
  bool HasVariants() const { return !owned_.empty(); }
  // Never again this variant: it could not be loaded, or failed. Back to the baseline where it is
  // what runs.
  void Refuse(const Hash128& identity);
  bool HasRefused(const Hash128& identity) const;

  // The kill switch: back to the baseline, and on again from where it was.
  void Suspend();
  void Resume();
  bool suspended() const noexcept { return suspended_.load(std::memory_order_acquire); }

  // The variant that failed on a call since the last question; null: none. The client reports it.
  const Variant* TakeBroken() noexcept { return broken_.exchange(nullptr); }
  // Of the last trial, or null.
  const LiveTrial* last_trial() const { return trials_.empty() ? nullptr : trials_.back().get(); }

  struct Notes {
    std::string outcome;       // the planner's last word
    int64_t created_ns = 0;    // monotonic
    int64_t announced_ns = 0;  // monotonic, of the last announcement
    int losses = 0;            // of the planner while it was at this task
    bool look_again = false;   // the index may have something else
  };
  Notes notes;

 private:
  struct Owned {
    Variant variant;
    Hash128 identity;
    std::unique_ptr<Executable> executable;
    Active active;
  };

  void BaselineMeasured(double median_ns) noexcept override;
  void TrialDecided(const LiveTrial& trial) noexcept override;
  void VariantFailed(const Active& variant, hiera_status status) noexcept override;

  const Active* Plain(const Active* active) const;
  const Active* Chosen() const { return Plain(suspended() ? resume_to_ : Current()); }
  void Install(const Active& next, bool start);
  bool PutOnTrial(const Owned& owned);
  Owned* Find(const Hash128& identity) const;
  void Raise(Event event) noexcept;

  // The call path reads this line alone.
  alignas(64) std::atomic<const Active*> current_{nullptr};
  Active baseline_active_;
  bool can_redo_ = false;  // a call that failed half way may be run again

  alignas(64) Counters& counters_;
  Observer& observer_;
  Device& device_;
  const Task task_;
  const std::string canonical_;
  const Hash128 key_;
  const Cost cost_;
  const Baseline baseline_;
  const uintptr_t misaligned_bits_;

  TimedBaseline timed_;
  Active timed_active_;

  std::atomic<uint64_t> generation_{0};
  std::atomic<double> baseline_ns_{0};
  std::atomic<double> live_speedup_{0};  // where a trial measured it; 0: none did
  std::atomic<Planning> planning_{Planning::kNever};
  std::atomic<uint32_t> events_{0};
  std::atomic<const Variant*> broken_{nullptr};
  std::atomic<bool> suspended_{false};

  const Active* resume_to_ = nullptr;
  std::vector<std::unique_ptr<Owned>> owned_;
  std::vector<std::unique_ptr<LiveTrial>> trials_;
  std::vector<std::unique_ptr<Active>> trial_actives_;  // in step with trials_
  std::vector<Hash128> refused_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_SLOT_H_
