#include "runtime/task/check.h"

#include <algorithm>
#include <vector>

#include "runtime/task/affine.h"
#include "runtime/task/lex.h"
#include "runtime/task/limits.h"

namespace hiera {
namespace {

constexpr std::string_view kRules =
    " (give it a rule for reads outside: zero, clamp, wrap or keep)";

std::string Text(__int128 v) {
  // Only numerators of subscripts are shown, which are below 2^100; shown as far as int64 goes.
  const __int128 limit = kMaxElements;
  return std::to_string(static_cast<int64_t>(std::clamp(v, -limit, limit)));
}

// Visits the nodes of one statement once each, from the root down.
template <typename Visit>
void VisitTree(const Formula& formula, int root, std::vector<uint8_t>* seen, Visit visit) {
  std::vector<int> open = {root};
  while (!open.empty()) {
    const int n = open.back();
    open.pop_back();
    if ((*seen)[n]) continue;
    (*seen)[n] = 1;
    visit(n);
    const Node& node = formula.nodes[n];
    for (const int operand : node.operands) open.push_back(operand);
    for (const Subscript& s : node.subscripts) {
      if (s.gather >= 0) open.push_back(s.gather);
    }
  }
}

std::string DescribeOutside(const Task& task, const Node& node, int axis) {
  const TensorSpec& tensor = task.tensors[node.target];
  const Subscript& s = node.subscripts[axis];
  const std::string where = "axis " + std::to_string(axis) + " of \"" + tensor.name +
                            "\" (extent " + std::to_string(tensor.extents[axis]) + ")";
  if (s.gather >= 0) return where + " is gathered, so a read can fall outside it";
  if (s.affine.divisor > 1) {
    return where + " is read at a quotient by " + std::to_string(s.affine.divisor) +
           ", which is outside where it is not whole";
  }
  const Interval range = NumeratorRange(s.affine, task.formula.indices);
  return where + " is read from " + Text(range.low) + " to " + Text(range.high);
}

// Why the read `node`, in a statement that writes `output`, cannot be; empty where it can.
std::string FaultOfRead(const Task& task, const Node& node, int output) {
  const TensorSpec& tensor = task.tensors[node.target];
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    if (!CanFallOutside(task, node, axis)) continue;
    const bool nearest = tensor.outside == Outside::kClamp || tensor.outside == Outside::kWrap;
    if (tensor.outside == Outside::kRefuse) {
      return DescribeOutside(task, node, axis) + std::string(kRules);
    }
    if (nearest && node.subscripts[axis].affine.divisor > 1) {
      return DescribeOutside(task, node, axis) + ", and the rule " +
             std::string(OutsideName(tensor.outside)) + " has no element for it (use zero or keep)";
    }
    if (nearest && tensor.extents[axis] == 0) {
      return DescribeOutside(task, node, axis) + ", and the rule " +
             std::string(OutsideName(tensor.outside)) + " needs an element to take (use zero)";
    }
    if (tensor.outside == Outside::kKeep && task.is_local(output)) {
      return DescribeOutside(task, node, axis) + ", and \"" + task.tensors[output].name +
             "\" is a local, which has no value to keep (use another rule than keep)";
    }
  }
  return {};
}

// Iterations of the deepest path from `root`, saturating at kMaxElements.
std::vector<__int128> Iterations(const Formula& formula) {
  std::vector<__int128> iterations(formula.nodes.size(), 1);
  for (size_t n = 0; n < formula.nodes.size(); ++n) {
    const Node& node = formula.nodes[n];
    for (const int operand : node.operands) {
      iterations[n] = std::max(iterations[n], iterations[operand]);
    }
    for (const Subscript& s : node.subscripts) {
      if (s.gather >= 0) iterations[n] = std::max(iterations[n], iterations[s.gather]);
    }
    for (const int i : node.bound) {
      iterations[n] = std::min<__int128>(
          kMaxElements, iterations[n] * std::max<int64_t>(formula.indices[i].extent, 1));
    }
  }
  return iterations;
}

Status CheckNames(const Task& task) {
  for (int i = 0; i < task.bound_count; ++i) {
    const std::string who = "tensors[" + std::to_string(i) + "].name: ";
    const Status good = CheckName(task.tensors[i].name);
    if (!good.ok()) return InvalidArgument(who + good.message());
    for (int j = 0; j < i; ++j) {
      if (task.tensors[j].name == task.tensors[i].name) {
        return InvalidArgument(who + "\"" + task.tensors[i].name + "\" is tensors[" +
                               std::to_string(j) + "] too (give each its own name)");
      }
    }
  }
  for (size_t i = 0; i < task.scalars.size(); ++i) {
    const std::string who = "scalars[" + std::to_string(i) + "].name: ";
    const std::string& name = task.scalars[i].name;
    const Status good = CheckName(name);
    if (!good.ok()) return InvalidArgument(who + good.message());
    const bool twice = std::any_of(task.scalars.begin(), task.scalars.begin() + i,
                                   [&](const ScalarSpec& other) { return other.name == name; }) ||
                       std::any_of(task.tensors.begin(), task.tensors.end(),
                                   [&](const TensorSpec& other) { return other.name == name; });
    if (twice) {
      return InvalidArgument(who + "\"" + name + "\" is declared before (give each its own name)");
    }
  }
  return {};
}

}  // namespace

