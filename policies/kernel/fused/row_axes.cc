#include "policies/kernel/fused/row_axes.h"

#include <algorithm>
#include <numeric>

namespace hiera {
namespace {

// Indices and the dimensions of tensors, in classes that stand for one axis each.
class Classes {
 public:
  explicit Classes(const Task& task)
      : task_(task),
        indices_(static_cast<int>(task.formula.indices.size())),
        parent_(indices_ + task.tensors.size() * kMaxRank) {
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const Statement& statement : task.formula.statements) {
      for (size_t d = 0; d < statement.indices.size(); ++d) {
        Join(statement.indices[d], statement.output, static_cast<int>(d));
      }
    }
    for (const Node& node : task.formula.nodes) {
      if (node.op != Op::kLoad) continue;
      for (size_t d = 0; d < node.subscripts.size(); ++d) {
        const Affine& affine = node.subscripts[d].affine;
        const bool plain = node.subscripts[d].gather < 0 && affine.terms.size() == 1 &&
                           affine.terms[0].second == 1 && affine.offset == 0 && affine.divisor == 1;
        if (plain) Join(affine.terms[0].first, node.target, static_cast<int>(d));
      }
    }
  }

  int Find(int element) {
    while (parent_[element] != element) element = parent_[element] = parent_[parent_[element]];
    return element;
  }
  void Merge(int a, int b) { parent_[Find(b)] = Find(a); }
  int64_t extent(int index) const { return task_.formula.indices[index].extent; }

 private:
  // An index runs along a dimension only where it runs over all of it.
  void Join(int index, int tensor, int dimension) {
    if (extent(index) != task_.tensors[tensor].extents[dimension]) return;
    Merge(index, indices_ + tensor * kMaxRank + dimension);
  }

  const Task& task_;
  const int indices_;
  std::vector<int> parent_;
};

bool Contains(Classes& classes, const std::vector<int>& indices, int index) {
  return std::any_of(indices.begin(), indices.end(),
                     [&](int i) { return classes.Find(i) == classes.Find(index); });
}

bool Distinct(Classes& classes, const std::vector<int>& indices) {
  for (size_t i = 0; i < indices.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (classes.Find(indices[i]) == classes.Find(indices[j])) return false;
    }
  }
  return true;
}

// Makes `other` the same axes as `row`; by position where nothing else says so.
bool Unite(Classes& classes, const std::vector<int>& row, const std::vector<int>& other) {
  if (row.size() != other.size()) return false;
  const bool same = std::all_of(other.begin(), other.end(),
                                [&](int index) { return Contains(classes, row, index); });
  if (same) return true;
  for (size_t i = 0; i < row.size(); ++i) {
    if (classes.extent(row[i]) != classes.extent(other[i])) return false;
  }
  for (size_t i = 0; i < row.size(); ++i) classes.Merge(row[i], other[i]);
  return true;
}

}  // namespace

Result<RowAxes> FindRowAxes(const Task& task) {
  Classes classes(task);
  const Formula& formula = task.formula;
  std::vector<int> row;  // one index of each row axis, outermost first
  for (const Node& node : formula.nodes) {
    if (node.op != Op::kReduce) continue;
    if (row.empty()) row = node.bound;
    if (!Unite(classes, row, node.bound)) return Unsupported("reduces over different axes");
  }
  const Statement* widest = nullptr;
  for (const Statement& s : formula.statements) {
    if (widest == nullptr || s.indices.size() > widest->indices.size()) widest = &s;
  }
  std::vector<int> outer;
  for (const Statement& s : formula.statements) {
    for (int index : s.indices) {
      if (!Contains(classes, row, index) && !Contains(classes, outer, index)) {
        outer.push_back(index);
      }
    }
  }
  std::vector<int> axes = outer;
  axes.insert(axes.end(), row.begin(), row.end());
  if (!Distinct(classes, axes)) return Unsupported("reads one tensor along different axes at once");
  for (const Statement& s : formula.statements) {
    if (!Distinct(classes, s.indices)) return Unsupported("reads a tensor and its transpose");
    size_t in_row = 0;
    for (int index : s.indices) in_row += Contains(classes, row, index);
    if (s.indices.size() - in_row != outer.size() || (in_row != 0 && in_row != row.size())) {
      return Unsupported("statements run over different rows");
    }
  }
  // Row axes in the order in which the widest statement writes them.
  if (std::all_of(row.begin(), row.end(),
                  [&](int index) { return Contains(classes, widest->indices, index); })) {
    std::vector<int> ordered;
    for (int index : widest->indices) {
      if (Contains(classes, row, index)) ordered.push_back(index);
    }
    row = ordered;
  }
  axes = outer;
  axes.insert(axes.end(), row.begin(), row.end());
  RowAxes result;
  result.outer = static_cast<int>(outer.size());
  for (int index : axes) result.extents.push_back(classes.extent(index));
  for (size_t i = 0; i < formula.indices.size(); ++i) {
    int axis = -1;
    for (size_t a = 0; a < axes.size(); ++a) {
      if (classes.Find(axes[a]) == classes.Find(static_cast<int>(i))) axis = static_cast<int>(a);
    }
    if (axis < 0) return Unsupported("has an index that is neither outside nor along the rows");
    if (formula.indices[i].extent != result.extents[axis]) {
      return Unsupported("runs over parts of rows");
    }
    result.axis_of.push_back(axis);
  }
  return result;
}

}  // namespace hiera
