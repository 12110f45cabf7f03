#include "runtime/device/interpreter/step_plan.h"

namespace hiera::interpreter {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// How many states hold the value of `source` or of a state that did.
int64_t StatesAfter(const std::vector<Carry>& carries, int source, size_t depth) {
  if (depth > carries.size()) return 0;  // states that only pass a value round
  int64_t count = 0;
  for (const Carry& carry : carries) {
    if (carry.source == source) count += 1 + StatesAfter(carries, carry.state, depth + 1);
  }
  return count;
}

}  // namespace

StepPlan MakeStepPlan(const Task& task, const Lowered& lowered,
                      const std::vector<Unwritten>& unwritten) {
  StepPlan plan;
  plan.steps = task.formula.steps;
  plan.carries = task.formula.carries;
  if (plan.steps <= 1) return plan;
  for (const Carry& carry : plan.carries) {
    if (carry.source < 0 || RoleOf(task, carry.source) == Role::kInput) continue;
    bool known = false;
    for (const CarriedOutput& o : plan.outputs) known |= o.output == carry.source;
    if (known) continue;
    CarriedOutput o;
    o.output = carry.source;
    o.state = carry.state;
    o.spares = StatesAfter(plan.carries, carry.source, 0) + 1;
    o.bytes = Aligned(lowered.buffers[o.output].bytes());
    o.in_place = RoleOf(task, o.output) == Role::kInPlace;
    for (size_t s = 0; s < unwritten.size(); ++s) {
      if (lowered.stages[s].statement.output != o.output) continue;
      o.keeps |= unwritten[s].keeps;
      o.chooses |= unwritten[s].chooses;
    }
    plan.spare_bytes += o.spares * o.bytes;
    plan.outputs.push_back(o);
  }
  return plan;
}

}  // namespace hiera::interpreter
