// Reductions: loops around their bodies, dealt out to the team where they are outermost.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "runtime/device/cuda/interpreter/compiler.h"

namespace hiera::cuda {
namespace {

Type TypeOf(ValueType type) {
  return type == ValueType::kReal  ? Type::kReal
         : type == ValueType::kInt ? Type::kInteger
                                   : Type::kBoolean;
}

bool IsSum(const Node& n) { return n.reduce == Reduction::kSum || n.reduce == Reduction::kMean; }

Combination CombinationOf(Reduction reduce) {
  switch (reduce) {
    case Reduction::kProd:
      return Combination::kProduct;
    case Reduction::kMax:
    case Reduction::kAny:
      return Combination::kMax;
    case Reduction::kMin:
    case Reduction::kAll:
      return Combination::kMin;
    default:
      return Combination::kSum;
  }
}

Op StepOf(Reduction reduce) {
  switch (CombinationOf(reduce)) {
    case Combination::kSum:
      return Op::kAdd;
    case Combination::kProduct:
      return Op::kMul;
    case Combination::kMax:
      return Op::kMax;
    case Combination::kMin:
      break;
  }
  return Op::kMin;
}

}  // namespace

// How far apart in memory the reads under a node are from one value of the index to the next; the
// least of them.
int64_t Compiler::StrideOf(int i, int index) const {
  constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();
  if (!DependsOn(i, index)) return kNowhere;
  const Node& n = node(i);
  int64_t least = kNowhere, own = 0;
  for (const int operand : n.operands) least = std::min(least, StrideOf(operand, index));
  if (n.op != Op::kLoad) return least;
  for (size_t axis = 0; axis < n.subscripts.size(); ++axis) {
    for (const auto& [other, coefficient] : n.subscripts[axis].affine.terms) {
      if (other == index) own += coefficient * l_.buffers[n.target].strides[axis];
    }
  }
  return own == 0 ? least : std::min(least, std::abs(own));
}

// Outermost first; the index along which memory is nearest innermost, unless the order is fixed.
std::vector<int> Compiler::LoopOrder(const Node& n) const {
  std::vector<int> order = n.bound;
  if (l_.exact && n.type == ValueType::kReal) return order;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return StrideOf(n.operands[0], a) > StrideOf(n.operands[0], b);
  });
  return order;
}

int Compiler::OpenLoop(int parent, const std::vector<int>& indices, int index_slot, bool by_team,
                       int64_t extent) {
  scopes_.push_back({parent, indices, {}, {}});
  const int scope = static_cast<int>(scopes_.size()) - 1;
  edges_[scope] = {index_slot, by_team, extent};
  return scope;
}

// Where the innermost loop alone is too short for the team, all loops are dealt out as one.
bool Compiler::IsFlattened(const std::vector<int>& order, int scope) const {
  return scope == 0 && team_ > 1 && order.size() > 1 && ExtentOf(order.back()) < team_;
}

void Compiler::OpenFlattened(const std::vector<int>& order, Loops* loops) {
  int64_t extent = 1;
  for (const int index : order) extent *= ExtentOf(index);
  const int flat = assembly_.NewSlot(true);
  loops->inner = OpenLoop(loops->home, order, flat, true, extent);
  Instruction split;
  split.code = Code::kSplit;
  split.a = Field::Slot(flat);
  split.b = Field::Of(static_cast<uint32_t>(order.size()));
  for (size_t i = order.size(); i-- > 0;) {
    index_slots_[order[i]] = assembly_.NewSlot(true);
    split.Slot(index_slots_[order[i]]);
    split.Long(ExtentOf(order[i]));
  }
  Emit(loops->inner, std::move(split));
}

Compiler::Loops Compiler::OpenLoops(const Node& n, int scope, bool without_last) {
  Loops loops;
  loops.home = loops.inner = scope;
  loops.by_team = scope == 0 && team_ > 1;
  const std::vector<int> order = LoopOrder(n);
  if (!without_last && IsFlattened(order, scope)) {
    OpenFlattened(order, &loops);
    return loops;
  }
  const size_t count = order.size() - (without_last ? 1 : 0);
  for (size_t i = 0; i < count; ++i) {
    const int index = order[i];
    index_slots_[index] = assembly_.NewSlot(true);
    const bool last = i + 1 == order.size();
    loops.inner =
        OpenLoop(loops.inner, {index}, index_slots_[index], last && loops.by_team, ExtentOf(index));
  }
  return loops;
}

