// Task: what must be computed, exactly. Tensors with layouts, scalars, the formula and the
// contract. A plain value; build it with ParseTask (parse.h) or a typed constructor
// (constructors.h), which leave it valid. Once built it is not changed.
#ifndef HIERA_RUNTIME_TASK_TASK_H_
#define HIERA_RUNTIME_TASK_TASK_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/status.h"
#include "runtime/task/contract.h"
#include "runtime/task/formula.h"
#include "runtime/task/tensor.h"

namespace hiera {

// Scalars are passed at run time as doubles and rounded to the accumulation type. 0 and 1 make
// tasks of their own, because they change what may be read (beta = 0) and what must be computed.
enum class ScalarClass : uint8_t {
  kAny = HIERA_SCALAR_ANY,
  kZero = HIERA_SCALAR_ZERO,  // the value is 0 at every run
  kOne = HIERA_SCALAR_ONE,    // the value is 1 at every run
};

struct ScalarSpec {
  std::string name;
  ScalarClass value_class = ScalarClass::kAny;

  friend bool operator==(const ScalarSpec&, const ScalarSpec&) = default;
};

enum class Role : uint8_t {
  kInput,    // only read
  kOutput,   // only written, by one statement; statements after that may read it
  kInPlace,  // read at exactly the element that is written, then written
  kLocal,    // made by one statement, read by later ones; bound to no buffer
};

struct Task {
  // Bound tensors first, in binding order: tensors[i] is pointer i of a run. Then locals, dense
  // row-major, of the accumulation type (i32 where the value is an integer, bool where boolean).
  std::vector<TensorSpec> tensors;
  int bound_count = 0;
  std::vector<ScalarSpec> scalars;
  Formula formula;
  Contract contract;

  bool is_local(int tensor) const { return tensor >= bound_count; }

  friend bool operator==(const Task&, const Task&) = default;
};

Role RoleOf(const Task& task, int tensor);

// Whether any read of the task can fall outside tensor `tensor`, by interval arithmetic over the
// index ranges (a gathered axis always can).
bool CanReadOutside(const Task& task, int tensor);

// The canonical text: positional names, one spelling for every spelling of one task, in the
// language of parse.h, so that ParseTask(CanonicalText(t)) is a task with the same canonical text.
// It is what travels between processes and what the store keeps.
std::string CanonicalText(const Task& task);

// The key of a task on a device: hash of the canonical text and the fingerprint's text.
Hash128 TaskKey(std::string_view canonical_text, std::string_view fingerprint_text);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_TASK_H_
