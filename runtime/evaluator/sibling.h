// Sibling: the same task on smaller extents. Where a task has to be computed as a whole (several
// statements or steps) and is too large for the reference, the reference vouches for the
// interpreter on a sibling instead, which has the same edges and the same arithmetic.
// Pure functions.
#ifndef HIERA_RUNTIME_EVALUATOR_SIBLING_H_
#define HIERA_RUNTIME_EVALUATOR_SIBLING_H_

#include <optional>
#include <string>

#include "runtime/task/task.h"

namespace hiera {

// The canonical text of a sibling with about `share` (below 1) of the task's elements: the axes of
// its first output are shortened, outermost first and none below 24, together with every axis that
// an index has in common with them. Empty where that makes no task of the same form.
std::optional<std::string> SiblingOf(const Task& task, double share);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_SIBLING_H_
