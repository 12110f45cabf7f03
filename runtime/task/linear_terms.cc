#include "runtime/task/linear_terms.h"

#include <algorithm>

#include "runtime/task/affine.h"
#include "runtime/task/check.h"

namespace hiera {
namespace {

void Multiply(const Task& task, int n, LinearTerm* term) {
  const std::vector<Node>& nodes = task.formula.nodes;
  const Node& at = nodes[n];
  switch (at.op) {
    case Op::kNeg:
      term->factor = -term->factor;
      Multiply(task, at.operands[0], term);
      return;
    case Op::kMul:
      Multiply(task, at.operands[0], term);
      Multiply(task, at.operands[1], term);
      return;
    case Op::kConstant:
      term->factor *= at.constant;
      return;
    case Op::kScalar:
      term->plain &= term->scalar < 0;
      term->scalar = at.target;
      return;
    case Op::kDiv:
      if (nodes[at.operands[1]].op == Op::kConstant) {
        term->factor /= nodes[at.operands[1]].constant;
        Multiply(task, at.operands[0], term);
        return;
      }
      break;
    default:
      break;
  }
  term->core.push_back(n);
}

void Add(const Task& task, int n, bool negative, std::vector<LinearTerm>* terms) {
  const Node& at = task.formula.nodes[n];
  if (at.type == ValueType::kReal && (at.op == Op::kAdd || at.op == Op::kSub)) {
    Add(task, at.operands[0], negative, terms);
    Add(task, at.operands[1], negative != (at.op == Op::kSub), terms);
    return;
  }
  LinearTerm term;
  if (negative) term.factor = -1;
  Multiply(task, n, &term);
  terms->push_back(std::move(term));
}

bool IsActivation(const Node& node) {
  return node.operands.size() == 1 && node.op >= Op::kAbs && node.op <= Op::kFloor &&
         node.type == ValueType::kReal;
}

}  // namespace

LinearTerm LinearTermOf(const Task& task, int node) {
  LinearTerm term;
  Multiply(task, node, &term);
  return term;
}

LinearTerms LinearTermsOf(const Task& task, int root) {
  LinearTerms result;
  while (IsActivation(task.formula.nodes[root])) {
    result.activation.push_back(task.formula.nodes[root].op);
    root = task.formula.nodes[root].operands[0];
  }
  std::reverse(result.activation.begin(), result.activation.end());
  Add(task, root, false, &result.terms);
  return result;
}

bool IsSumOfProducts(const Task& task, LinearTerm* term, int* x, int* y, std::vector<int>* bound) {
  const std::vector<Node>& nodes = task.formula.nodes;
  if (term->core.size() != 1) return false;
  const Node& reduce = nodes[term->core[0]];
  if (reduce.op != Op::kReduce || reduce.reduce != Reduction::kSum ||
      reduce.type != ValueType::kReal) {
    return false;
  }
  const LinearTerm body = LinearTermOf(task, reduce.operands[0]);
  if (body.core.size() != 2 || !body.plain) return false;
  *x = body.core[0];
  *y = body.core[1];
  if (nodes[*x].op != Op::kLoad || nodes[*y].op != Op::kLoad) return false;
  term->factor *= body.factor;
  if (body.scalar >= 0) {
    term->plain &= term->scalar < 0;
    term->scalar = body.scalar;
  }
  *bound = reduce.bound;
  return true;
}

bool PlainStrides(const Task& task, const Node& load,
                  std::vector<std::pair<int, int64_t>>* strides) {
  const size_t start = strides->size();
  for (size_t axis = 0; axis < load.subscripts.size(); ++axis) {
    const Subscript& s = load.subscripts[axis];
    if (s.gather >= 0 || CanFallOutside(task, load, static_cast<int>(axis))) return false;
    if (s.affine.terms.empty() && s.affine.offset == 0) continue;
    if (!IsPlain(s.affine)) return false;
    const int index = s.affine.terms[0].first;
    for (size_t i = start; i < strides->size(); ++i) {
      if ((*strides)[i].first == index) return false;
    }
    strides->emplace_back(index, task.tensors[load.target].strides[axis]);
  }
  return true;
}

}  // namespace hiera
