#include "policies/kernel/cuda_sweep_taps.h"

#include <algorithm>
#include <bitset>
#include <iterator>

namespace hiera {
namespace {

// Of a multiprocessor and a thread, on every architecture since compute capability 8.0 or before.
constexpr int64_t kRegisters = 65536;
constexpr int64_t kMostRegisters = 255;
constexpr int64_t kResidentThreads = 2048;
constexpr int64_t kMostDistance = 128;  // of planes; a StencilTask reaches half as far
constexpr int64_t kRegisterUnit = 8;    // by which a thread's registers are given

// For addresses, loop, and the arithmetic in progress; compiled code was looked at.
constexpr int64_t kOtherRegisters = 24;
// Held values beyond this leave too few threads to hide latency: half of a thread's most.
constexpr int64_t kMostHeldWords = 128;
// Operations of a group of planes, beyond which compiling takes too long.
constexpr int64_t kWrittenOut = 400;

int64_t Words(const StencilTask& stencil) { return stencil.dtype == DType::kF32 ? 1 : 2; }

int64_t PowerOfTwoFrom(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

class TapPlanner {
 public:
  TapPlanner(const StencilTask& stencil, const CudaSweepOptions& options)
      : stencil_(stencil), options_(options), rows_(stencil.rows) {
    // Kept cells hand on the state's own value.
    if (stencil.steps > 1 && stencil.keeps()) rows_.push_back({0, 0, 0, 0, 0, 1});
    // The thread's own cells belong to every row, so that each source has a piece that is theirs.
    for (StencilTask::Row& row : rows_) {
      row.low = std::min<int64_t>(row.low, 0);
      row.high = std::max<int64_t>(row.high, 0);
    }
  }

  SweepTaps Plan() {
    for (size_t s = 0; s < stencil_.sources.size(); ++s) PlanPieces(static_cast<int>(s));
    PlanColumns();
    for (size_t c = 0; c < plan_.columns.size(); ++c) PlanTaps(static_cast<int>(c));
    PlanAhead();
    PlanHeld();
    PlanUnroll();
    const auto count = static_cast<int64_t>(plan_.pieces.size() + plan_.columns.size());
    plan_.registers =
        kOtherRegisters + (plan_.held + 2 * options_.neighbours) * Words(stencil_) + count;
    return std::move(plan_);
  }

 private:
  void PlanPieces(int source) {
    int64_t low = 0, high = 0;
    for (const StencilTask::Row& row : rows_) {
      if (row.source != source) continue;
      low = std::max(low, -row.low);
      high = std::max(high, row.high);
    }
    const int64_t n = options_.neighbours;
    if (low % n > 0) {
      const int64_t width = PowerOfTwoFrom(low % n);
      plan_.pieces.push_back({source, -(low / n * n + width), width});
    }
    for (int64_t at = -(low / n * n); at <= high / n * n; at += n) {
      plan_.pieces.push_back({source, at, n});
    }
    if (high % n > 0) {
      plan_.pieces.push_back({source, high / n * n + n, PowerOfTwoFrom(high % n)});
    }
  }

  void PlanColumns() {
    for (const StencilTask::Row& row : rows_) {
      const bool known =
          std::any_of(plan_.columns.begin(), plan_.columns.end(),
                      [&](const auto& c) { return c.source == row.source && c.d1 == row.d1; });
      if (!known) plan_.columns.push_back({row.source, row.d1});
    }
    // The nearest first: those are held, where not all can be.
    std::stable_sort(plan_.columns.begin(), plan_.columns.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.d1) < std::abs(b.d1); });
  }

  void PlanTaps(int c) {
    const SweepTaps::Column& column = plan_.columns[c];
    std::vector<StencilTask::Row> here;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(here), [&](const auto& row) {
      return row.source == column.source && row.d1 == column.d1;
    });
    for (size_t p = 0; p < plan_.pieces.size(); ++p) {
      const SweepTaps::Piece& piece = plan_.pieces[p];
      if (piece.source != column.source) continue;
      SweepTaps::Tap tap{c, static_cast<int>(p), kMostDistance, -kMostDistance, 0, -1, 0};
      std::bitset<2 * kMostDistance + 1> planes;
      for (const StencilTask::Row& row : here) {
        const bool reads =
            row.low < piece.at + piece.width && piece.at <= row.high + options_.neighbours - 1;
        if (!reads) continue;
        tap.first = std::min(tap.first, row.d0);
        tap.last = std::max(tap.last, row.d0);
        planes.set(static_cast<size_t>(row.d0 + kMostDistance));
      }
      tap.planes = static_cast<int64_t>(planes.count());
      if (tap.planes > 0) plan_.taps.push_back(tap);
    }
  }

  // Of each source the thread's own cells in the foremost plane are what comes from memory; what
  // else is read has been asked for by some thread before.
  void PlanAhead() {
    if (options_.march == 1) return;
    for (size_t s = 0; s < stencil_.sources.size(); ++s) {
      SweepTaps::Tap* lead = nullptr;
      for (SweepTaps::Tap& tap : plan_.taps) {
        const SweepTaps::Piece& piece = plan_.pieces[tap.piece];
        if (piece.source != static_cast<int>(s) || piece.at != 0) continue;
        if (lead == nullptr || tap.last > lead->last) lead = &tap;
      }
      if (lead != nullptr) lead->ahead = options_.ahead;
    }
  }

  void PlanHeld() {
    if (options_.march == 1) return;
    for (SweepTaps::Tap& tap : plan_.taps) {
      const int64_t elements =
          (tap.last - tap.first + 1 + tap.ahead) * plan_.pieces[tap.piece].width;
      const bool fits = (plan_.held + elements) * Words(stencil_) <= kMostHeldWords;
      if ((tap.planes > 1 || tap.ahead > 0) && fits) {
        tap.base = plan_.held;
        plan_.held += elements;
      } else {
        tap.ahead = 0;
      }
    }
  }

  void PlanUnroll() {
    for (const SweepTaps::Tap& tap : plan_.taps) {
      if (tap.base < 0) continue;
      plan_.unroll = std::max(plan_.unroll, tap.last - tap.first + 1 + tap.ahead);
    }
    const int64_t plane = (stencil_.work.reads + 4) * options_.neighbours * Words(stencil_);
    plan_.unroll = std::min({plan_.unroll, std::max<int64_t>(kWrittenOut / plane, 1),
                             static_cast<int64_t>(options_.march)});
  }

  const StencilTask& stencil_;
  const CudaSweepOptions& options_;
  std::vector<StencilTask::Row> rows_;
  SweepTaps plan_;
};

}  // namespace

SweepTaps PlanSweepTaps(const StencilTask& stencil, const CudaSweepOptions& options) {
  return TapPlanner(stencil, options).Plan();
}

int64_t ResidentBlocks(const SweepTaps& taps, const CudaSweepOptions& options) {
  if (taps.registers > kMostRegisters) return 0;
  const int64_t threads = int64_t{options.threads_x} * options.threads_y;
  const int64_t registers = (taps.registers + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
  return std::min(kResidentThreads / threads, kRegisters / (registers * threads));
}

}  // namespace hiera
