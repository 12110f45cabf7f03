// Reductions: loops around their bodies, along the lanes or with a block of lanes in each turn, and
// panels.
#include <algorithm>
#include <limits>

#include "runtime/device/host/interpreter/compiler.h"
#include "runtime/device/host/interpreter/plan.h"

namespace hiera::interpreter {
namespace {

// What a reduction starts from.
struct Start {
  double real = 0;
  int64_t integer = 0;
};

Start StartOf(Reduction reduce) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (reduce) {
    case Reduction::kProd:
    case Reduction::kAll:
      return {1, 1};
    case Reduction::kMax:
      return {-kInfinity, std::numeric_limits<int64_t>::min()};
    case Reduction::kMin:
      return {kInfinity, std::numeric_limits<int64_t>::max()};
    default:
      return {};
  }
}

}  // namespace

bool Compiler::VisitPanel(int i, int scope, Value* out) {
  if (scope != kLaneBlock || p_.has_panel) return false;
  const auto match = MatchPanel(l_, statement_, i, p_.lane);
  if (!match.has_value()) return false;
  const Node& n = node(i);
  Value none;
  PanelPlan& panel = p_.panel;
  panel.scale = static_cast<int>(p_.loads.size());
  p_.loads.push_back(LoadOf(node(match->scale), scope, false, false, false, &none));
  panel.row = static_cast<int>(p_.loads.size());
  p_.loads.push_back(LoadOf(node(match->row), scope, false, true, false, &none));
  panel.bound = n.bound;
  for (const int index : n.bound) {
    panel.extents.push_back(l_.formula.indices[index].extent);
    panel.count *= panel.extents.back();
  }
  panel.row_index = match->row_index;
  panel.out = NewSlot(l_.real, true);
  p_.has_panel = true;
  *out = {panel.out, true};
  return true;
}

Compiler::Loops Compiler::OpenLoops(int i, int home, bool vector) {
  const Node& n = node(i);
  Loops loops;
  loops.home = loops.inner = home;
  loops.order = n.bound;
  loops.vector = vector;
  int lane = scopes_[home].lane;
  if (!vector) {
    loops.lane_index = CheapestBound(l_, i);
    lane = loops.lane_index;
    if (lane >= 0) {
      std::erase(loops.order, lane);
      loops.order.push_back(lane);
      loops.vector = true;
      loops.fold_lanes = std::min(kBlockLanes, l_.formula.indices[lane].extent);
    }
  }
  for (const int index : loops.order) {
    loops.inner = NewScope({index}, lane, loops.inner);
    loops.scopes.push_back(loops.inner);
  }
  return loops;
}

void Compiler::CloseLoops(const Loops& loops) {
  for (size_t i = loops.order.size(); i-- > 0;) {
    Item item;
    item.kind = loops.order[i] == loops.lane_index ? ItemKind::kLaneLoop : ItemKind::kLoop;
    item.index = loops.order[i];
    item.extent = l_.formula.indices[item.index].extent;
    item.number = scopes_[loops.scopes[i]].block;
    Emit(scopes_[loops.scopes[i]].parent, item);
  }
}

Value Compiler::VisitReduce(int i, int scope, bool guarded, bool vector) {
  const Node n = node(i);
  Value out;
  if (!guarded && vector && VisitPanel(i, scope, &out)) return DivideByCount(n, scope, out);
  if (vector && VisitTapReduce(i, scope, guarded, &out)) return DivideByCount(n, scope, out);
  const Loops loops = OpenLoops(i, scope, vector);
  if (n.reduce == Reduction::kArgMax || n.reduce == Reduction::kArgMin) {
    return VisitArg(n, loops, guarded);
  }
  return DivideByCount(n, scope, Accumulate(n, loops, guarded));
}

Value Compiler::DivideByCount(const Node& n, int scope, Value total) {
  if (n.reduce != Reduction::kMean) return total;
  double count = 1;
  for (const int index : n.bound) count *= static_cast<double>(l_.formula.indices[index].extent);
  const int divisor = NewSlot(l_.real, false);
  EmitFill(kRunBlock, divisor, l_.real, count, 0, false, 1);
  Item item;
  item.fn = lanes_.op[static_cast<int>(Op::kDiv)][real()];
  item.vector = total.vector;
  item.a = total.slot;
  item.b = divisor;
  item.form = kSecondUniform;
  item.out = NewSlot(l_.real, total.vector);
  Emit(scope, item);
  total.slot = item.out;
  return total;
}

// The mask of a reduction: 1 where any of its terms is masked.
Value Compiler::FoldMask(const Loops& loops, const Value& body) {
  Value out;
  if (body.mask == kNoSlot) return out;
  const int bools = static_cast<int>(Lane::kBool);
  const int total = NewSlot(Lane::kBool, loops.vector);
  // In front of everything that is in the home block already: it is filled again before each use.
  Item fill;
  fill.kind = ItemKind::kFill;
  fill.type = Lane::kBool;
  fill.out = total;
  fill.vector = loops.vector;
  fill.lanes = loops.lane_index >= 0 ? kBlockLanes : 0;
  std::vector<Item>& home = p_.blocks[scopes_[loops.home].block];
  home.insert(home.begin(), fill);
  Item item;
  item.fn = lanes_.op[static_cast<int>(Op::kOr)][bools];
  item.vector = loops.vector;
  item.out = item.a = total;
  item.b = body.mask;
  item.form = body.mask_vector ? 0 : kSecondUniform;
  Emit(loops.inner, item);
  out.mask = total;
  out.mask_vector = loops.vector && loops.lane_index < 0;
  return out;
}

