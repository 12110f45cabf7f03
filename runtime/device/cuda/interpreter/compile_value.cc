// Values that are no reductions: leaves, reads, operations.
#include <bit>

#include "runtime/device/cuda/interpreter/compiler.h"

namespace hiera::cuda {

using interpreter::RangeOf;

int Compiler::EmitReal(int scope, double value) {
  Instruction instruction;
  instruction.code = Code::kReal;
  const int slot = NewSlot(ValueType::kReal);
  instruction.out = Field::Slot(slot);
  instruction.TwoWords(std::bit_cast<uint64_t>(value));
  Emit(scope, std::move(instruction));
  return slot;
}

int Compiler::EmitInteger(int scope, int64_t value) {
  Instruction instruction;
  instruction.code = Code::kInteger;
  const int slot = NewSlot(ValueType::kInt);
  instruction.out = Field::Slot(slot);
  instruction.Long(value);
  Emit(scope, std::move(instruction));
  return slot;
}

int Compiler::EmitBoolean(int scope, bool value) {
  Instruction instruction;
  instruction.code = Code::kBoolean;
  const int slot = NewSlot(ValueType::kBool);
  instruction.out = Field::Slot(slot);
  instruction.a = Field::Of(value ? 1 : 0);
  Emit(scope, std::move(instruction));
  return slot;
}

// `type`: of the result. b kNone: one operand.
int Compiler::EmitBinary(int scope, Code code, ValueType type, int a, int b) {
  Instruction instruction;
  instruction.code = code;
  const int slot = NewSlot(type);
  instruction.out = Field::Slot(slot);
  instruction.a = Field::Slot(a);
  if (b != kNone) instruction.b = Field::Slot(b);
  Emit(scope, std::move(instruction));
  return slot;
}

int Compiler::JoinMasks(int scope, int a, int b) {
  if (a == kNone || b == kNone) return a == kNone ? b : a;
  return EmitBinary(scope, Code::kOr, ValueType::kBool, a, b);
}

Value Compiler::Visit(int i, int scope) {
  const int home = Place(i, scope);
  const bool remembered = shares_ || node(i).op == Op::kReduce;
  const auto known = scopes_[home].values.find(i);
  if (remembered && known != scopes_[home].values.end()) return known->second;
  const Value value = VisitNew(i, home);
  if (remembered) scopes_[home].values[i] = value;
  return value;
}

Value Compiler::VisitNew(int i, int scope) {
  const Node& n = node(i);
  switch (n.op) {
    case Op::kConstant:
    case Op::kScalar:
    case Op::kIndex:
      return VisitLeaf(n, scope);
    case Op::kLoad:
      return VisitLoad(n, scope);
    case Op::kReduce:
      return VisitReduce(i, scope);
    case Op::kSelect:
      return VisitSelect(n, scope);
    default:
      return VisitOp(n, scope);
  }
}

Value Compiler::VisitLeaf(const Node& n, int scope) {
  if (n.op != Op::kIndex) scope = ConstantScope(scope);
  if (n.op == Op::kConstant) {
    if (n.type == ValueType::kReal) return {EmitReal(scope, n.constant)};
    if (n.type == ValueType::kBool) return {EmitBoolean(scope, n.constant != 0)};
    return {EmitInteger(scope, static_cast<int64_t>(n.constant))};
  }
  Instruction instruction;
  const int slot = NewSlot(n.type);
  instruction.out = Field::Slot(slot);
  if (n.op == Op::kScalar) {
    instruction.code = Code::kScalar;
    size_t number = 0;
    while (number < out_.scalars.size() && out_.scalars[number] != n.target) ++number;
    if (number == out_.scalars.size()) out_.scalars.push_back(n.target);
    instruction.Word(static_cast<uint32_t>(number));
  } else {
    instruction.code = Code::kLinear;
    const std::map<int, int64_t> terms(n.affine.terms.begin(), n.affine.terms.end());
    instruction.a = Field::Of(AddLinear(&instruction, n.affine.offset, terms));
  }
  Emit(scope, std::move(instruction));
  return {slot};
}

bool Compiler::IsPlain(const Node& load) const {
  if (load.op != Op::kLoad) return false;
  const interpreter::Buffer& buffer = l_.buffers[load.target];
  for (size_t axis = 0; axis < load.subscripts.size(); ++axis) {
    const Subscript& s = load.subscripts[axis];
    if (s.gather >= 0 || s.affine.divisor != 1) return false;
    const interpreter::Interval range = RangeOf(s.affine, l_.formula.indices);
    if (range.low < 0 || range.high >= buffer.extents[axis]) return false;
  }
  return true;
}

Compiler::PlainLoad Compiler::PlainOf(const Node& load) const {
  const interpreter::Buffer& buffer = l_.buffers[load.target];
  PlainLoad plain;
  for (size_t axis = 0; axis < load.subscripts.size(); ++axis) {
    const Affine& affine = load.subscripts[axis].affine;
    plain.offset += affine.offset * buffer.strides[axis];
    for (const auto& [index, coefficient] : affine.terms) {
      plain.terms[index] += coefficient * buffer.strides[axis];
    }
  }
  return plain;
}

Value Compiler::VisitLoad(const Node& n, int scope) {
  if (!IsPlain(n)) return VisitRuledLoad(n, scope);
  Instruction load;
  load.code = Code::kLoad;
  const int slot = NewSlot(n.type);
  load.out = Field::Slot(slot);
  load.b = Field::Of(BufferNumber(n.target));
  load.Word(static_cast<uint32_t>(l_.buffers[n.target].storage));
  const PlainLoad plain = PlainOf(n);
  load.a = Field::Of(AddLinear(&load, plain.offset, plain.terms));
  Emit(scope, std::move(load));
  return {slot};
}

Value Compiler::VisitRuledLoad(const Node& n, int scope) {
  const interpreter::Buffer& buffer = l_.buffers[n.target];
  std::vector<Value> gathers(n.subscripts.size());
  int mask = kNone;
  for (size_t axis = 0; axis < n.subscripts.size(); ++axis) {
    if (n.subscripts[axis].gather < 0) continue;
    gathers[axis] = Visit(n.subscripts[axis].gather, scope);
    mask = JoinMasks(scope, mask, gathers[axis].mask);
  }
  Instruction load;
  load.code = Code::kLoadRuled;
  const Value out{NewSlot(n.type),
                  buffer.outside == Outside::kKeep ? NewSlot(ValueType::kBool) : kNone};
  load.out = Field::Slot(out.slot);
  load.a = Field::Of(static_cast<uint32_t>(n.subscripts.size()));
  load.b = Field::Of(BufferNumber(n.target));
  load.WordWithSlot(
      static_cast<uint32_t>(buffer.storage) | static_cast<uint32_t>(buffer.outside) << 4, out.mask,
      8);
  for (size_t axis = 0; axis < n.subscripts.size(); ++axis) {
    const Subscript& s = n.subscripts[axis];
    if (s.gather >= 0) {
      load.words.push_back({1u << 8, gathers[axis].slot, 16});
    } else {
      load.Word(static_cast<uint32_t>(s.affine.terms.size()));
    }
    load.Long(s.affine.offset);
    load.Long(s.affine.divisor);
    load.Long(buffer.extents[axis]);
    load.Long(buffer.strides[axis]);
    if (s.gather >= 0) continue;
    for (const auto& [index, coefficient] : s.affine.terms) {
      load.Slot(index_slots_.at(index));
      load.Long(coefficient);
    }
  }
  Emit(scope, std::move(load));
  return {out.slot, JoinMasks(scope, mask, out.mask)};
}

bool Compiler::VisitMultiplyAdd(const Node& n, int scope, Value* out) {
  if (n.op != Op::kAdd || n.type != ValueType::kReal || l_.exact) return false;
  for (const int side : {1, 0}) {
    const int product = n.operands[side];
    if (node(product).op != Op::kMul || uses_[product] != 1 || Place(product, scope) != scope) {
      continue;
    }
    const Value c = Visit(n.operands[1 - side], scope);
    const Value a = Visit(node(product).operands[0], scope);
    const Value b = Visit(node(product).operands[1], scope);
    Instruction fused;
    fused.code = Code::kMultiplyAdd;
    out->slot = NewSlot(ValueType::kReal);
    fused.out = Field::Slot(out->slot);
    fused.a = Field::Slot(a.slot);
    fused.b = Field::Slot(b.slot);
    fused.Slot(c.slot);
    Emit(scope, std::move(fused));
    out->mask = JoinMasks(scope, JoinMasks(scope, a.mask, b.mask), c.mask);
    return true;
  }
  return false;
}

Value Compiler::VisitOp(const Node& n, int scope) {
  Value out;
  if (shares_ && VisitMultiplyAdd(n, scope, &out)) return out;
  Value operands[2];
  for (const int k : VisitOrder(n)) operands[k] = Visit(n.operands[k], scope);
  const Code code = CodeOf(n.op, node(n.operands[0]).type);
  out.slot = EmitBinary(scope, code, n.type, operands[0].slot, operands[1].slot);
  out.mask = JoinMasks(scope, operands[0].mask, operands[1].mask);
  return out;
}

// Both values are computed, the chosen one counts.
Value Compiler::VisitSelect(const Node& n, int scope) {
  Value operands[3];
  for (const int k : VisitOrder(n)) operands[k] = Visit(n.operands[k], scope);
  const auto select = [&](ValueType type, int yes, int no) {
    Instruction instruction;
    instruction.code = Code::kSelect;
    const int slot = NewSlot(type);
    instruction.out = Field::Slot(slot);
    instruction.a = Field::Slot(operands[0].slot);
    instruction.b = Field::Slot(yes);
    instruction.Slot(no);
    instruction.Word(static_cast<uint32_t>(type == ValueType::kReal  ? Type::kReal
                                           : type == ValueType::kInt ? Type::kInteger
                                                                     : Type::kBoolean));
    Emit(scope, std::move(instruction));
    return slot;
  };
  Value out{select(n.type, operands[1].slot, operands[2].slot), operands[0].mask};
  if (operands[1].mask == kNone && operands[2].mask == kNone) return out;
  for (const int side : {1, 2}) {
    if (operands[side].mask == kNone) operands[side].mask = EmitBoolean(scope, false);
  }
  out.mask =
      JoinMasks(scope, out.mask, select(ValueType::kBool, operands[1].mask, operands[2].mask));
  return out;
}

}  // namespace hiera::cuda
