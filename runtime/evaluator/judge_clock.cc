// Whether a worker's times are those that the judge's own clocks see.
#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/evaluator/judge.h"

namespace hiera {
namespace {

constexpr double kClockCheckNs = 5e6;
constexpr double kClockFactor = 2;
constexpr double kExchangeNs = 300e3;  // of waking a worker, asking and answering
constexpr int kClockTries = 3;

WorkerRequest Repetition(double time_ns) {
  WorkerRequest request;
  request.kind = WorkerRequest::Kind::kRepeat;
  request.calls = static_cast<uint64_t>(std::clamp(kClockCheckNs / time_ns, 1.0, 1e6));
  return request;
}

Finding Disbelieved(double told_ns, double seen_ns) {
  return {Verdict::kMisbehaved, "its time cannot be believed: by the worker's clock " +
                                    Nanoseconds(told_ns) + " a call, by the judge's " +
                                    Nanoseconds(seen_ns)};
}

}  // namespace

Judge::MaybeFinding Judge::CheckClock(Hearing& hearing) {
  if (OnGpu()) return CheckGpuClock(hearing);
  const double time_ns = hearing.report.time_ns;
  WorkerRequest request = Repetition(time_ns);
  request.trial = hearing.positions[hearing.course.timed];
  const double told_ns = time_ns * static_cast<double>(request.calls);
  double least_ns = 0;
  for (int i = 0; i < kClockTries; ++i) {
    const int64_t begin = MonotonicNs();
    const int64_t processor_begin = hearing.worker->ProcessorNs();
    auto outcome = Ask(hearing, request, 100 * told_ns * 1e-9 + RunTimeout(hearing));
    if (outcome.finding) return outcome.finding;
    // What the kernel charged the worker, on all its threads, is not stretched by others' work.
    const double wall_ns = static_cast<double>(MonotonicNs() - begin);
    const double charged_ns = static_cast<double>(hearing.worker->ProcessorNs() - processor_begin) /
                              device_.parallelism();
    const double ns = std::min(wall_ns, charged_ns);
    least_ns = i == 0 ? ns : std::min(least_ns, ns);
    if (least_ns <= kClockFactor * told_ns + kExchangeNs) return std::nullopt;
  }
  return Disbelieved(time_ns, least_ns / static_cast<double>(request.calls));
}

// No code of a candidate runs where the times are read, so what is looked for is work that the
// events did not see. Other users of the device, of whom there is no account, stretch the events of
// the very same calls as much as the judge's clock: those are what it is held against, and where
// they are much longer than what was measured, the measurement is provisional.
Judge::MaybeFinding Judge::CheckGpuClock(Hearing& hearing) {
  const double time_ns = hearing.report.time_ns;
  WorkerRequest request = Repetition(time_ns);
  request.trial = hearing.positions[hearing.course.timed];
  request.graph = hearing.request.graph;
  const auto calls = static_cast<double>(request.calls);
  double told_ns = 0, seen_ns = 0;
  for (int i = 0; i < kClockTries; ++i) {
    const int64_t begin = MonotonicNs();
    auto outcome = Ask(hearing, request, 100 * time_ns * calls * 1e-9 + RunTimeout(hearing));
    if (outcome.finding) return outcome.finding;
    seen_ns = static_cast<double>(MonotonicNs() - begin);
    const auto& told = outcome.reply.candidate_ns;
    told_ns = std::max(time_ns, told.empty() ? 0.0 : told[0]);
    if (seen_ns > kClockFactor * told_ns * calls + kExchangeNs) continue;
    hearing.report.provisional |= told_ns > kClockFactor * time_ns;
    return std::nullopt;
  }
  return Disbelieved(told_ns, seen_ns / calls);
}

}  // namespace hiera