void Compiler::AccumulateBody(const Node& n, const Loops& loops, int total, const Value& body) {
  static constexpr Op kStep[] = {Op::kAdd, Op::kMul, Op::kMax, Op::kMin, Op::kAdd,
                                 Op::kMax, Op::kMin, Op::kOr,  Op::kAnd};
  Item item;
  item.vector = loops.vector;
  item.out = total;
  if (loops.lane_index >= 0 && l_.exact && n.type == ValueType::kReal &&
      (n.reduce == Reduction::kSum || n.reduce == Reduction::kMean ||
       n.reduce == Reduction::kProd)) {
    item.kind = ItemKind::kOrdered;
    item.a = body.slot;
    item.form = body.vector ? 0 : kFirstUniform;
    item.ordered = lanes_.ordered[n.reduce == Reduction::kProd ? 1 : 0][real()];
  } else {
    item.fn = lanes_.op[static_cast<int>(kStep[static_cast<int>(n.reduce)])]
                       [static_cast<int>(LaneOf(n.type))];
    item.a = total;
    item.b = body.slot;
    item.form = body.vector ? 0 : kSecondUniform;
  }
  Emit(loops.inner, item);
}

int Compiler::EmitFold(const Loops& loops, int slot, Lane type, int kind) {
  Item item;
  item.kind = ItemKind::kFold;
  item.a = slot;
  item.out = NewSlot(type, false);
  item.lanes = loops.fold_lanes;
  item.fold = lanes_.fold[kind][static_cast<int>(type)];
  Emit(loops.home, item);
  return item.out;
}

Value Compiler::Accumulate(const Node& n, const Loops& loops, bool guarded) {
  const Lane type = LaneOf(n.type);
  const int total = NewSlot(type, loops.vector);
  const bool along = loops.lane_index >= 0;
  const Start start = StartOf(n.reduce);
  EmitFill(loops.home, total, type, start.real, start.integer, loops.vector,
           along ? kBlockLanes : 0);
  const int body_node = n.operands[0];
  const bool sum = n.reduce == Reduction::kSum || n.reduce == Reduction::kMean;
  Value body;
  if (sum && n.type == ValueType::kReal && !l_.exact && node(body_node).op == Op::kMul &&
      uses_[body_node] == 1 && !CanBreakKeep(l_, body_node)) {
    const Value a = Visit(node(body_node).operands[0], loops.inner, guarded);
    const Value b = Visit(node(body_node).operands[1], loops.inner, guarded);
    Item item;
    item.fn = lanes_.multiply_add[real()];
    item.vector = loops.vector;
    item.out = item.c = total;
    item.a = a.slot, item.b = b.slot;
    item.form = (a.vector ? 0 : kFirstUniform) | (b.vector ? 0 : kSecondUniform);
    Emit(loops.inner, item);
  } else {
    body = Visit(body_node, loops.inner, guarded);
    AccumulateBody(n, loops, total, body);
  }
  Value out = FoldMask(loops, body);
  CloseLoops(loops);
  out.slot = total;
  out.vector = loops.vector && !along;
  if (!along) return out;
  if (out.mask != kNoSlot) out.mask = EmitFold(loops, out.mask, Lane::kBool, 2);
  const bool ordered = l_.exact && type == l_.real && (sum || n.reduce == Reduction::kProd);
  static constexpr int kFoldOf[] = {0, 1, 2, 3, 0, 2, 3, 2, 3};
  if (!ordered) out.slot = EmitFold(loops, total, type, kFoldOf[static_cast<int>(n.reduce)]);
  return out;
}

Value Compiler::VisitArg(const Node& n, const Loops& loops, bool guarded) {
  const bool largest = n.reduce == Reduction::kArgMax;
  const Lane type = LaneOf(node(n.operands[0]).type);
  const bool along = loops.lane_index >= 0;
  const int best = NewSlot(type, loops.vector), at = NewSlot(Lane::kInt, loops.vector);
  EmitFill(loops.home, best, type, 0, 0, loops.vector, along ? kBlockLanes : 0);
  EmitFill(loops.home, at, Lane::kInt, -1, -1, loops.vector, along ? kBlockLanes : 0);
  const Value body = Visit(n.operands[0], loops.inner, guarded);
  Item step;
  step.kind = ItemKind::kArg;
  step.vector = loops.vector;
  step.along_lanes = along;
  step.index = n.bound[0];
  step.out = best;
  step.b = at;
  step.a = body.slot;
  step.form = body.vector ? 0 : kFirstUniform;
  step.arg = (largest ? lanes_.arg_max : lanes_.arg_min)[static_cast<int>(type)];
  Emit(loops.inner, step);
  Value out = FoldMask(loops, body);
  CloseLoops(loops);
  int index = at;
  if (along) {
    Item fold;
    fold.kind = ItemKind::kArgFold;
    fold.type = type;
    fold.largest = largest;
    fold.a = best;
    fold.b = at;
    fold.out = index = NewSlot(Lane::kInt, false);
    fold.lanes = loops.fold_lanes;
    Emit(loops.home, fold);
    if (out.mask != kNoSlot) out.mask = EmitFold(loops, out.mask, Lane::kBool, 2);
  }
  const int zero = NewSlot(Lane::kInt, false);  // the answer where there was nothing to choose from
  EmitFill(kRunBlock, zero, Lane::kInt, 0, 0, false, 1);
  Item clamp;
  out.vector = clamp.vector = loops.vector && !along;
  clamp.fn = lanes_.op[static_cast<int>(Op::kMax)][static_cast<int>(Lane::kInt)];
  clamp.a = index;
  clamp.b = zero;
  clamp.form = kSecondUniform;
  clamp.out = out.slot = NewSlot(Lane::kInt, out.vector);
  Emit(loops.home, clamp);
  return out;
}

}  // namespace hiera::interpreter
