// AsStencil: see classify.h.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/task/check.h"
#include "runtime/task/classify.h"

namespace hiera {
namespace {

class StencilReader {
 public:
  explicit StencilReader(const Task& task) : task_(task), formula_(task.formula) {}

  std::optional<StencilView> Read() {
    if (formula_.statements.size() != 1) return std::nullopt;
    const Statement& statement = formula_.statements[0];
    view_.output = statement.output;
    view_.extent = task_.tensors[statement.output].extents;
    view_.low.assign(view_.extent.size(), 0);
    view_.high.assign(view_.extent.size(), 0);
    if (view_.extent.empty()) return std::nullopt;
    for (size_t n = 0; n < formula_.nodes.size(); ++n) {
      const Node& node = formula_.nodes[n];
      if (node.op == Op::kReduce || node.op == Op::kScan) return std::nullopt;
      if (node.op == Op::kLoad && !AddRead(static_cast<int>(n))) return std::nullopt;
    }
    if (!reaches_ || !SettleRule()) return std::nullopt;
    SettleState();
    SettleCoefficients(statement.root);
    return std::move(view_);
  }

 private:
  bool AddRead(int n) {
    const Node& load = formula_.nodes[n];
    const std::vector<int>& outputs = formula_.statements[0].indices;
    if (load.subscripts.size() != outputs.size()) return false;
    StencilView::Read read{load.target, {}, n};
    for (size_t axis = 0; axis < outputs.size(); ++axis) {
      const Affine& affine = load.subscripts[axis].affine;
      if (load.subscripts[axis].gather >= 0 || affine.divisor != 1 || affine.terms.size() != 1 ||
          affine.terms[0] != std::pair<int, int64_t>(outputs[axis], 1)) {
        return false;
      }
      read.offset.push_back(affine.offset);
      view_.low[axis] = std::max(view_.low[axis], -affine.offset);
      view_.high[axis] = std::max(view_.high[axis], affine.offset);
      reaches_ |= affine.offset != 0;
    }
    if (PositionOf(read) == view_.reads.size()) view_.reads.push_back(std::move(read));
    return true;
  }

  size_t PositionOf(const StencilView::Read& read) const {
    size_t i = 0;
    while (i < view_.reads.size() &&
           (view_.reads[i].tensor != read.tensor || view_.reads[i].offset != read.offset)) {
      ++i;
    }
    return i;
  }

  // One rule for every tensor that can be read outside.
  bool SettleRule() {
    bool found = false;
    for (const StencilView::Read& read : view_.reads) {
      if (!CanReadOutside(task_, read.tensor)) continue;
      const Outside rule = task_.tensors[read.tensor].outside;
      if (found && rule != view_.outside) return false;
      view_.outside = rule;
      found = true;
    }
    return true;
  }

  void SettleState() {
    if (!formula_.carries.empty()) {
      view_.state = formula_.carries.size() == 1 ? formula_.carries[0].state : -1;
      return;
    }
    bool several = false;
    for (const StencilView::Read& read : view_.reads) {
      const bool centre = std::all_of(read.offset.begin(), read.offset.end(),
                                      [](int64_t offset) { return offset == 0; });
      if (centre) continue;
      several |= view_.state >= 0 && view_.state != read.tensor;
      view_.state = read.tensor;
    }
    if (several) view_.state = -1;
  }

  void SettleCoefficients(int root) {
    for (const StencilView::Read& read : view_.reads) {
      if (read.tensor != view_.state) return;
    }
    view_.coefficients.assign(view_.reads.size(), 0);
    if (!AddLinear(root, 1)) view_.coefficients.clear();
  }

  // Adds factor * node to the coefficients; false where it is no combination of reads alone.
  bool AddLinear(int n, double factor) {
    const Node& node = formula_.nodes[n];
    auto constant = [&](int operand) { return formula_.nodes[operand].op == Op::kConstant; };
    auto value = [&](int operand) { return formula_.nodes[operand].constant; };
    switch (node.op) {
      case Op::kLoad: {
        StencilView::Read read{node.target, {}, n};
        for (const Subscript& s : node.subscripts) read.offset.push_back(s.affine.offset);
        view_.coefficients[PositionOf(read)] += factor;
        return node.type == ValueType::kReal;
      }
      case Op::kNeg:
        return AddLinear(node.operands[0], -factor);
      case Op::kAdd:
        return AddLinear(node.operands[0], factor) && AddLinear(node.operands[1], factor);
      case Op::kSub:
        return AddLinear(node.operands[0], factor) && AddLinear(node.operands[1], -factor);
      case Op::kMul:
        if (constant(node.operands[0])) {
          return AddLinear(node.operands[1], factor * value(node.operands[0]));
        }
        return constant(node.operands[1]) &&
               AddLinear(node.operands[0], factor * value(node.operands[1]));
      case Op::kDiv:
        return constant(node.operands[1]) &&
               AddLinear(node.operands[0], factor / value(node.operands[1]));
      default:
        return false;
    }
  }

  const Task& task_;
  const Formula& formula_;
  StencilView view_;
  bool reaches_ = false;  // some read is off the centre
};

}  // namespace

std::optional<StencilView> AsStencil(const Task& task) { return StencilReader(task).Read(); }

}  // namespace hiera
