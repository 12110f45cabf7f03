#include "runtime/task/classify.h"

#include <algorithm>

#include "runtime/task/affine.h"
#include "runtime/task/check.h"
#include "runtime/task/linear_terms.h"

namespace hiera {
namespace {

bool IsIn(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// X read at windows: each subscript is an index alone, or steps * output + dilation * bound +
// offset with the bound index plain in W; at least one is such a window.
bool IsWindowed(const Task& task, const Node& x, const Node& w, const std::vector<int>& outputs,
                const std::vector<int>& bound) {
  std::vector<std::pair<int, int64_t>> kernel;
  if (!PlainStrides(task, w, &kernel)) return false;
  auto in_kernel = [&](int index) {
    return std::any_of(kernel.begin(), kernel.end(),
                       [&](const auto& axis) { return axis.first == index; });
  };
  int windows = 0;
  for (const Subscript& s : x.subscripts) {
    const auto& terms = s.affine.terms;
    if (s.gather >= 0 || s.affine.divisor != 1) return false;
    if (IsPlain(s.affine) || (terms.empty() && s.affine.offset == 0)) continue;
    if (terms.size() != 2) return false;
    const bool first_is_output = IsIn(outputs, terms[0].first);
    const int output = terms[first_is_output ? 0 : 1].first;
    const int tap = terms[first_is_output ? 1 : 0].first;
    if (!IsIn(outputs, output) || !IsIn(bound, tap) || !in_kernel(tap)) return false;
    if (in_kernel(output)) return false;
    ++windows;
  }
  return windows > 0;
}

// activation(sum(...: X[windows] * W[plain]) + bias), whatever its rank, strides and groups.
bool IsConv(const Task& task) {
  const Formula& formula = task.formula;
  if (formula.statements.size() != 1 || formula.steps != 1) return false;
  const Statement& statement = formula.statements[0];
  LinearTerms linear = LinearTermsOf(task, statement.root);
  int products = 0;
  int biases = 0;
  for (LinearTerm& term : linear.terms) {
    int x = -1;
    int y = -1;
    std::vector<int> bound;
    if (IsSumOfProducts(task, &term, &x, &y, &bound)) {
      const Node& a = formula.nodes[x];
      const Node& b = formula.nodes[y];
      if (!IsWindowed(task, a, b, statement.indices, bound) &&
          !IsWindowed(task, b, a, statement.indices, bound)) {
        return false;
      }
      ++products;
      continue;
    }
    if (term.core.size() != 1 || formula.nodes[term.core[0]].op != Op::kLoad) return false;
    std::vector<std::pair<int, int64_t>> strides;
    if (!PlainStrides(task, formula.nodes[term.core[0]], &strides)) return false;
    ++biases;
  }
  return products == 1 && biases <= 1;
}

// Whether every read is at single indices or at a constant, inside its tensor.
bool ReadsArePlain(const Task& task) {
  for (const Node& node : task.formula.nodes) {
    if (node.op != Op::kLoad) continue;
    for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
      const Subscript& s = node.subscripts[axis];
      if (s.gather >= 0 || CanFallOutside(task, node, static_cast<int>(axis))) return false;
      if (!s.affine.terms.empty() && !IsPlain(s.affine)) return false;
    }
  }
  return true;
}

// Of the statements of a task with plain reads: whether whatever they reduce or scan is a row, the
// same leading output axes being left alone everywhere, so that each row is computed by itself.
class RowReader {
 public:
  explicit RowReader(const Task& task) : formula_(task.formula) {}

  bool IsRowWise() {
    return EachNode(&RowReader::SettleLeading) && EachNode(&RowReader::StaysInRow);
  }

 private:
  using Check = bool (RowReader::*)(const Statement&, const Node&);

  bool EachNode(Check check) {
    int n = 0;
    for (const Statement& statement : formula_.statements) {
      for (; n <= statement.root; ++n) {
        if (!(this->*check)(statement, formula_.nodes[n])) return false;
      }
    }
    return true;
  }

  // How many of the read's subscripts are the statement's first output indices, in order.
  static int Prefix(const Statement& statement, const Node& load) {
    size_t n = 0;
    while (n < load.subscripts.size() && n < statement.indices.size() &&
           !load.subscripts[n].affine.terms.empty() &&
           load.subscripts[n].affine.terms[0].first == statement.indices[n]) {
      ++n;
    }
    return static_cast<int>(n);
  }

  static bool IsBound(const Statement& statement, const Subscript& s) {
    return !s.affine.terms.empty() && !IsIn(statement.indices, s.affine.terms[0].first);
  }

  // A read that is reduced has leading output indices, then bound ones only; a scan runs along the
  // last axis.
  bool SettleLeading(const Statement& statement, const Node& node) {
    int leading = -1;
    if (node.op == Op::kScan) {
      if (node.target != statement.indices.back()) return false;
      leading = static_cast<int>(statement.indices.size()) - 1;
    } else if (node.op == Op::kLoad) {
      const auto bound = [&](const Subscript& s) { return IsBound(statement, s); };
      const auto& subscripts = node.subscripts;
      if (std::none_of(subscripts.begin(), subscripts.end(), bound)) return true;
      leading = Prefix(statement, node);
      if (!std::all_of(subscripts.begin() + leading, subscripts.end(), bound)) return false;
    } else {
      return true;
    }
    if (leading_ < 0) leading_ = leading;
    return leading_ == leading;
  }

  // What another statement made is read from the row being made.
  bool StaysInRow(const Statement& statement, const Node& node) {
    if (static_cast<int>(statement.indices.size()) < leading_) return false;
    if (node.op != Op::kLoad) return true;
    const bool made = std::any_of(formula_.statements.begin(), formula_.statements.end(),
                                  [&](const Statement& s) { return s.output == node.target; });
    return !made || Prefix(statement, node) >= leading_;
  }

  const Formula& formula_;
  int leading_ = -1;  // how many output axes are left alone; -1: not known yet
};

bool Has(const Task& task, Op op) {
  return std::any_of(task.formula.nodes.begin(), task.formula.nodes.end(),
                     [op](const Node& node) { return node.op == op; });
}

}  // namespace

std::string_view TaskClassName(TaskClass c) {
  switch (c) {
    case TaskClass::kGemm:
      return "gemm";
    case TaskClass::kBatchedGemm:
      return "batched gemm";
    case TaskClass::kConv:
      return "conv";
    case TaskClass::kStencil:
      return "stencil";
    case TaskClass::kRowWise:
      return "row-wise";
    case TaskClass::kPointwise:
      return "pointwise";
    case TaskClass::kGeneric:
      return "generic";
  }
  return "unknown";
}

TaskClass Classify(const Task& task) {
  if (const std::optional<GemmView> gemm = AsGemm(task)) {
    return gemm->batch.empty() ? TaskClass::kGemm : TaskClass::kBatchedGemm;
  }
  if (IsConv(task)) return TaskClass::kConv;
  if (AsStencil(task).has_value()) return TaskClass::kStencil;
  if (task.formula.steps != 1 || !ReadsArePlain(task)) return TaskClass::kGeneric;
  if (!Has(task, Op::kReduce) && !Has(task, Op::kScan)) return TaskClass::kPointwise;
  return RowReader(task).IsRowWise() ? TaskClass::kRowWise : TaskClass::kGeneric;
}

}  // namespace hiera
