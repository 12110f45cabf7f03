#include "runtime/device/cuda/interpreter/compile.h"

#include <algorithm>
#include <utility>

#include "runtime/device/cuda/interpreter/compiler.h"

namespace hiera::cuda {
namespace {

using interpreter::CanBreakKeep;
using interpreter::Lowered;

int64_t Volume(const Lowered& l, const std::vector<int>& indices) {
  int64_t volume = 1;
  for (const int index : indices) volume *= l.formula.indices[index].extent;
  return volume;
}

// The most elements that an outermost reduction of the statement combines. `ordered`: some real sum
// or product must be made in the order as written.
int64_t LargestReduction(const Lowered& l, int node, bool* ordered) {
  const Node& n = l.formula.nodes[node];
  int64_t largest = 0;
  if (n.op == Op::kReduce) {
    const bool sums =
        n.reduce == Reduction::kSum || n.reduce == Reduction::kProd || n.reduce == Reduction::kMean;
    *ordered = *ordered || (l.exact && sums && n.type == ValueType::kReal);
    return Volume(l, n.bound);
  }
  for (const int operand : n.operands) {
    largest = std::max(largest, LargestReduction(l, operand, ordered));
  }
  for (const Subscript& s : n.subscripts) {
    if (s.gather >= 0) largest = std::max(largest, LargestReduction(l, s.gather, ordered));
  }
  return largest;
}

// How many threads make one point. A device is full with some 2,048 threads on each multiprocessor;
// where points are fewer than that, and where a warp's threads would read rows side by side, a
// reduction is dealt out.
uint32_t TeamOf(const Lowered& l, const Statement& statement, const Target& target) {
  bool ordered = false;
  const int64_t reduced = LargestReduction(l, statement.root, &ordered);
  const int64_t points = Volume(l, statement.indices);
  if (ordered || reduced < 64) return 1;
  if (reduced >= 4096 && points < int64_t{8} * target.multiprocessors) {
    return target.block_threads;
  }
  return points < int64_t{256} * target.multiprocessors ? 32 : 1;
}

// Whether which elements stay unwritten depends on more than where they are.
bool Chooses(const Lowered& l, int node, bool chosen) {
  if (!CanBreakKeep(l, node)) return false;
  const Node& n = l.formula.nodes[node];
  if (n.op == Op::kLoad) {
    for (const Subscript& s : n.subscripts) chosen = chosen || s.gather >= 0;
    return chosen;
  }
  for (size_t i = 0; i < n.operands.size(); ++i) {
    if (Chooses(l, n.operands[i], chosen || (n.op == Op::kSelect && i > 0))) return true;
  }
  return false;
}

}  // namespace

namespace {

// By type of the operands; kStop where there is none.
struct Codes {
  Op op;
  Code real, integer, boolean;
};
constexpr Code kNo = Code::kStop;
constexpr Codes kCodes[] = {
    {Op::kNeg, Code::kNeg, Code::kNegInt, kNo},
    {Op::kAbs, Code::kAbs, Code::kAbsInt, kNo},
    {Op::kExp, Code::kExp, kNo, kNo},
    {Op::kLog, Code::kLog, kNo, kNo},
    {Op::kSin, Code::kSin, kNo, kNo},
    {Op::kCos, Code::kCos, kNo, kNo},
    {Op::kSqrt, Code::kSqrt, kNo, kNo},
    {Op::kRsqrt, Code::kRsqrt, kNo, kNo},
    {Op::kTanh, Code::kTanh, kNo, kNo},
    {Op::kErf, Code::kErf, kNo, kNo},
    {Op::kSigmoid, Code::kSigmoid, kNo, kNo},
    {Op::kRelu, Code::kRelu, kNo, kNo},
    {Op::kGelu, Code::kGelu, kNo, kNo},
    {Op::kSilu, Code::kSilu, kNo, kNo},
    {Op::kFloor, Code::kFloor, kNo, kNo},
    {Op::kNot, kNo, kNo, Code::kNot},
    {Op::kToReal, kNo, Code::kToRealInt, Code::kToRealBool},
    {Op::kAdd, Code::kAdd, Code::kAddInt, kNo},
    {Op::kSub, Code::kSub, Code::kSubInt, kNo},
    {Op::kMul, Code::kMul, Code::kMulInt, kNo},
    {Op::kDiv, Code::kDiv, kNo, kNo},
    {Op::kPow, Code::kPow, kNo, kNo},
    {Op::kMin, Code::kMin, Code::kMinInt, Code::kMinBool},
    {Op::kMax, Code::kMax, Code::kMaxInt, Code::kMaxBool},
    {Op::kMod, kNo, Code::kModInt, kNo},
    {Op::kLess, Code::kLess, Code::kLessInt, Code::kLessBool},
    {Op::kLessEqual, Code::kLessEqual, Code::kLessEqualInt, Code::kLessEqualBool},
    {Op::kEqual, Code::kEqual, Code::kEqualInt, Code::kEqualBool},
    {Op::kNotEqual, Code::kNotEqual, Code::kNotEqualInt, Code::kNotEqualBool},
    {Op::kAnd, kNo, kNo, Code::kAnd},
    {Op::kOr, kNo, kNo, Code::kOr},
};

}  // namespace

Code CodeOf(Op op, ValueType operands) {
  for (const Codes& codes : kCodes) {
    if (codes.op != op) continue;
    return operands == ValueType::kReal  ? codes.real
           : operands == ValueType::kInt ? codes.integer
                                         : codes.boolean;
  }
  return kNo;
}

Compiler::Compiler(const Lowered& lowered, const Statement& statement, uint32_t team,
                   Sharing sharing)
    : l_(lowered),
      statement_(statement),
      team_(team),
      shares_(sharing != Sharing::kNothing),
      keeps_constants_(sharing == Sharing::kAll) {
  uses_.assign(l_.formula.nodes.size(), 0);
  need_.assign(l_.formula.nodes.size(), 0);
  out_.team = team;
  out_.points = Volume(l_, statement.indices);
  scopes_.push_back({kNone, statement.indices, {}, {}});
}

std::optional<StageProgram> Compiler::Run() {
  CountUses(statement_.root);
  NeedOf(statement_.root);
  EmitPoint();
  const Value root = Visit(statement_.root, 0);
  EmitStore(root);
  Emit(0, Instruction{});
  if (too_many_buffers_) return std::nullopt;
  once_.insert(once_.end(), scopes_[0].code.begin(), scopes_[0].code.end());
  std::optional<Encoded> encoded = assembly_.Encode(once_);
  if (!encoded.has_value()) return std::nullopt;
  const uint32_t thread_bytes = 8 * encoded->wide_slots + 4 * encoded->narrow_slots;
  if (thread_bytes * std::max(team_, 32u) + kExchangeBytes > kMostShared) return std::nullopt;
  out_.encoded = *std::move(encoded);
  out_.unwritten.keeps = root.mask != kNone;
  out_.unwritten.chooses = Chooses(l_, statement_.root, false);
  return std::move(out_);
}

void Compiler::CountUses(int i) {
  if (uses_[i]++ > 0) return;
  for (const int operand : node(i).operands) CountUses(operand);
  for (const Subscript& s : node(i).subscripts) {
    if (s.gather >= 0) CountUses(s.gather);
  }
}

// Source: Sethi and Ullman, The generation of optimal code for arithmetic expressions, 1970: the
// operand that needs the most goes first.
int Compiler::NeedOf(int i) {
  if (need_[i] > 0) return need_[i];
  std::vector<int> needs;
  for (const int operand : node(i).operands) needs.push_back(NeedOf(operand));
  for (const Subscript& s : node(i).subscripts) {
    if (s.gather >= 0) needs.push_back(NeedOf(s.gather));
  }
  std::sort(needs.rbegin(), needs.rend());
  int need = 1;
  for (size_t k = 0; k < needs.size(); ++k) need = std::max(need, needs[k] + static_cast<int>(k));
  return need_[i] = need;
}

std::vector<int> Compiler::VisitOrder(const Node& n) const {
  std::vector<int> order(n.operands.size());
  for (size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
  if (!shares_) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return need_[n.operands[a]] > need_[n.operands[b]]; });
  }
  return order;
}

