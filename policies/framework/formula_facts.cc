#include "policies/framework/formula_facts.h"

#include <algorithm>

namespace hiera {
namespace {

// Elementary operations of the node alone; a transcendental is some ten of them.
double OwnWork(Op op) {
  switch (op) {
    case Op::kExp:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSigmoid:
    case Op::kGelu:
    case Op::kSilu:
    case Op::kPow:
      return 10;
    default:
      return 1;
  }
}

}  // namespace

FormulaFacts::FormulaFacts(const Task& task) : task_(task) {
  const Formula& formula = task.formula;
  const size_t count = formula.nodes.size();
  depends_.assign(count, std::vector<bool>(formula.indices.size(), false));
  uses_.assign(count, 0);
  may_keep_.assign(count, false);
  work_.assign(count, 0);
  for (size_t n = 0; n < count; ++n) {
    const Node& node = formula.nodes[n];
    for (const auto& [index, coefficient] : node.affine.terms) depends_[n][index] = true;
    for (const Subscript& subscript : node.subscripts) {
      for (const auto& [index, coefficient] : subscript.affine.terms) depends_[n][index] = true;
    }
    work_[n] = OwnWork(node.op);
    for (int child : Children(static_cast<int>(n))) {
      ++uses_[child];
      work_[n] += work_[child];
      for (size_t i = 0; i < depends_[n].size(); ++i) {
        if (depends_[child][i]) depends_[n][i] = true;
      }
      if (may_keep_[child]) may_keep_[n] = true;
    }
    for (int index : node.bound) {
      depends_[n][index] = false;
      work_[n] *= static_cast<double>(extent(index));
    }
    if (node.op == Op::kScan) depends_[n][node.target] = true;
    if (node.op == Op::kLoad && task.tensors[node.target].outside == Outside::kKeep) {
      for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
        if (CheckOf(node, static_cast<int>(axis)) != AxisCheck::kNone) may_keep_[n] = true;
      }
    }
  }
}

bool FormulaFacts::DependsOnAny(int node, const std::vector<int>& indices) const {
  return std::any_of(indices.begin(), indices.end(),
                     [&](int index) { return DependsOn(node, index); });
}

Interval FormulaFacts::RangeOf(const Affine& affine) const {
  Interval range{affine.offset, affine.offset};
  for (const auto& [index, coefficient] : affine.terms) {
    const int64_t reach = coefficient * (extent(index) - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

AxisCheck FormulaFacts::CheckOf(const Node& load, int axis) const {
  const Subscript& subscript = load.subscripts[axis];
  if (subscript.gather >= 0 || subscript.affine.divisor != 1) return AxisCheck::kEvery;
  const Interval range = RangeOf(subscript.affine);
  const bool inside = range.low >= 0 && range.high < task_.tensors[load.target].extents[axis];
  return inside ? AxisCheck::kNone : AxisCheck::kEdge;
}

std::vector<int> FormulaFacts::Children(int n) const {
  std::vector<int> children = node(n).operands;
  for (const Subscript& subscript : node(n).subscripts) {
    if (subscript.gather >= 0) children.push_back(subscript.gather);
  }
  return children;
}

std::vector<int> FormulaFacts::Below(int root, const std::function<bool(int)>& stop) const {
  std::vector<bool> reached(task_.formula.nodes.size(), false);
  if (!stop || !stop(root)) reached[root] = true;
  for (int n = root; n >= 0; --n) {  // children precede parents
    if (!reached[n]) continue;
    for (int child : Children(n)) {
      if (!stop || !stop(child)) reached[child] = true;
    }
  }
  std::vector<int> nodes;
  for (int n = 0; n <= root; ++n) {
    if (reached[n]) nodes.push_back(n);
  }
  return nodes;
}

}  // namespace hiera
