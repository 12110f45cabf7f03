// Sums of several terms, each perhaps times something uniform, as one instruction: a stencil is a
// few of them, and each lane is stored once rather than once a term.
#include "runtime/device/host/interpreter/compiler.h"

namespace hiera::interpreter {

// Whether a node is a product of something uniform and something along the lanes that only the sum
// uses.
bool Compiler::IsFactored(int i, int scope, Term* term) const {
  const Node& n = node(i);
  if (n.op != Op::kMul || uses_[i] != 1 || Place(i, scope) != scope) return false;
  const int lane = scopes_[scope].lane;
  for (const int side : {0, 1}) {
    const int factor = n.operands[side], lanes = n.operands[1 - side];
    if (DependsOn(factor, lane) || !DependsOn(lanes, lane)) continue;
    term->factor = factor;
    term->lanes = lanes;
    return true;
  }
  return false;
}

// The terms under a tree of additions and subtractions, in the order as written; false where one is
// uniform. In exact arithmetic only the left operand of a sum is taken apart.
bool Compiler::CollectTerms(int i, int scope, bool negative, bool first,
                            std::vector<Term>* terms) const {
  const Node& n = node(i);
  const bool sum = n.op == Op::kAdd || n.op == Op::kSub;
  if (sum && (first || (uses_[i] == 1 && Place(i, scope) == scope))) {
    if (!CollectTerms(n.operands[0], scope, negative, false, terms)) return false;
    const bool turned = negative != (n.op == Op::kSub);
    const int right = n.operands[1];
    const bool nested = node(right).op == Op::kAdd || node(right).op == Op::kSub;
    if (!l_.exact || !nested) return CollectTerms(right, scope, turned, false, terms);
    if (!DependsOn(right, scopes_[scope].lane)) return false;
    terms->push_back({right, -1, turned});
    return true;
  }
  if (!DependsOn(i, scopes_[scope].lane)) return false;
  Term term{i, -1, negative};
  IsFactored(i, scope, &term);
  terms->push_back(term);
  return true;
}

bool Compiler::VisitSum(int i, int scope, bool guarded, bool vector, Value* out) {
  const Node& n = node(i);
  if ((n.op != Op::kAdd && n.op != Op::kSub) || n.type != ValueType::kReal || !vector) return false;
  if (CanBreakKeep(l_, i) && (guarded || !OnlyPlainKeeps(i))) return false;
  std::vector<Term> terms;
  if (!CollectTerms(i, scope, false, true, &terms)) return false;
  bool factored = false;
  for (const Term& term : terms) factored |= term.factor >= 0;
  if (terms.size() == 2 && !factored) return false;
  Weighted sum;
  const auto emit = [&] {
    Item item;
    item.kind = ItemKind::kWeighted;
    item.vector = true;
    item.out = out->slot = NewSlot(l_.real, true);
    item.number = static_cast<int>(p_.sums.size());
    p_.sums.push_back(sum);
    Emit(scope, item);
  };
  out->vector = true;
  for (const Term& term : terms) {
    if (sum.count == kMostTerms) {
      emit();
      sum = {};
      sum.lanes[sum.count++] = out->slot;
    }
    sum.lanes[sum.count] = Visit(term.lanes, scope, guarded).slot;
    if (term.factor >= 0) sum.factor[sum.count] = Visit(term.factor, scope, guarded).slot;
    sum.negative[sum.count++] = term.negative;
  }
  emit();
  return true;
}

// Whether the keep rules under a node are only those that cut the lanes, so that no mask comes of
// them.
bool Compiler::OnlyPlainKeeps(int i) const {
  const Node& n = node(i);
  if (n.op == Op::kSelect && CanBreakKeep(l_, i)) return false;
  for (const int operand : n.operands) {
    if (!OnlyPlainKeeps(operand)) return false;
  }
  for (const Subscript& s : n.subscripts) {
    if ((s.gather >= 0 || s.affine.divisor != 1) && CanBreakKeep(l_, i)) return false;
  }
  return true;
}

}  // namespace hiera::interpreter
