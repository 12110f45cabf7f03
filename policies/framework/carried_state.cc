#include "policies/framework/carried_state.h"

#include <algorithm>

namespace hiera {
namespace {

const Carry* CarryInto(const Formula& formula, int state) {
  for (const Carry& carry : formula.carries) {
    if (carry.state == state) return &carry;
  }
  return nullptr;
}

// Whether a statement reads `tensor` before any statement of the same run has written it.
bool ReadBeforeWritten(const Formula& formula, int tensor) {
  std::vector<bool> seen(formula.nodes.size(), false);
  for (const Statement& statement : formula.statements) {
    std::vector<int> open{statement.root};
    std::fill(seen.begin(), seen.end(), false);
    while (!open.empty()) {
      const int n = open.back();
      open.pop_back();
      if (seen[n]) continue;
      seen[n] = true;
      const Node& node = formula.nodes[n];
      if (node.op == Op::kLoad && node.target == tensor) return true;
      open.insert(open.end(), node.operands.begin(), node.operands.end());
      for (const Subscript& subscript : node.subscripts) {
        if (subscript.gather >= 0) open.push_back(subscript.gather);
      }
    }
    if (statement.output == tensor) return false;
  }
  return false;
}

}  // namespace

const CarriedState::Ring* CarriedState::RingOf(int output) const {
  for (const Ring& ring : rings) {
    if (ring.output == output) return &ring;
  }
  return nullptr;
}

Result<CarriedState> PlanCarriedState(const Task& task) {
  const Formula& formula = task.formula;
  CarriedState plan;
  plan.relaid.assign(task.tensors.size(), false);
  for (const Carry& carry : formula.carries) {
    // From state to state until an output is met; two states may also swap for ever.
    int source = carry.source, links = 1;
    for (const Carry* next = CarryInto(formula, source);
         next != nullptr && links <= static_cast<int>(formula.carries.size());
         next = CarryInto(formula, source)) {
      if (task.tensors[source].strides != task.tensors[carry.state].strides) {
        plan.relaid[carry.state] = true;
      }
      source = next->source;
      ++links;
    }
    if (task.tensors[source].strides != task.tensors[carry.state].strides) {
      plan.relaid[carry.state] = true;
    }
    if (CarryInto(formula, source) != nullptr) continue;  // a cycle of states: nothing is written
    if (ReadBeforeWritten(formula, source)) {
      return Unsupported("tensor " + task.tensors[source].name +
                         " is carried from step to step and updated in place");
    }
    auto ring = std::find_if(plan.rings.begin(), plan.rings.end(),
                             [&](const CarriedState::Ring& r) { return r.output == source; });
    if (ring == plan.rings.end()) {
      plan.rings.push_back({source, -1, 0});
      ring = plan.rings.end() - 1;
    }
    ring->buffers = std::max(ring->buffers, links + 1);
    if (carry.source == source && ring->state < 0) ring->state = carry.state;
  }
  return plan;
}

}  // namespace hiera