void Compiler::CloseLoops(const Loops& loops) {
  for (int scope = loops.inner; scope != loops.home;) {
    const LoopEdge& edge = edges_.at(scope);
    const int parent = scopes_[scope].parent;
    for (Instruction& instruction :
         Assembly::Loop(edge.slot, edge.by_team, edge.extent, std::move(scopes_[scope].code))) {
      Emit(parent, std::move(instruction));
    }
    scope = parent;
  }
}

void Compiler::EmitCombine(const Loops& loops, int slot, ValueType type, Combination how) {
  if (!loops.by_team) return;
  Instruction combine;
  combine.code = Code::kCombine;
  combine.out = Field::Slot(slot);
  combine.a = Field::Of(static_cast<uint32_t>(how));
  combine.b = Field::Of(static_cast<uint32_t>(TypeOf(type)));
  Emit(loops.home, std::move(combine));
}

// What a reduction starts from. A mean or sum over a team starts from 0 in every thread, and all
// others from what changes nothing.
void Compiler::EmitStart(int scope, int slot, const Node& n) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double real = 0;
  int64_t integer = 0;
  switch (CombinationOf(n.reduce)) {
    case Combination::kSum:
      break;
    case Combination::kProduct:
      real = 1, integer = 1;
      break;
    case Combination::kMax:
      real = -kInfinity, integer = std::numeric_limits<int64_t>::min();
      break;
    case Combination::kMin:
      real = kInfinity, integer = std::numeric_limits<int64_t>::max();
      break;
  }
  const int made =
      n.type == ValueType::kReal ? EmitReal(scope, real)
      : n.type == ValueType::kInt
          ? EmitInteger(scope, integer)
          : EmitBoolean(scope, n.reduce == Reduction::kAll || n.reduce == Reduction::kMin);
  scopes_[scope].code.back().out = Field::Slot(slot);
  static_cast<void>(made);
}

void Compiler::Accumulate(const Node& n, int inner, int total, int* mask, int home) {
  const int body_node = n.operands[0];
  const Node& body = node(body_node);
  const bool fuses = IsSum(n) && n.type == ValueType::kReal && !l_.exact && body.op == Op::kMul &&
                     uses_[body_node] == 1 && Place(body_node, inner) == inner;
  Instruction step;
  step.out = Field::Slot(total);
  Value a, b;
  if (fuses) {
    step.code = Code::kMultiplyAdd;
    a = Visit(body.operands[0], inner);
    b = Visit(body.operands[1], inner);
    step.a = Field::Slot(a.slot);
    step.b = Field::Slot(b.slot);
    step.Slot(total);
  } else {
    a = Visit(body_node, inner);
    step.code = CodeOf(StepOf(n.reduce), n.type);
    step.a = Field::Slot(total);
    step.b = Field::Slot(a.slot);
  }
  Emit(inner, std::move(step));
  const int broken = JoinMasks(inner, a.mask, b.mask);
  if (broken == kNone) return;
  *mask = EmitBoolean(home, false);
  Instruction join;
  join.code = Code::kOr;
  join.out = join.a = Field::Slot(*mask);
  join.b = Field::Slot(broken);
  Emit(inner, std::move(join));
}

Value Compiler::DivideByCount(const Node& n, int scope, Value total) {
  if (n.reduce != Reduction::kMean) return total;
  double count = 1;
  for (const int index : n.bound) count *= static_cast<double>(ExtentOf(index));
  const int divisor = EmitReal(ConstantScope(scope), count);
  return {EmitBinary(scope, Code::kDiv, ValueType::kReal, total.slot, divisor), total.mask};
}

Value Compiler::VisitReduce(int i, int scope) {
  const Node n = node(i);
  if (n.reduce == Reduction::kArgMax || n.reduce == Reduction::kArgMin) return VisitArg(n, scope);
  Value out;
  if (VisitDot(n, scope, &out)) return DivideByCount(n, scope, out);
  out.slot = NewSlot(n.type);
  EmitStart(scope, out.slot, n);
  const Loops loops = OpenLoops(n, scope, false);
  Accumulate(n, loops.inner, out.slot, &out.mask, scope);
  CloseLoops(loops);
  EmitCombine(loops, out.slot, n.type, CombinationOf(n.reduce));
  if (out.mask != kNone) EmitCombine(loops, out.mask, ValueType::kBool, Combination::kMax);
  return DivideByCount(n, scope, out);
}

