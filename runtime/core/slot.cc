#include "runtime/core/slot.h"

#include <algorithm>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

bool ReadsWhatItWrites(const Task& task) {
  for (int i = 0; i < task.bound_count; ++i) {
    if (RoleOf(task, i) == Role::kInPlace) return true;
  }
  return false;
}

uintptr_t MisalignedBits(const Task& task) {
  return task.contract.alignment > 1 ? static_cast<uintptr_t>(task.contract.alignment - 1) : 0;
}

}  // namespace

Slot::Slot(Task task, std::string canonical, const Hash128& key, Baseline baseline, Device& device,
           Counters& counters, Observer& observer)
    : can_redo_(!ReadsWhatItWrites(task)),
      counters_(counters),
      observer_(observer),
      device_(device),
      task_(std::move(task)),
      canonical_(std::move(canonical)),
      key_(key),
      cost_(CostOf(task_)),
      baseline_(std::move(baseline)),
      misaligned_bits_(MisalignedBits(task_)),
      timed_(*baseline_.executable, device, *this) {
  notes.created_ns = MonotonicNs();
  baseline_active_.executable = baseline_.executable.get();
  timed_active_.executable = &timed_;
  current_.store(&timed_active_, std::memory_order_release);
}

hiera_status Slot::RunUnfit(const Call& call) noexcept {
  Count(counters_.unfit_runs);
  return baseline_.executable->Run(call);
}

hiera_status Slot::Recover(const Active& active, const Call& call, hiera_status status) noexcept {
  if (active.kind != Active::Kind::kVariant) return status;
  if (status == HIERA_UNAVAILABLE) return RunUnfit(call);
  VariantFailed(active, status);
  return can_redo_ ? baseline_.executable->Run(call) : status;
}

void Slot::AskSoon() noexcept {
  Planning known = Planning::kKnown;
  if (planning_.compare_exchange_strong(known, Planning::kWanted)) observer_.Notice(*this, true);
}

void Slot::Raise(Event event) noexcept {
  events_.fetch_or(event, std::memory_order_acq_rel);
  observer_.Notice(*this, false);
}

void Slot::BaselineMeasured(double median_ns) noexcept {
  if (median_ns > 0) baseline_ns_.store(median_ns, std::memory_order_release);
  const Active* timed = &timed_active_;
  current_.compare_exchange_strong(timed, &baseline_active_, std::memory_order_acq_rel);
  if (median_ns > 0) Raise(kBaselineTimed);
}

