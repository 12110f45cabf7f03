#include "runtime/evaluator/measure.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

constexpr double kShortestSampleNs = 20'000;
constexpr int kMostPairs = 200;
constexpr int kFewestPairs = 3;
constexpr int kEnoughPairs = 9;    // within a larger budget
constexpr double kOverBudget = 3;  // how much larger
constexpr int kWarmCalls = 3;
constexpr double kWarmNs = 2e6;  // of warm calls, at most
// A candidate that takes this many times as long, in the warm-up and in a first pair, has lost.
constexpr double kClearlySlower = 3;

// One of the two, with as many calls a sample as it needs.
struct Contender {
  const TakeSample& take;
  int64_t calls = 1;
};

double Sample(const Contender& contender) { return contender.take(contender.calls); }

// Runs a few calls and sets how many make a sample of `sample_ns`. Returns the time of a sample.
double WarmUp(Contender& contender, double sample_ns, double shortest_sample_ns) {
  double least = 0;
  double spent = 0;
  for (int i = 0; i < kWarmCalls && (i == 0 || spent < kWarmNs); ++i) {
    const double ns = Sample(contender);
    if (ns < 0) return -1;
    least = i == 0 ? ns : std::min(least, ns);
    spent += ns;
  }
  // A single short call is mostly clock; time enough of them to see through it.
  if (least < shortest_sample_ns) {
    contender.calls =
        std::max<int64_t>(1, std::llround(shortest_sample_ns / std::max(least, 10.0)));
    least = Sample(contender);
    if (least < 0) return -1;
  }
  contender.calls =
      std::max<int64_t>(1, static_cast<int64_t>(std::ceil(sample_ns / std::max(least, 1.0))));
  return least * static_cast<double>(contender.calls);
}

// Samples of an executable of the host, by the wall clock. Nanoseconds per call.
TakeSample OnHost(const Executable& executable, Phase phase, const Call& call,
                  const MeasureOptions& options) {
  return [&executable, phase, &call, &options](int64_t calls) -> double {
    if (options.restore) options.restore();
    if (options.record != nullptr) options.record->phase = phase;
    const int64_t begin = MonotonicNs();
    for (int64_t i = 0; i < calls; ++i) {
      if (executable.Run(call) != HIERA_OK) return -1;
    }
    const int64_t end = MonotonicNs();
    if (options.record != nullptr) options.record->phase = Phase::kSetup;
    return static_cast<double>(end - begin) / static_cast<double>(calls);
  };
}

}  // namespace

Result<MeasuredPairs> MeasureInTurns(const Executable* incumbent, const Executable& candidate,
                                     const Call& call, const MeasureOptions& options) {
  TakeSample first;
  if (incumbent != nullptr) first = OnHost(*incumbent, Phase::kIncumbent, call, options);
  return MeasureInTurns(first, OnHost(candidate, Phase::kCandidate, call, options), options.seconds,
                        kShortestSampleNs);
}

Result<MeasuredPairs> MeasureInTurns(const TakeSample& incumbent, const TakeSample& candidate,
                                     double seconds, double shortest_sample_ns) {
  const Status refused = DeviceError("a call was refused while it was measured");
  const double budget_ns = seconds * 1e9;
  const double sample_ns = std::max(shortest_sample_ns, budget_ns / (2 * kMostPairs));
  Contender second{candidate};
  Contender first{incumbent};
  const double second_ns = WarmUp(second, sample_ns, shortest_sample_ns);
  if (second_ns < 0) return refused;
  double pair_ns = second_ns;
  bool lost = false;
  if (incumbent) {
    const double first_ns = WarmUp(first, sample_ns, shortest_sample_ns);
    if (first_ns < 0) return refused;
    pair_ns += first_ns;
    lost = second_ns / static_cast<double>(second.calls) >
           kClearlySlower * first_ns / static_cast<double>(first.calls);
  }

  MeasuredPairs pairs;
  const int64_t begin = MonotonicNs();
  for (int i = 0; i < kMostPairs; ++i) {
    const double spent = static_cast<double>(MonotonicNs() - begin);
    if (i >= kFewestPairs && spent + pair_ns > kOverBudget * budget_ns) break;
    if (i >= kEnoughPairs && spent + pair_ns > budget_ns) break;
    if (incumbent) {
      const double ns = Sample(first);
      if (ns < 0) return refused;
      pairs.incumbent_ns.push_back(ns);
    }
    const double ns = Sample(second);
    if (ns < 0) return refused;
    pairs.candidate_ns.push_back(ns);
    if (i == 0 && lost && ns > kClearlySlower * pairs.incumbent_ns[0]) break;
  }
  return pairs;
}

}  // namespace hiera
