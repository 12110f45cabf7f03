// The parts of Engine that the client thread calls: what the planner and the published index say.
#include <string>

#include "runtime/base/clock.h"
#include "runtime/core/engine.h"

namespace hiera {
namespace {

// An announcement reaches us before the index that carries it, which is written at most once a
// second: for so long the index does not overrule it.
constexpr int64_t kIndexLagNs = 3'000'000'000;

}  // namespace

void Engine::Announced(const Variant& variant) {
  Notes notes;
  {
    const std::lock_guard lock(mutex_);
    for (Slot* slot : table_.WithKey(variant.key)) {
      slot->notes.announced_ns = MonotonicNs();
      slot->notes.look_again = true;
      Bring(*slot, variant, false, notes);
    }
  }
  Say(notes);
  settle_bell_.Notify();
}

void Engine::Settled(const Hash128& key, const std::string& outcome) {
  {
    const std::lock_guard lock(mutex_);
    for (Slot* slot : table_.WithKey(key)) {
      slot->notes.outcome = outcome;
      slot->set_planning(Planning::kSettled);
    }
  }
  if (outcome.starts_with("not planned")) {
    const bool told = told_not_planned_.exchange(true, std::memory_order_relaxed);
    Say({{told ? LogLevel::kDebug : LogLevel::kWarning, outcome}});
  }
  settle_bell_.Notify();
}

void Engine::PlannerLost(const std::string& reason) {
  planner_connected_.store(false, std::memory_order_relaxed);
  {
    const std::lock_guard lock(mutex_);
    planner_trouble_ = reason;
  }
  connect_failures_.fetch_add(1, std::memory_order_acq_rel);
  settle_bell_.Notify();
}

// A damaged or vanished index leaves the one we hold in force. index_ changes in this thread alone.
void Engine::RefreshIndex() {
  std::shared_ptr<const PublishedIndex> fresh;
  if (index_ == nullptr || index_->Superseded()) {
    Result<std::shared_ptr<const PublishedIndex>> opened = PublishedIndex::Open(parts_.index_path);
    if (opened.ok()) fresh = *std::move(opened);
  }
  Notes notes;
  {
    const std::lock_guard lock(mutex_);
    if (fresh != nullptr) {
      index_ = fresh;
      if (switched_off_ != fresh->switched_off()) {
        switched_off_ = fresh->switched_off();
        notes.push_back({LogLevel::kInfo, switched_off_ ? "switched off: back to the baselines"
                                                        : "switched on again"});
        for (const auto& slot : table_.all()) switched_off_ ? slot->Suspend() : slot->Resume();
      }
    }
    const int64_t now = MonotonicNs();
    for (const auto& slot : table_.all()) {
      if (index_ != nullptr && (fresh != nullptr || slot->notes.look_again)) {
        LookAtIndex(*slot, now, notes);
      }
    }
  }
  Say(notes);
  if (!notes.empty()) settle_bell_.Notify();
}

void Engine::LookAtIndex(Slot& slot, int64_t now_ns, Notes& notes) {
  slot.notes.look_again = now_ns - slot.notes.announced_ns < kIndexLagNs;
  if (slot.notes.look_again) return;
  const std::optional<Variant> variant = index_->Find(slot.key());
  if (variant.has_value()) Bring(slot, *variant, false, notes);
}

}  // namespace hiera
