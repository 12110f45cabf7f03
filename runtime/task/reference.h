// The reference: what a task's outputs are, straight from the formula, element by element, in
// extended precision (the 64-bit significand of x86's long double: 2^11 finer than f64, 2^40 finer
// than f32). It knows no policy and shares no code with the interpreter or the generators.
// Pure functions; inputs are only read.
#ifndef HIERA_RUNTIME_TASK_REFERENCE_H_
#define HIERA_RUNTIME_TASK_REFERENCE_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

// One output element as it should be.
struct ReferenceElement {
  int64_t position = 0;       // element offset into the tensor's buffer (strides applied)
  bool written = true;        // false: a keep rule leaves it as it was
  long double value = 0;      // unrounded; integers and booleans exactly
  long double magnitude = 0;  // the formula over absolute values, times growth through functions
  double terms = 1;           // K: how many terms were summed into it
  // Of an arg-reduction over computed values: ranges, first to last, of further indices that may
  // rightly be taken for the best, as their values lie within the error bounds of it.
  std::vector<std::pair<int64_t, int64_t>> ties;
};

struct ReferenceOutput {
  int tensor = -1;
  std::vector<ReferenceElement> elements;
};

struct ReferenceOptions {
  // At most this many elements of each output, spread over all of it with every edge and corner
  // first, chosen by the seed; 0: all. Tasks of several statements or steps are computed whole, and
  // then sampled.
  int64_t max_elements = 0;
  uint64_t seed = 0;
  // Instead: these elements (row-major numbers) of this one output; -1: of all, as above.
  int output = -1;
  std::vector<int64_t> elements;
};

// Whether elements of an output can be computed without the rest of the task: what its statement
// reads is nothing that another statement or step writes.
bool StandsAlone(const Task& task, int output);

// pointers and scalars as in a run; in-place tensors hold their values from before it.
// Errors: kOutOfMemory, kInvalidArgument (a scalar that contradicts its class).
Result<std::vector<ReferenceOutput>> RunReference(const Task& task, void* const* pointers,
                                                  const double* scalars,
                                                  const ReferenceOptions& options = {});

// Rounds a reference value to `dtype` and stores it at `element` (to nearest even; NaN stays NaN).
void StoreRounded(long double value, DType dtype, void* element);
// Reads an element exactly.
long double LoadExact(DType dtype, const void* element);

// The largest |actual - value| that the contract admits for this element of a tensor of `dtype`:
// see Contract::error_scale. A NaN or infinite value must be met exactly (any NaN for NaN), an
// index exactly or by one of the ties.
long double ErrorBound(const ReferenceElement& element, const Contract& contract, DType dtype);
bool Admits(const ReferenceElement& element, const Contract& contract, DType dtype,
            const void* actual);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_REFERENCE_H_
