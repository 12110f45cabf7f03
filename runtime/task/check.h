// What must hold of every task, whoever built it: the last step of ParseTask and of the typed
// constructors. Pure functions.
#ifndef HIERA_RUNTIME_TASK_CHECK_H_
#define HIERA_RUNTIME_TASK_CHECK_H_

#include <optional>
#include <string>

#include "runtime/task/task.h"

namespace hiera {

struct Fault {
  int node = -1;       // the read at fault, or -1
  int statement = -1;  // the statement at fault
  std::string what;
};

// The first fault of the statements: a read that can fall outside a tensor that has no rule for it,
// a rule that cannot be obeyed, or more iterations than can be counted.
std::optional<Fault> FindFault(const Task& task);

// Names, layouts and classes of the bound tensors and scalars, and the contract. Messages spell the
// arrays tensors[i] and scalars[i].
Status CheckDeclarations(const Task& task);

// Whether the read `node` (a kLoad) can fall outside its tensor along `axis`.
bool CanFallOutside(const Task& task, const Node& node, int axis);

// Raises the accumulation type to f64 where a bound real tensor is f64.
void SettleAccumulation(Task* task);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CHECK_H_
