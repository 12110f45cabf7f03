// Expectation: what the outputs of one trial must be. The reference says it for sampled elements
// (all of them where that is affordable, every edge first otherwise); a plain implementation, the
// interpreter, says it for the rest once the reference has vouched for it on the samples.
// Made once per trial and then only read; any thread.
#ifndef HIERA_RUNTIME_EVALUATOR_EXPECTATION_H_
#define HIERA_RUNTIME_EVALUATOR_EXPECTATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/layout.h"
#include "runtime/evaluator/shared_memory.h"
#include "runtime/task/reference.h"
#include "runtime/task/task.h"

namespace hiera {

// What fills an output's slot before a run. Two patterns, so that no value can hide behind one: the
// first is a NaN in every real type, the second a large finite number.
inline constexpr uint8_t kPoison[2] = {0xff, 0x5b};

// How exact the elements of one output may be.
struct OutputLimits {
  int tensor = -1;
  // Root mean square of error / bound over the sampled elements: at most this; negative: no limit.
  double rms = -1;
  // For elements that were not sampled: |actual - plain| <= max(absolute, relative * |plain|).
  double absolute = 0, relative = 0;
};

struct Expectation {
  std::vector<ReferenceOutput> reference;  // empty where only `plain` speaks
  std::vector<OutputLimits> limits;        // one per output, in the order of `reference`
  MappedRegion plain;  // the layout's file as the interpreter left it, poisoned with kPoison[0]
  double plain_seconds = 0;  // that the interpreter took
  bool keeps = false;        // the interpreter left elements of an output unwritten
  bool vouched = false;      // plain may be compared with
  double finite_share = 1;   // of the expected sampled elements
  std::string disagreement;  // where the interpreter fails the reference; empty otherwise
};

struct ExpectationOptions {
  int64_t max_elements = 0;  // sampled in each output
  uint64_t seed = 0;
  // Set where the reference is not to be run: the limits of another trial of the same distribution.
  const std::vector<OutputLimits>* limits = nullptr;
};

// `inputs` is a mapping of the layout's file that holds every input and the initial values of
// tensors that are updated in place. `plain` may be null: then unsampled elements go unchecked.
Result<Expectation> MakeExpectation(const Task& task, const Layout& layout, Placement placement,
                                    std::byte* inputs, const std::vector<double>& scalars,
                                    const Executable* plain, const ExpectationOptions& options);

// Sets the slots of all outputs to the poison, and tensors that are updated in place to their
// initial values. Slots of inputs are not touched.
void PrepareOutputs(const Task& task, const Layout& layout, Placement placement,
                    const std::byte* inputs, uint8_t poison, std::byte* outputs);

// The outputs of a task: bound tensors that it writes.
std::vector<int> OutputsOf(const Task& task);

// Root mean square of error / bound over the elements that have a finite bound above 0.
double RmsOfErrors(const ReferenceOutput& reference, const Task& task, const std::byte* actual);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_EXPECTATION_H_