Value Compiler::VisitArg(const Node& n, int scope) {
  const ValueType type = node(n.operands[0]).type;
  const uint32_t word =
      static_cast<uint32_t>(TypeOf(type)) | (n.reduce == Reduction::kArgMax ? 1u << 4 : 0);
  const int best = type == ValueType::kReal  ? EmitReal(scope, 0)
                   : type == ValueType::kInt ? EmitInteger(scope, 0)
                                             : EmitBoolean(scope, false);
  const int at = EmitInteger(scope, -1);
  const Loops loops = OpenLoops(n, scope, false);
  const Value body = Visit(n.operands[0], loops.inner);
  Instruction step;
  step.code = Code::kArgStep;
  step.out = Field::Slot(best);
  step.a = Field::Slot(at);
  step.b = Field::Slot(body.slot);
  step.Slot(index_slots_.at(n.bound[0]));
  step.Word(word);
  Emit(loops.inner, std::move(step));
  Value out;
  if (body.mask != kNone) {
    out.mask = EmitBoolean(scope, false);
    Instruction join;
    join.code = Code::kOr;
    join.out = join.a = Field::Slot(out.mask);
    join.b = Field::Slot(body.mask);
    Emit(loops.inner, std::move(join));
  }
  CloseLoops(loops);
  if (loops.by_team) {
    Instruction combine;
    combine.code = Code::kArgCombine;
    combine.out = Field::Slot(best);
    combine.a = Field::Slot(at);
    combine.Word(word);
    Emit(scope, std::move(combine));
  }
  if (out.mask != kNone) EmitCombine(loops, out.mask, ValueType::kBool, Combination::kMax);
  // The answer where there was nothing to choose from.
  const int zero = EmitInteger(ConstantScope(scope), 0);
  out.slot = EmitBinary(scope, Code::kMaxInt, ValueType::kInt, at, zero);
  return out;
}

// A sum of products of two elements that are read without a rule: one instruction makes the
// innermost loop.
bool Compiler::VisitDot(const Node& n, int scope, Value* out) {
  if (!IsSum(n) || n.type != ValueType::kReal) return false;
  const Node& product = node(n.operands[0]);
  if (product.op != Op::kMul) return false;
  for (const int operand : product.operands) {
    if (!IsPlain(node(operand))) return false;
  }
  const std::vector<int> order = LoopOrder(n);
  if (IsFlattened(order, scope)) return false;
  out->slot = NewSlot(ValueType::kReal);
  EmitStart(scope, out->slot, n);
  const Loops loops = OpenLoops(n, scope, true);
  EmitDot(product, loops, order.back(), out->slot);
  CloseLoops(loops);
  EmitCombine(loops, out->slot, ValueType::kReal, Combination::kSum);
  return true;
}

void Compiler::EmitDot(const Node& product, const Loops& loops, int index, int total) {
  const Node &a = node(product.operands[0]), &b = node(product.operands[1]);
  PlainLoad plain[2] = {PlainOf(a), PlainOf(b)};
  int64_t stride[2];
  uint32_t terms[2];
  for (const int side : {0, 1}) {
    stride[side] = plain[side].terms[index];
    plain[side].terms.erase(index);
    terms[side] =
        static_cast<uint32_t>(std::count_if(plain[side].terms.begin(), plain[side].terms.end(),
                                            [](const auto& term) { return term.second != 0; }));
  }
  Instruction dot;
  dot.code = Code::kDot;
  dot.out = Field::Slot(total);
  dot.a = Field::Of(BufferNumber(a.target));
  dot.b = Field::Of(BufferNumber(b.target));
  dot.Word(static_cast<uint32_t>(l_.buffers[a.target].storage) |
           static_cast<uint32_t>(l_.buffers[b.target].storage) << 4 |
           (loops.by_team ? 1u << 8 : 0) | (l_.exact ? 1u << 9 : 0) | terms[0] << 16 |
           terms[1] << 24);
  dot.Long(ExtentOf(index));
  for (const int side : {0, 1}) {
    dot.Long(stride[side]);
    AddLinear(&dot, plain[side].offset, plain[side].terms);
  }
  Emit(loops.inner, std::move(dot));
}

}  // namespace hiera::cuda