bool CanFallOutside(const Task& task, const Node& node, int axis) {
  const Subscript& s = node.subscripts[axis];
  if (s.gather >= 0) return true;
  for (const auto& term : s.affine.terms) {
    if (task.formula.indices[term.first].extent == 0) return false;
  }
  if (s.affine.divisor > 1) return true;
  const Interval range = NumeratorRange(s.affine, task.formula.indices);
  return range.low < 0 || range.high >= task.tensors[node.target].extents[axis];
}

std::optional<Fault> FindFault(const Task& task) {
  const Formula& formula = task.formula;
  const std::vector<__int128> iterations = Iterations(formula);
  std::vector<uint8_t> seen(formula.nodes.size(), 0);
  for (size_t i = 0; i < formula.statements.size(); ++i) {
    const Statement& statement = formula.statements[i];
    Fault fault;
    VisitTree(formula, statement.root, &seen, [&](int n) {
      if (formula.nodes[n].op != Op::kLoad || !fault.what.empty()) return;
      fault.what = FaultOfRead(task, formula.nodes[n], statement.output);
      fault.node = n;
    });
    fault.statement = static_cast<int>(i);
    if (!fault.what.empty()) return fault;
    __int128 total = iterations[statement.root];
    for (const int64_t extent : task.tensors[statement.output].extents) {
      total = std::min<__int128>(kMaxElements, total * std::max<int64_t>(extent, 1));
    }
    if (total >= kMaxElements) return Fault{-1, fault.statement, "more than 2^62 iterations"};
  }
  return std::nullopt;
}

Status CheckDeclarations(const Task& task) {
  if (task.bound_count > kMaxTensors) {
    return InvalidArgument(std::to_string(task.bound_count) + " tensors (at most " +
                           std::to_string(kMaxTensors) + ")");
  }
  if (task.scalars.size() > kMaxScalars) {
    return InvalidArgument(std::to_string(task.scalars.size()) + " scalars (at most " +
                           std::to_string(kMaxScalars) + ")");
  }
  HIERA_RETURN_IF_ERROR(CheckNames(task));
  for (int i = 0; i < task.bound_count; ++i) HIERA_RETURN_IF_ERROR(Validate(task.tensors[i]));
  for (size_t i = 0; i < task.scalars.size(); ++i) {
    if (task.scalars[i].value_class > ScalarClass::kOne) {
      return InvalidArgument("scalars[" + std::to_string(i) + "].value_class is unknown");
    }
  }
  return Validate(task.contract);
}

void SettleAccumulation(Task* task) {
  for (int i = 0; i < task->bound_count; ++i) {
    if (task->tensors[i].dtype == DType::kF64) task->contract.accumulate = DType::kF64;
  }
}

}  // namespace hiera
