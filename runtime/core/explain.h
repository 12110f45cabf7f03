// The text of hiera_op_explain: what this process knows of an operator, and what the planner's
// journal says where one is running.
#ifndef HIERA_RUNTIME_CORE_EXPLAIN_H_
#define HIERA_RUNTIME_CORE_EXPLAIN_H_

#include <string>

#include "runtime/core/engine.h"

namespace hiera {

// Blocks up to planner_ms, asking the planner; it is never started for this. Any thread.
std::string Explain(Engine& engine, Slot& slot, int planner_ms);

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_EXPLAIN_H_
