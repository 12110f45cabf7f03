// Sums of several terms, each perhaps times something uniform, as one instruction: a stencil is one
// of them, whether written out or as a reduction over a small window.
#include "runtime/device/host/interpreter/compiler.h"
#include "runtime/device/host/interpreter/plan.h"

namespace hiera::interpreter {
namespace {

// A reduction over more elements than this is a loop.
constexpr int64_t kMostTaps = 1024;

// The affine with a value for each of `bound`.
Affine Fixed(const Affine& affine, const std::vector<int>& bound,
             const std::vector<int64_t>& values) {
  Affine out{{}, affine.offset, affine.divisor};
  for (const auto& term : affine.terms) {
    const auto found = std::find(bound.begin(), bound.end(), term.first);
    if (found == bound.end()) {
      out.terms.push_back(term);
    } else {
      out.offset += term.second * values[found - bound.begin()];
    }
  }
  return out;
}

Node Fixed(Node load, const std::vector<int>& bound, const std::vector<int64_t>& values) {
  for (Subscript& s : load.subscripts) s.affine = Fixed(s.affine, bound, values);
  return load;
}

}  // namespace

// A read whose rows can be used by taps.
bool Compiler::IsTap(int i) const {
  const Node& n = node(i);
  return n.op == Op::kLoad && n.type == ValueType::kReal &&
         std::all_of(n.subscripts.begin(), n.subscripts.end(),
                     [](const Subscript& s) { return s.gather < 0 && s.affine.divisor == 1; });
}

// The uniform operand of a product of something uniform and something along the lanes that only
// the sum uses: 0 or 1; -1 where it is no such product.
int Compiler::FactorOf(int i, int scope) const {
  const Node& n = node(i);
  if (n.op != Op::kMul || uses_[i] != 1 || Place(i, scope) != scope) return -1;
  const int lane = scopes_[scope].lane;
  for (const int side : {0, 1}) {
    if (!DependsOn(n.operands[side], lane) && DependsOn(n.operands[1 - side], lane)) return side;
  }
  return -1;
}

// The terms under a tree of additions and subtractions, in the order as written. In exact
// arithmetic only the left operand of a sum is taken apart; otherwise a factor of a sum is one of
// each of its terms.
void Compiler::CollectTerms(int i, int scope, Term outer, bool first,
                            std::vector<Term>* terms) const {
  const Node& n = node(i);
  const bool sum = n.op == Op::kAdd || n.op == Op::kSub;
  if (sum && (first || (uses_[i] == 1 && Place(i, scope) == scope))) {
    CollectTerms(n.operands[0], scope, outer, false, terms);
    outer.negative = outer.negative != (n.op == Op::kSub);
    const int right = n.operands[1];
    const bool nested = node(right).op == Op::kAdd || node(right).op == Op::kSub;
    if (!l_.exact || !nested || !DependsOn(right, scopes_[scope].lane)) {
      return CollectTerms(right, scope, outer, false, terms);
    }
    outer.lanes = right;
    terms->push_back(outer);
    return;
  }
  if (!DependsOn(i, scopes_[scope].lane)) {
    outer.factors.push_back(i);
    terms->push_back(outer);
    return;
  }
  const int side = FactorOf(i, scope);
  if (side >= 0 && (!l_.exact || outer.factors.empty())) {
    outer.factors.push_back(n.operands[side]);
    i = n.operands[1 - side];
    if (!l_.exact) return CollectTerms(i, scope, outer, false, terms);
  }
  outer.lanes = i;
  terms->push_back(outer);
}

bool Compiler::VisitSum(int i, int scope, bool guarded, bool vector, Value* out) {
  const Node& n = node(i);
  if ((n.op != Op::kAdd && n.op != Op::kSub) || n.type != ValueType::kReal || !vector) return false;
  if (CanBreakKeep(l_, i) && (guarded || !OnlyPlainKeeps(i))) return false;
  std::vector<Term> terms;
  CollectTerms(i, scope, {}, true, &terms);
  // Other sums are left to additions and multiply-adds.
  size_t good = 0;
  bool factored = false;
  for (const Term& term : terms) {
    good += term.lanes >= 0 && (!term.factors.empty() || IsTap(term.lanes)) ? 1 : 0;
    factored |= term.lanes >= 0 && !term.factors.empty();
  }
  if (2 * good < terms.size() || (terms.size() == 2 && !factored)) return false;
  std::vector<TapRead> reads;
  int factor_scope = kRunBlock, ones = kNoSlot;
  for (const Term& term : terms) {
    TapRead read;
    read.tap.negative = term.negative;
    for (const int factor : term.factors) {
      factor_scope = std::max(factor_scope, Place(factor, scope));
      read.tap.factors.push_back(Visit(factor, scope, guarded).slot);
    }
    if (term.lanes < 0) {
      if (ones == kNoSlot) {
        ones = NewSlot(l_.real, true);
        EmitFill(kRunBlock, ones, l_.real, 1, 1, true, kBlockLanes);
      }
      read.slot = ones;
    } else if (IsTap(term.lanes)) {
      read.read = node(term.lanes);
    } else {
      read.slot = Visit(term.lanes, scope, guarded).slot;
    }
    reads.push_back(std::move(read));
  }
  EmitTaps(scope, factor_scope, reads, {}, out);
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

// Takes the product that reduction `n` sums apart: a read along the lanes, at most one read of
// weights that the bound indices choose from, and factors that do not depend on them.
bool Compiler::SplitProduct(const Node& n, int scope, int* lanes, int* load,
                            std::vector<int>* factors) {
  std::vector<int> open{n.operands[0]};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    const bool along = DependsOn(i, scopes_[scope].lane);
    const bool bound =
        std::any_of(n.bound.begin(), n.bound.end(), [&](int index) { return DependsOn(i, index); });
    if (!along && !bound && !CanBreakKeep(l_, i)) {
      factors->push_back(i);
    } else if (along && IsTap(i) && *lanes < 0) {
      *lanes = i;
    } else if (!along && IsTap(i) && *load < 0) {
      *load = i;
      const Node& weights = node(i);
      for (size_t axis = 0; axis < weights.subscripts.size(); ++axis) {
        const Interval range = RangeOf(weights.subscripts[axis].affine, l_.formula.indices);
        if (range.low < 0 || range.high >= l_.buffers[weights.target].extents[axis]) return false;
      }
    } else if (node(i).op == Op::kMul && !l_.exact) {
      open.push_back(node(i).operands[1]);
      open.push_back(node(i).operands[0]);
    } else if (node(i).op == Op::kMul && i == n.operands[0]) {
      open = {node(i).operands[1], node(i).operands[0]};
    } else {
      return false;
    }
  }
  return *lanes >= 0;
}

// A sum over a small window of a read along the lanes, perhaps with weights.
bool Compiler::VisitTapReduce(int i, int scope, bool guarded, Value* out) {
  const Node& n = node(i);
  if ((n.reduce != Reduction::kSum && n.reduce != Reduction::kMean) || n.type != ValueType::kReal ||
      guarded) {
    return false;
  }
  int64_t count = 1;
  for (const int index : n.bound) {
    const int64_t extent = l_.formula.indices[index].extent;
    if (extent == 0 || extent > kMostTaps || count * extent > kMostTaps) return false;
    count *= extent;
  }
  int lanes = -1, load = -1;
  std::vector<int> factors;
  if (!SplitProduct(n, scope, &lanes, &load, &factors)) return false;
  TapRead common;
  int factor_scope = kRunBlock;
  for (const int factor : factors) {
    factor_scope = std::max(factor_scope, Place(factor, scope));
    common.tap.factors.push_back(Visit(factor, scope, false).slot);
  }
  TapSum sum;
  std::vector<int64_t> values(n.bound.size(), 0);
  if (load >= 0) {
    const Node first = Fixed(node(load), n.bound, values);
    std::vector<int> depends = l_.depends[load];
    std::erase_if(depends, [&](int index) {
      return std::find(n.bound.begin(), n.bound.end(), index) != n.bound.end();
    });
    factor_scope = std::max(factor_scope, PlaceOf(depends, scope));
    Value none;
    sum.factor_load = static_cast<int>(p_.loads.size());
    p_.loads.push_back(LoadOf(first, factor_scope, false, false, false, &none));
  }
  std::vector<TapRead> reads;
  for (int64_t t = 0; t < count; ++t) {
    reads.push_back(common);
    reads.back().read = Fixed(node(lanes), n.bound, values);
    if (load >= 0) {
      const Buffer& buffer = l_.buffers[node(load).target];
      int64_t offset = 0;
      for (size_t axis = 0; axis < buffer.strides.size(); ++axis) {
        const Affine& affine = node(load).subscripts[axis].affine;
        offset += (Fixed(affine, n.bound, values).offset - affine.offset) * buffer.strides[axis];
      }
      sum.factor_offset.push_back(offset * StorageBytes(buffer.storage));
    }
    for (size_t b = n.bound.size(); b-- > 0;) {
      if (++values[b] < l_.formula.indices[n.bound[b]].extent) break;
      values[b] = 0;
    }
  }
  EmitTaps(scope, factor_scope, reads, std::move(sum), out);
  return true;
}

}  // namespace hiera::interpreter
