// FormulaFacts: what the generators ask of a formula's nodes, worked out once per task. Borrows the
// task, which must outlive it. Immutable after construction.
#ifndef HIERA_POLICIES_FRAMEWORK_FORMULA_FACTS_H_
#define HIERA_POLICIES_FRAMEWORK_FORMULA_FACTS_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/task/task.h"

namespace hiera {

struct Interval {
  int64_t low = 0, high = 0;  // both included
};

// Why a read may need a check at run time, axis by axis.
enum class AxisCheck : uint8_t {
  kNone,   // cannot fall outside
  kEdge,   // affine: an interval of each loop is free of it
  kEvery,  // a gather, or a divided subscript: looked at for every element
};

class FormulaFacts {
 public:
  explicit FormulaFacts(const Task& task);

  const Task& task() const { return task_; }
  const Node& node(int n) const { return task_.formula.nodes[n]; }
  int64_t extent(int index) const { return task_.formula.indices[index].extent; }

  // Whether the value of `node` changes with `index` (a reduction's own indices do not count).
  bool DependsOn(int node, int index) const { return depends_[node][index]; }
  bool DependsOnAny(int node, const std::vector<int>& indices) const;
  // Nodes that have it as an operand or a gathered subscript, over all statements.
  int uses(int node) const { return uses_[node]; }
  // Whether evaluating it may break a keep rule.
  bool MayKeep(int node) const { return may_keep_[node]; }

  // The numerator of an affine form over the extents of its indices.
  Interval RangeOf(const Affine& affine) const;
  AxisCheck CheckOf(const Node& load, int axis) const;

  // The nodes below `root` and itself, children first; does not go into nodes for which `stop` is
  // true (they are not visited either). Each once.
  std::vector<int> Below(int root, const std::function<bool(int)>& stop = {}) const;

  // The operands of a node and the nodes that its subscripts are gathered from.
  std::vector<int> Children(int node) const;

  // Elementary operations for one value of `node`, loops included.
  double WorkOf(int node) const { return work_[node]; }

 private:
  const Task& task_;
  std::vector<std::vector<bool>> depends_;  // [node][index]
  std::vector<int> uses_;
  std::vector<bool> may_keep_;
  std::vector<double> work_;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_FORMULA_FACTS_H_