// The trial may have been superseded or suspended meanwhile; then its result changes nothing.
void Slot::TrialDecided(const LiveTrial& trial) noexcept {
  const Active* winner = trial.winner();
  const Active* current = current_.load(std::memory_order_acquire);
  const bool from_baseline = trial.incumbent().kind == Active::Kind::kBaseline;
  if (from_baseline && baseline_ns() == 0) {
    baseline_ns_.store(trial.incumbent_ns(), std::memory_order_release);
  }
  const bool still_on = current->kind == Active::Kind::kTrial && current->executable == &trial;
  if (still_on && current_.compare_exchange_strong(current, winner, std::memory_order_acq_rel) &&
      winner == &trial.variant()) {
    const double before = from_baseline ? 1.0 : live_speedup_.load(std::memory_order_relaxed);
    live_speedup_.store(before * trial.ratio(), std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    Count(counters_.swaps);
  }
  Raise(kTrialOver);
}

void Slot::VariantFailed(const Active& variant, hiera_status) noexcept {
  const Active* expected = &variant;
  if (current_.compare_exchange_strong(expected, &baseline_active_, std::memory_order_acq_rel)) {
    generation_.fetch_add(1, std::memory_order_acq_rel);
    Count(counters_.rollbacks);
  }
  broken_.store(variant.variant, std::memory_order_release);
  Raise(kVariantBroke);
}

double Slot::speedup() const noexcept {
  const Active* active = Current();
  if (active->variant == nullptr) return 1;
  const double live = live_speedup_.load(std::memory_order_acquire);
  return live > 0 ? live : active->variant->ratio;
}

Slot::Owned* Slot::Find(const Hash128& identity) const {
  for (const auto& owned : owned_) {
    if (owned->identity == identity) return owned.get();
  }
  return nullptr;
}

bool Slot::Owns(const Hash128& identity) const { return Find(identity) != nullptr; }

void Slot::Refuse(const Hash128& identity) {
  if (!HasRefused(identity)) refused_.push_back(identity);
  const Owned* owned = Find(identity);
  if (owned == nullptr || Chosen() != &owned->active) return;
  Install(baseline_active_, true);
  Count(counters_.rollbacks);
}

bool Slot::HasRefused(const Hash128& identity) const {
  return std::find(refused_.begin(), refused_.end(), identity) != refused_.end();
}

// What runs once timing and trials are taken away.
const Active* Slot::Plain(const Active* active) const {
  if (active->kind == Active::Kind::kBaseline) return &baseline_active_;
  if (active->kind == Active::Kind::kVariant) return active;
  const auto* trial = static_cast<const LiveTrial*>(active->executable);
  return trial->winner() != nullptr ? trial->winner() : &trial->incumbent();
}

void Slot::Install(const Active& next, bool start) {
  if (suspended()) {
    resume_to_ = &next;
    return;
  }
  current_.store(&next, std::memory_order_release);
  if (next.kind == Active::Kind::kTrial) return;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  if (!start) Count(counters_.swaps);
}

bool Slot::PutOnTrial(const Owned& owned) {
  const Active& incumbent = *Chosen();
  if (&incumbent == &owned.active) return false;
  auto trial =
      std::make_unique<LiveTrial>(incumbent, owned.active, *baseline_.executable, can_redo_,
                                  device_, static_cast<LiveTrial::Listener&>(*this));
  auto active = std::make_unique<Active>();
  active->kind = Active::Kind::kTrial;
  active->executable = trial.get();
  active->misaligned_bits = misaligned_bits_;
  active->variant = incumbent.variant;
  trials_.push_back(std::move(trial));
  trial_actives_.push_back(std::move(active));
  Install(*trial_actives_.back(), false);
  return true;
}

Slot::Offered Slot::Offer(std::unique_ptr<Executable> executable, const Variant& variant,
                          bool on_trial, bool start) {
  if (owned_.size() >= kMaxVariants) return Offered::kFull;
  auto owned = std::make_unique<Owned>();
  owned->variant = variant;
  owned->identity = variant.Identity();
  owned->executable = std::move(executable);
  owned->active.executable = owned->executable.get();
  owned->active.misaligned_bits = misaligned_bits_;
  owned->active.kind = Active::Kind::kVariant;
  owned->active.variant = &owned->variant;
  owned_.push_back(std::move(owned));
  if (on_trial) {
    PutOnTrial(*owned_.back());
    return Offered::kOnTrial;
  }
  Install(owned_.back()->active, start);
  return Offered::kActive;
}

bool Slot::OfferAgain(const Hash128& identity) {
  const Owned* owned = Find(identity);
  if (owned == nullptr) return false;
  if (Chosen() != &owned->active) Install(owned->active, false);
  return true;
}

void Slot::Suspend() {
  if (suspended()) return;
  suspended_.store(true, std::memory_order_release);
  resume_to_ = current_.exchange(&baseline_active_, std::memory_order_acq_rel);
  if (resume_to_->kind != Active::Kind::kVariant) return;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  Count(counters_.rollbacks);
}

void Slot::Resume() {
  if (!suspended()) return;
  suspended_.store(false, std::memory_order_release);
  current_.store(resume_to_, std::memory_order_release);
  if (resume_to_->kind != Active::Kind::kVariant) return;
  generation_.fetch_add(1, std::memory_order_acq_rel);
  Count(counters_.swaps);
}

}  // namespace hiera
