// Contract: what every implementation of a task must honour. A plain value; part of the key.
#ifndef HIERA_RUNTIME_TASK_CONTRACT_H_
#define HIERA_RUNTIME_TASK_CONTRACT_H_

#include <cstdint>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/task/tensor.h"

namespace hiera {

// What may be done to the arithmetic, from strict to loose; each admits those before it. The
// accumulation type bounds the precision of every sum whatever is admitted here.
enum class Arithmetic : uint8_t {
  kExact = HIERA_ARITHMETIC_EXACT,  // the order as written, no contraction: bitwise
  // Sums in any order, fused multiply-add, a division by a constant as a product with its
  // reciprocal (default).
  kReassociate = HIERA_ARITHMETIC_REASSOCIATE,
  kTf32 = HIERA_ARITHMETIC_TF32,  // f32 products may round operands to TF32
};

// What the inputs look like; verification draws from it, and a variant may not assume more.
enum class Inputs : uint8_t {
  kAny = HIERA_INPUTS_ANY,            // normal, uniform and wide-range draws
  kNormal = HIERA_INPUTS_NORMAL,      // about N(0, 1)
  kPositive = HIERA_INPUTS_POSITIVE,  // positive, about 1
};

struct Contract {
  // An output element may differ from the exact value by
  //   error_scale * sqrt(K) * unit roundoff of the accumulation type * magnitude,
  // K being the terms that are summed into it and magnitude the formula over absolute values, plus
  // one rounding to the output's type. Source of the form: Higham, Accuracy and Stability of
  // Numerical Algorithms, 2nd ed., section 2.8 (the sqrt(n) rule of thumb for rounding errors).
  double error_scale = 4;
  Arithmetic arithmetic = Arithmetic::kReassociate;
  Inputs inputs = Inputs::kAny;
  // f32 or f64: the type that reals are computed and summed in. Set when the task is built: f64
  // where any real tensor of the task is f64, else f32; a caller may ask for f64.
  DType accumulate = DType::kF32;
  bool deterministic = false;                  // two runs on equal inputs give equal bits
  bool special_values = true;                  // NaN and infinities among the inputs are honoured
  int64_t workspace_bytes = int64_t{1} << 30;  // the most that a variant may ask for; 0: none
  int64_t alignment = 0;  // bytes every pointer is aligned to: 16, 1 (its element), 0 (as usual)

  friend bool operator==(const Contract&, const Contract&) = default;
};

std::string_view ArithmeticName(Arithmetic arithmetic);  // "exact", "reassociate", "tf32"
Result<Arithmetic> ArithmeticFromName(std::string_view name);
std::string_view InputsName(Inputs inputs);  // "any", "normal", "positive"
Result<Inputs> InputsFromName(std::string_view name);

// Every field in range. Names the field at fault.
Status Validate(const Contract& contract);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CONTRACT_H_
