// Measuring a candidate beside its incumbent, inside the worker.
#ifndef HIERA_RUNTIME_EVALUATOR_MEASURE_H_
#define HIERA_RUNTIME_EVALUATOR_MEASURE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/fault_record.h"

namespace hiera {

struct MeasureOptions {
  double seconds = 0.2;  // of the whole, roughly
  // Puts back what the calls of a sample change, before each sample; null where nothing is.
  std::function<void()> restore;
  FaultRecord* record = nullptr;  // told which of the two is running
};

struct MeasuredPairs {
  std::vector<double> incumbent_ns, candidate_ns;  // per call; incumbent_ns empty without one
};

// One sample of that many calls, in nanoseconds per call; negative where a call failed.
using TakeSample = std::function<double(int64_t calls)>;

// Samples in turns, A B A B, each of so many calls that it lasts `shortest_sample_ns` or more.
// After a warm-up, at least three pairs, whatever the budget of `seconds`, but for a candidate that
// the first finds clearly slower. `incumbent` may be empty. Errors: kDeviceError (one of the two
// refused to run).
Result<MeasuredPairs> MeasureInTurns(const TakeSample& incumbent, const TakeSample& candidate,
                                     double seconds, double shortest_sample_ns);

// On the host, with samples of 20 us or more.
Result<MeasuredPairs> MeasureInTurns(const Executable* incumbent, const Executable& candidate,
                                     const Call& call, const MeasureOptions& options);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_MEASURE_H_
