#include "runtime/task/cost.h"

#include <algorithm>
#include <bitset>
#include <limits>
#include <vector>

#include "runtime/task/affine.h"
#include "runtime/task/limits.h"

namespace hiera {
namespace {

using IndexSet = std::bitset<kMaxIndices>;

bool IsTranscendental(Op op) {
  switch (op) {
    case Op::kExp:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSigmoid:
    case Op::kGelu:
    case Op::kSilu:
    case Op::kPow:
      return true;
    default:
      return false;
  }
}

// Operations on reals that one evaluation of the node costs, its operands apart.
double OperationsOf(const Formula& formula, const Node& node) {
  const bool real_operands =
      !node.operands.empty() && formula.nodes[node.operands.back()].type == ValueType::kReal;
  switch (node.op) {
    case Op::kRelu:
    case Op::kFloor:
    case Op::kAdd:
    case Op::kSub:
    case Op::kMul:
    case Op::kDiv:
    case Op::kMin:
    case Op::kMax:
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
    case Op::kScan:
      return real_operands ? 1 : 0;
    default:
      return IsTranscendental(node.op) ? 1 : 0;
  }
}

// Counts evaluations: a node is evaluated once for every value of the indices that it depends on,
// however many loops surround it.
class Counter {
 public:
  explicit Counter(const Formula& formula) : formula_(formula), depends_(formula.nodes.size()) {}

  void Count(Cost* cost) {
    for (size_t n = 0; n < formula_.nodes.size(); ++n) {
      const Node& node = formula_.nodes[n];
      SetDependence(node, &depends_[n]);
      const double times = Combinations(depends_[n]);
      cost->flops += times * OperationsOf(formula_, node);
      if (IsTranscendental(node.op)) cost->transcendentals += times;
      if (node.op != Op::kReduce) continue;
      const int body = node.operands[0];
      if (formula_.nodes[body].type == ValueType::kReal) {
        IndexSet iterated = depends_[body];
        for (const int i : node.bound) iterated.set(i);
        cost->flops += Combinations(iterated);
        if (node.reduce == Reduction::kMean) cost->flops += times;
      }
    }
    const double steps = static_cast<double>(formula_.steps);
    cost->flops *= steps;
    cost->transcendentals *= steps;
  }

 private:
  static void Add(const Affine& affine, IndexSet* set) {
    for (const auto& term : affine.terms) set->set(term.first);
  }

  void SetDependence(const Node& node, IndexSet* set) const {
    for (const int operand : node.operands) *set |= depends_[operand];
    for (const Subscript& s : node.subscripts) {
      Add(s.affine, set);
      if (s.gather >= 0) *set |= depends_[s.gather];
    }
    Add(node.affine, set);
    for (const int i : node.bound) set->reset(i);
    if (node.op == Op::kScan) set->set(node.target);
  }

  double Combinations(const IndexSet& set) const {
    double product = 1;
    for (size_t i = 0; i < formula_.indices.size(); ++i) {
      if (set[i]) product *= static_cast<double>(formula_.indices[i].extent);
    }
    return product;
  }

  const Formula& formula_;
  std::vector<IndexSet> depends_;  // per node: the indices that its value depends on
};

// What one read can reach along one axis.
struct Reach {
  int64_t low = 0, high = -1;  // inclusive
  double count = 0;
};

Reach ReachOf(const Task& task, const Node& load, size_t axis) {
  const TensorSpec& tensor = task.tensors[load.target];
  const Subscript& s = load.subscripts[axis];
  const int64_t extent = tensor.extents[axis];
  Reach all{0, extent - 1, static_cast<double>(extent)};
  if (s.gather >= 0) return all;
  double values = 1;
  for (const auto& term : s.affine.terms) {
    const int64_t range = task.formula.indices[term.first].extent;
    if (range == 0) return {};
    values *= static_cast<double>(range);
  }
  const Interval range = NumeratorRange(s.affine, task.formula.indices);
  const __int128 divisor = s.affine.divisor;
  __int128 low = range.low / divisor;
  __int128 high = range.high / divisor;
  if (tensor.outside == Outside::kWrap && (low < 0 || high >= extent)) return all;
  low = std::clamp<__int128>(low, 0, std::max<int64_t>(extent - 1, 0));
  high = std::clamp<__int128>(high, -1, extent - 1);
  if (high < low) return {};
  Reach reach{static_cast<int64_t>(low), static_cast<int64_t>(high), 0};
  reach.count = std::min(values, static_cast<double>(reach.high - reach.low + 1));
  return reach;
}

// Elements of an input that the formula can reach: the box around all its reads, or the sum of what
// each read reaches where that is less.
double ElementsRead(const Task& task, int tensor) {
  const TensorSpec& spec = task.tensors[tensor];
  std::vector<Reach> box(spec.extents.size(), Reach{std::numeric_limits<int64_t>::max(), -1, 0});
  double sum = 0;
  for (const Node& node : task.formula.nodes) {
    if (node.op != Op::kLoad || node.target != tensor) continue;
    IndexSet indices;
    double product = 1;
    double values = 1;
    bool gathered = false;
    for (size_t axis = 0; axis < spec.extents.size(); ++axis) {
      const Reach reach = ReachOf(task, node, axis);
      box[axis].low = std::min(box[axis].low, reach.low);
      box[axis].high = std::max(box[axis].high, reach.high);
      if (spec.strides[axis] != 0) product *= reach.count;
      gathered |= node.subscripts[axis].gather >= 0;
      for (const auto& term : node.subscripts[axis].affine.terms) {
        if (indices[term.first]) continue;
        indices.set(term.first);
        values *= static_cast<double>(task.formula.indices[term.first].extent);
      }
    }
    sum += gathered ? product : std::min(product, values);
  }
  if (sum == 0) return 0;
  double whole = 1;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    const double size = static_cast<double>(box[axis].high - box[axis].low + 1);
    if (spec.strides[axis] != 0) whole *= std::max(size, 0.0);
  }
  return std::min(whole, sum);
}

}  // namespace

Cost CostOf(const Task& task) {
  Cost cost;
  Counter(task.formula).Count(&cost);
  for (int t = 0; t < task.bound_count; ++t) {
    const Role role = RoleOf(task, t);
    const double size = static_cast<double>(SizeOf(task.tensors[t].dtype));
    const double elements = static_cast<double>(task.tensors[t].elements());
    // An output that later statements read is at hand when they do.
    if (role == Role::kInput) cost.bytes += size * ElementsRead(task, t);
    if (role == Role::kOutput) cost.bytes += size * elements;
    if (role == Role::kInPlace) cost.bytes += 2 * size * elements;
  }
  return cost;
}

}  // namespace hiera
