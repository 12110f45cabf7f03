#include "runtime/evaluator/sibling.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr int64_t kShortest = 24;

// The axes and indices that run together with one axis.
class Linked {
 public:
  Linked(const Task& task, int tensor, int axis) : task_(task) {
    axes_.insert({tensor, axis});
    size_t before;
    do {
      before = axes_.size() + indices_.size();
      Spread();
    } while (axes_.size() + indices_.size() > before);
  }

  // Gives all of them another extent. False where they do not share one.
  bool Shorten(Task& task, int64_t from, int64_t to) const {
    for (const auto& [tensor, axis] : axes_) {
      int64_t& extent =
          task.tensors[static_cast<size_t>(tensor)].extents[static_cast<size_t>(axis)];
      if (extent != from) return false;
      extent = to;
    }
    for (const int index : indices_) {
      int64_t& extent = task.formula.indices[static_cast<size_t>(index)].extent;
      if (extent != from) return false;
      extent = to;
    }
    return true;
  }

 private:
  void Link(int tensor, size_t axis, int index) {
    const std::pair<int, int> place(tensor, static_cast<int>(axis));
    if (axes_.count(place) + indices_.count(index) == 1) {
      axes_.insert(place);
      indices_.insert(index);
    }
  }

  void Spread() {
    for (const Statement& statement : task_.formula.statements) {
      for (size_t axis = 0; axis < statement.indices.size(); ++axis) {
        Link(statement.output, axis, statement.indices[axis]);
      }
    }
    for (const Node& node : task_.formula.nodes) {
      if (node.op != Op::kLoad) continue;
      for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
        for (const auto& [index, coefficient] : node.subscripts[axis].affine.terms) {
          Link(node.target, axis, index);
        }
      }
    }
    for (const Carry& carry : task_.formula.carries) {
      const int rank = task_.tensors[static_cast<size_t>(carry.state)].rank();
      for (int axis = 0; axis < rank; ++axis) {
        if (axes_.count({carry.state, axis}) + axes_.count({carry.source, axis}) == 1) {
          axes_.insert({carry.state, axis});
          axes_.insert({carry.source, axis});
        }
      }
    }
  }

  const Task& task_;
  std::set<std::pair<int, int>> axes_;
  std::set<int> indices_;
};

}  // namespace

std::optional<std::string> SiblingOf(const Task& task, double share) {
  if (task.formula.statements.empty()) return std::nullopt;
  const int output = task.formula.statements.back().output;
  const TensorSpec& tensor = task.tensors[static_cast<size_t>(output)];
  Task sibling = task;
  for (int axis = 0; axis < tensor.rank() && share < 0.99; ++axis) {
    const int64_t from = tensor.extents[static_cast<size_t>(axis)];
    const int64_t to = std::max(std::min(from, kShortest),
                                static_cast<int64_t>(std::ceil(static_cast<double>(from) * share)));
    Task shorter = sibling;
    if (to == from || !Linked(task, output, axis).Shorten(shorter, from, to)) continue;
    // The parser says whether it still is a task of the same form.
    auto parsed = ParseTask(CanonicalText(shorter));
    if (!parsed.ok() || parsed->formula.nodes.size() != task.formula.nodes.size()) continue;
    sibling = std::move(shorter);
    share *= static_cast<double>(from) / static_cast<double>(to);
  }
  if (sibling == task) return std::nullopt;
  return CanonicalText(sibling);
}

}  // namespace hiera
