#include "runtime/core/live_trial.h"

#include <algorithm>
#include <cmath>

namespace hiera {
namespace {

constexpr int CallsOf(int stage) { return 2 * (LiveTrial::kStagePairs[stage] + 1); }

}  // namespace

LiveTrial::LiveTrial(const Active& incumbent, const Active& variant, const Executable& baseline,
                     bool can_redo, Device& device, Listener& listener)
    : incumbent_(incumbent),
      variant_(variant),
      baseline_(baseline),
      can_redo_(can_redo),
      device_(device),
      listener_(listener) {
  for (auto& timer : timers_) timer = device.MakeTimer();
}

hiera_status LiveTrial::Run(const Call& call) const noexcept {
  if (const Active* decided = winner()) return RunUntimed(*decided, call);
  if (device_.IsCapturing(call.stream)) return RunUntimed(incumbent_, call);
  const int limit = CallsOf(stage_.load(std::memory_order_acquire));
  int mine = begun_.load(std::memory_order_relaxed);
  do {
    if (mine >= limit) {
      if (ended_.load(std::memory_order_acquire) == limit) TryDecide();
      return RunUntimed(incumbent_, call);
    }
  } while (!begun_.compare_exchange_weak(mine, mine + 1, std::memory_order_relaxed));

  const Active& active = mine % 2 == 0 ? incumbent_ : variant_;
  timers_[mine]->Begin(call.stream);
  const hiera_status direct = active.executable->Run(call);
  timers_[mine]->End(call.stream);
  hiera_status status = direct;
  if (direct != HIERA_OK && active.kind == Active::Kind::kVariant) {
    unfit_[mine] = true;
    if (direct != HIERA_UNAVAILABLE) {
      if (&active == &variant_) Decide(incumbent_);
      listener_.VariantFailed(active, direct);
    }
    if (direct == HIERA_UNAVAILABLE || can_redo_) status = baseline_.Run(call);
  }
  if (ended_.fetch_add(1, std::memory_order_acq_rel) + 1 == limit) TryDecide();
  return status;
}

hiera_status LiveTrial::RunUntimed(const Active& active, const Call& call) const noexcept {
  const hiera_status status = active.executable->Run(call);
  if (status == HIERA_OK || active.kind != Active::Kind::kVariant) return status;
  if (status != HIERA_UNAVAILABLE) listener_.VariantFailed(active, status);
  return status == HIERA_UNAVAILABLE || can_redo_ ? baseline_.Run(call) : status;
}

// Every call of the stage has ended. One thread at a time gets past the exchange; it leaves the
// flag set once there is a winner.
void LiveTrial::TryDecide() const noexcept {
  if (deciding_.exchange(true, std::memory_order_acquire)) return;
  const int stage = stage_.load(std::memory_order_relaxed);
  const int pairs = kStagePairs[stage];
  std::array<double, kStagePairs.back()> ratios, incumbent_times;
  bool complete = ended_.load(std::memory_order_acquire) == CallsOf(stage);
  for (int pair = 0; complete && pair < pairs; ++pair) {
    const int call = 2 * (pair + 1);
    const double incumbent_ns = timers_[call]->ElapsedNs();
    const double variant_ns = timers_[call + 1]->ElapsedNs();
    complete = !(incumbent_ns < 0) && !(variant_ns < 0);
    const bool lost = std::isnan(incumbent_ns) || std::isnan(variant_ns);
    incumbent_times[pair] = lost ? 0 : incumbent_ns;
    // A call that the variant could not take, or whose time was lost, counts against it.
    ratios[pair] =
        unfit_[call + 1] || lost ? 0 : std::max(incumbent_ns, 1.0) / std::max(variant_ns, 1.0);
  }
  if (!complete || winner() != nullptr) {
    deciding_.store(false, std::memory_order_release);
    return;
  }
  std::sort(ratios.begin(), ratios.begin() + pairs);
  const double low = ratios[kStageRank[stage] - 1];
  const double high = ratios[pairs - kStageRank[stage]];
  const bool last = stage + 1 == static_cast<int>(kStagePairs.size());
  if (low <= kWorthwhile && high > kWorthwhile && !last) {
    stage_.store(stage + 1, std::memory_order_release);
    deciding_.store(false, std::memory_order_release);
    return;
  }
  ratio_.store((ratios[(pairs - 1) / 2] + ratios[pairs / 2]) / 2, std::memory_order_relaxed);
  std::sort(incumbent_times.begin(), incumbent_times.begin() + pairs);
  incumbent_ns_.store(incumbent_times[(pairs - 1) / 2], std::memory_order_relaxed);
  Decide(low > kWorthwhile ? variant_ : incumbent_);
}

void LiveTrial::Decide(const Active& winner) const noexcept {
  const Active* none = nullptr;
  if (winner_.compare_exchange_strong(none, &winner, std::memory_order_acq_rel)) {
    listener_.TrialDecided(*this);
  }
}

}  // namespace hiera