int Compiler::BufferNumber(int buffer) {
  const auto known = std::find(out_.buffers.begin(), out_.buffers.end(), buffer);
  if (known != out_.buffers.end()) return static_cast<int>(known - out_.buffers.begin());
  if (out_.buffers.size() == kMostSlots) too_many_buffers_ = true;
  if (!too_many_buffers_) out_.buffers.push_back(buffer);
  return static_cast<int>(out_.buffers.size()) - 1;
}

bool Compiler::DependsOn(int i, int index) const {
  return std::binary_search(l_.depends[i].begin(), l_.depends[i].end(), index);
}

int Compiler::Place(int i, int scope) const {
  if (!shares_ && node(i).op != Op::kReduce) return scope;
  while (scopes_[scope].parent >= 0) {
    const std::vector<int>& own = scopes_[scope].indices;
    if (std::any_of(own.begin(), own.end(), [&](int index) { return DependsOn(i, index); })) break;
    scope = scopes_[scope].parent;
  }
  return scope;
}

// The point's axes, so that neighbours are neighbours in the output's memory.
void Compiler::EmitPoint() {
  const std::vector<int64_t>& strides = l_.buffers[statement_.output].strides;
  std::vector<size_t> axes(statement_.indices.size());
  for (size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = axis;
  std::stable_sort(axes.begin(), axes.end(),
                   [&](size_t a, size_t b) { return strides[a] > strides[b]; });
  Instruction point;
  point.code = Code::kPoint;
  point.a = Field::Of(static_cast<uint32_t>(axes.size()));
  for (size_t i = axes.size(); i-- > 0;) {
    const int index = statement_.indices[axes[i]];
    index_slots_[index] = assembly_.NewSlot(true);
    point.Slot(index_slots_[index]);
    point.Long(ExtentOf(index));
  }
  Emit(0, std::move(point));
}

uint32_t Compiler::AddLinear(Instruction* instruction, int64_t offset,
                             const std::map<int, int64_t>& terms) const {
  instruction->Long(offset);
  uint32_t count = 0;
  for (const auto& [index, coefficient] : terms) {
    if (coefficient == 0) continue;
    instruction->Slot(index_slots_.at(index));
    instruction->Long(coefficient);
    ++count;
  }
  return count;
}

void Compiler::EmitStore(const Value& root) {
  const interpreter::Buffer& buffer = l_.buffers[statement_.output];
  const ValueType type = node(statement_.root).type;
  Instruction store;
  store.code = Code::kStore;
  store.out = Field::Slot(root.slot);
  store.b = Field::Of(BufferNumber(statement_.output));
  const Type of = type == ValueType::kReal  ? Type::kReal
                  : type == ValueType::kInt ? Type::kInteger
                                            : Type::kBoolean;
  store.WordWithSlot(static_cast<uint32_t>(buffer.storage) | static_cast<uint32_t>(of) << 4,
                     root.mask, 8);
  std::map<int, int64_t> terms;
  for (size_t axis = 0; axis < statement_.indices.size(); ++axis) {
    terms[statement_.indices[axis]] += buffer.strides[axis];
  }
  store.a = Field::Of(AddLinear(&store, 0, terms));
  Emit(0, std::move(store));
}

Result<StageProgram> Compile(const Lowered& lowered, const Statement& statement,
                             const Target& target) {
  const uint32_t team = TeamOf(lowered, statement, target);
  for (const Sharing sharing : {Sharing::kAll, Sharing::kWithinPoints, Sharing::kNothing}) {
    for (const uint32_t size : {team, std::min(team, 32u)}) {
      if (auto program = Compiler(lowered, statement, size, sharing).Run()) {
        return *std::move(program);
      }
    }
  }
  return Unsupported(
      "a statement of the formula needs more values at once than a thread can hold; cut it into "
      "several statements");
}

StageProgram CompileCopy(const Lowered& lowered, int from, int to) {
  Lowered copy;
  copy.real = lowered.real;
  copy.buffers = {lowered.buffers[from], lowered.buffers[to]};
  const interpreter::Buffer& buffer = lowered.buffers[from];
  Node load;
  load.op = Op::kLoad;
  load.target = 0;
  load.type =
      buffer.storage == interpreter::Storage::kI32 || buffer.storage == interpreter::Storage::kI64
          ? ValueType::kInt
      : buffer.storage == interpreter::Storage::kBool ? ValueType::kBool
                                                      : ValueType::kReal;
  Statement statement;
  statement.output = 1;
  statement.root = 0;
  std::vector<int> depends;
  for (size_t axis = 0; axis < buffer.extents.size(); ++axis) {
    const int index = static_cast<int>(axis);
    copy.formula.indices.push_back({"", buffer.extents[axis]});
    load.subscripts.push_back({Affine{{{index, 1}}, 0, 1}, -1});
    statement.indices.push_back(index);
    depends.push_back(index);
  }
  copy.formula.nodes.push_back(std::move(load));
  copy.depends.push_back(std::move(depends));
  return *Compiler(copy, statement, 1, Sharing::kAll).Run();  // a handful of slots
}

}  // namespace hiera::cuda
