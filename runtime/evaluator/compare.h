// Comparing what a candidate left in memory with what is expected. Pure functions.
#ifndef HIERA_RUNTIME_EVALUATOR_COMPARE_H_
#define HIERA_RUNTIME_EVALUATOR_COMPARE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "runtime/evaluator/expectation.h"
#include "runtime/evaluator/layout.h"
#include "runtime/task/candidate.h"

namespace hiera {

// Why a candidate is rejected, or not looked at any further.
struct Finding {
  Verdict verdict = Verdict::kWrong;
  std::string detail;
};

// One finished run. `outputs` maps the layout's file as the candidate left it; `inputs` the trial's
// inputs and initial values.
struct FinishedRun {
  const Task& task;
  const Layout& layout;
  Placement placement;
  uint8_t poison;
  const std::byte* inputs;
  const std::byte* outputs;
  const double* scalars = nullptr;  // of the trial; null where the task has none
};

// The first thing wrong with the outputs, or nothing: bytes changed around an output or between its
// elements (kMisbehaved), elements left unwritten or outside the contract, and errors too large on
// the whole (kWrong). Of the elements that the expectation has no reference for, up to 64 an output
// may differ from the interpreter's: the reference is then asked about those.
std::optional<Finding> CheckRun(const FinishedRun& run, const Expectation& expectation);

// Whether the outputs hold the very bits of `earlier`, a copy of the file after another run on the
// same inputs, bytes that neither run wrote aside. Names the first difference.
std::optional<Finding> CheckRepeated(const FinishedRun& run, const std::byte* earlier,
                                     uint8_t earlier_poison);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_COMPARE_H_
