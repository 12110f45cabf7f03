// Plan: along which output index a stage's lanes run. Pure functions.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_PLAN_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_PLAN_H_

#include <cstdint>
#include <optional>

#include "runtime/device/interpreter/lower.h"

namespace hiera::interpreter {

struct Plan {
  int lane = -1;  // -1: one lane; reductions run along an index of their own
  double cost_ns = 0;
};

// The cheapest lane index for a stage, by a rough model: so much a lane and a read, by stride, and
// so much an instruction and a block.
Plan ChoosePlan(const Lowered& lowered, const Statement& statement);

// The bound index of reduction `node` along which its body is cheapest to read; -1 where all
// extents are small.
int CheapestBound(const Lowered& lowered, int node);

// How the body of a sum splits into scale and row (operands of a product) for lanes along `lane`.
struct PanelMatch {
  int scale = -1, row = -1;  // nodes, both loads
  int row_index = -1;        // an output index that only the scale depends on
};
std::optional<PanelMatch> MatchPanel(const Lowered& lowered, const Statement& statement, int node,
                                     int lane);

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_PLAN_H_
