#include "runtime/device/host/interpreter/compile.h"

#include <algorithm>

#include "runtime/device/host/interpreter/compiler.h"
#include "runtime/device/host/interpreter/plan.h"

namespace hiera::interpreter {

int Compiler::NewSlot(Lane type, bool vector, int64_t lanes) {
  constexpr int64_t kLine = 64;
  const int64_t bytes = vector ? lanes * LaneBytes(type) : 8;
  p_.slots.push_back({p_.scratch_bytes, type, vector});
  p_.scratch_bytes += (bytes + kLine - 1) / kLine * kLine;
  return static_cast<int>(p_.slots.size()) - 1;
}

int Compiler::NewScope(std::vector<int> indices, int lane, int parent) {
  scopes_.push_back({static_cast<int>(p_.blocks.size()), std::move(indices), lane, parent, {}});
  p_.blocks.emplace_back();
  return static_cast<int>(scopes_.size()) - 1;
}

void Compiler::EmitFill(int scope, int slot, Lane type, double real, int64_t integer, bool vector,
                        int64_t lanes) {
  Item item;
  item.kind = ItemKind::kFill;
  item.out = slot;
  item.type = type;
  item.constant = real;
  item.integer = integer;
  item.vector = vector;
  item.lanes = lanes;
  Emit(scope, item);
}

void Compiler::CountUses(int i) {
  if (uses_[i]++ > 0) return;
  for (const int operand : node(i).operands) CountUses(operand);
  for (const Subscript& s : node(i).subscripts) {
    if (s.gather >= 0) CountUses(s.gather);
  }
}

Program Compiler::Run() {
  const Plan plan = ChoosePlan(l_, statement_);
  p_.cost_ns = plan.cost_ns;
  p_.real = l_.real;
  p_.exact = l_.exact;
  p_.output = statement_.output;
  p_.axis_index = statement_.indices;
  p_.lane = plan.lane;
  NewSlot(Lane::kF64, false);  // kNoSlot
  std::vector<int> outer;
  for (const int index : statement_.indices) {
    if (index != plan.lane) outer.push_back(index);
  }
  NewScope({}, plan.lane, -1);
  NewScope(outer, plan.lane, kRunBlock);
  NewScope(plan.lane < 0 ? std::vector<int>{} : std::vector<int>{plan.lane}, plan.lane,
           kOuterBlock);
  uses_.assign(l_.formula.nodes.size(), 0);
  CountUses(statement_.root);
  const Value root = Visit(statement_.root, kLaneBlock, false);
  p_.root = root.slot;
  p_.root_vector = root.vector;
  p_.root_type = LaneOf(node(statement_.root).type);
  p_.root_mask = root.mask;
  p_.root_mask_vector = root.mask_vector;
  p_.output_storage = l_.buffers[statement_.output].storage;
  const std::vector<Item>& last = p_.blocks[kLaneBlock];
  p_.root_is_last = root.vector && root.mask == kNoSlot && !last.empty() &&
                    (last.back().kind == ItemKind::kOp || last.back().kind == ItemKind::kTaps) &&
                    last.back().out == root.slot;
  if (plan.lane >= 0) p_.lane_extent = l_.formula.indices[plan.lane].extent;
  for (const int index : outer) {
    const int64_t extent = l_.formula.indices[index].extent;
    if (p_.has_panel && index == p_.panel.row_index) {
      p_.row_extent = extent;
    } else {
      p_.outer.push_back(index);
      p_.outer_extents.push_back(extent);
    }
  }
  return std::move(p_);
}

int Compiler::Place(int i, int scope) const {
  while (scopes_[scope].parent >= 0) {
    const std::vector<int>& own = scopes_[scope].indices;
    if (std::any_of(own.begin(), own.end(), [&](int index) { return DependsOn(i, index); })) break;
    scope = scopes_[scope].parent;
  }
  return scope;
}

Value Compiler::Visit(int i, int scope, bool guarded) {
  guarded = guarded && CanBreakKeep(l_, i);
  const int home = Place(i, scope);
  const auto known = scopes_[home].values.find({i, guarded});
  if (known != scopes_[home].values.end()) return known->second;
  const bool vector = scopes_[home].lane >= 0 && DependsOn(i, scopes_[home].lane);
  const Value value = VisitNew(i, home, guarded, vector);
  scopes_[home].values[{i, guarded}] = value;
  return value;
}

Value Compiler::VisitNew(int i, int scope, bool guarded, bool vector) {
  switch (node(i).op) {
    case Op::kConstant:
    case Op::kScalar:
    case Op::kIndex:
      return VisitLeaf(i, scope, vector);
    case Op::kLoad:
      return VisitLoad(i, scope, guarded, vector);
    case Op::kReduce:
      return VisitReduce(i, scope, guarded, vector);
    case Op::kSelect:
      return VisitSelect(node(i), scope, guarded, vector);
    default:
      return VisitOp(i, scope, guarded, vector);
  }
}

Value Compiler::VisitLeaf(int i, int scope, bool vector) {
  const Node& n = node(i);
  const Lane type = LaneOf(n.type);
  Value value{NewSlot(type, vector), vector};
  if (n.op == Op::kConstant) {
    EmitFill(scope, value.slot, type, n.constant, static_cast<int64_t>(n.constant), false, 1);
    return value;
  }
  Item item;
  item.out = value.slot;
  item.type = type;
  item.vector = vector;
  if (n.op == Op::kScalar) {
    item.kind = ItemKind::kScalar;
    item.number = n.target;
  } else {
    item.kind = ItemKind::kIndex;
    item.number = static_cast<int>(p_.indices.size());
    item.index = scopes_[scope].lane;
    p_.indices.push_back(ReadOf(n.affine, vector ? scopes_[scope].lane : -1));
  }
  Emit(scope, item);
  return value;
}

AxisRead Compiler::ReadOf(const Affine& affine, int lane) const {
  AxisRead read;
  read.offset = affine.offset;
  read.divisor = affine.divisor;
  for (const auto& [index, coefficient] : affine.terms) {
    if (index == lane) {
      read.lane_coefficient = coefficient;
    } else {
      read.terms.push_back({index, coefficient});
    }
  }
  return read;
}

// A mask that is 1 where either is; the values must be in `scope` or above.
int Compiler::JoinMasks(int scope, const Value& a, const Value& b, bool* vector) {
  if (a.mask == kNoSlot || b.mask == kNoSlot) {
    *vector = a.mask != kNoSlot ? a.mask_vector : b.mask_vector;
    return a.mask != kNoSlot ? a.mask : b.mask;
  }
  Item item;
  *vector = item.vector = a.mask_vector || b.mask_vector;
  item.fn = lanes_.op[static_cast<int>(Op::kOr)][static_cast<int>(Lane::kBool)];
  item.out = NewSlot(Lane::kBool, *vector);
  item.a = a.mask;
  item.b = b.mask;
  item.form = (a.mask_vector ? 0 : kFirstUniform) | (b.mask_vector ? 0 : kSecondUniform);
  Emit(scope, item);
  return item.out;
}

bool Compiler::VisitMultiplyAdd(const Node& n, int scope, bool guarded, bool vector, Value* out) {
  if (n.op != Op::kAdd || n.type != ValueType::kReal || l_.exact) return false;
  for (const int side : {1, 0}) {
    const int product = n.operands[side], addend = n.operands[1 - side];
    if (node(product).op != Op::kMul || uses_[product] != 1 || Place(product, scope) != scope) {
      continue;
    }
    const Value c = Visit(addend, scope, guarded);
    const Value a = Visit(node(product).operands[0], scope, guarded);
    const Value b = Visit(node(product).operands[1], scope, guarded);
    Item item;
    item.fn = lanes_.multiply_add[real()];
    item.vector = vector;
    item.a = a.slot, item.b = b.slot, item.c = c.slot;
    item.form = (a.vector ? 0 : kFirstUniform) | (b.vector ? 0 : kSecondUniform) |
                (c.vector ? 0 : kThirdUniform);
    Value ab;
    ab.mask = JoinMasks(scope, a, b, &ab.mask_vector);
    out->mask = JoinMasks(scope, ab, c, &out->mask_vector);
    item.out = out->slot = NewSlot(l_.real, vector);
    out->vector = vector;
    Emit(scope, item);
    return true;
  }
  return false;
}

Value Compiler::VisitOp(int i, int scope, bool guarded, bool vector) {
  const Node& n = node(i);
  Value out;
  if (VisitSum(i, scope, guarded, vector, &out)) return out;
  if (VisitMultiplyAdd(n, scope, guarded, vector, &out)) return out;
  const Value a = Visit(n.operands[0], scope, guarded);
  const Value b = n.operands.size() > 1 ? Visit(n.operands[1], scope, guarded) : Value{};
  const ValueType operand_type = node(n.operands[0]).type;
  Item item;
  if (n.op == Op::kToReal) {
    item.fn = lanes_.to_real[operand_type == ValueType::kInt ? 0 : 1][real()];
  } else {
    item.fn = lanes_.op[static_cast<int>(n.op)][static_cast<int>(LaneOf(operand_type))];
  }
  item.vector = vector;
  item.a = a.slot;
  item.b = b.slot;
  item.form = (a.vector ? 0 : kFirstUniform) | (b.vector ? 0 : kSecondUniform);
  out.mask = JoinMasks(scope, a, b, &out.mask_vector);
  item.out = out.slot = NewSlot(LaneOf(n.type), vector);
  out.vector = vector;
  Emit(scope, item);
  return out;
}

Value Compiler::VisitSelect(const Node& n, int scope, bool guarded, bool vector) {
  const Value a = Visit(n.operands[0], scope, guarded);
  Value b = Visit(n.operands[1], scope, true);
  Value c = Visit(n.operands[2], scope, true);
  const auto select = [&](Lane type, const Value& x, int yes, bool yes_vector, int no,
                          bool no_vector, int out, bool out_vector) {
    Item item;
    item.fn = lanes_.op[static_cast<int>(Op::kSelect)][static_cast<int>(type)];
    item.vector = out_vector;
    item.a = x.slot, item.b = yes, item.c = no;
    item.form = (x.vector ? 0 : kFirstUniform) | (yes_vector ? 0 : kSecondUniform) |
                (no_vector ? 0 : kThirdUniform);
    item.out = out;
    Emit(scope, item);
  };
  Value out;
  if (b.mask != kNoSlot || c.mask != kNoSlot) {
    for (Value* side : {&b, &c}) {
      if (side->mask != kNoSlot) continue;
      side->mask = NewSlot(Lane::kBool, false);
      side->mask_vector = false;
      EmitFill(kRunBlock, side->mask, Lane::kBool, 0, 0, false, 1);
    }
    Value chosen;
    chosen.mask_vector = a.vector || b.mask_vector || c.mask_vector;
    chosen.mask = NewSlot(Lane::kBool, chosen.mask_vector);
    select(Lane::kBool, a, b.mask, b.mask_vector, c.mask, c.mask_vector, chosen.mask,
           chosen.mask_vector);
    out.mask = JoinMasks(scope, a, chosen, &out.mask_vector);
  } else {
    out.mask = a.mask;
    out.mask_vector = a.mask_vector;
  }
  out.vector = vector;
  out.slot = NewSlot(LaneOf(n.type), vector);
  select(LaneOf(n.type), a, b.slot, b.vector, c.slot, c.vector, out.slot, vector);
  return out;
}

void Compiler::AddClips(const Node& n) {
  const Buffer& buffer = l_.buffers[n.target];
  for (size_t axis = 0; axis < n.subscripts.size(); ++axis) {
    const Affine& affine = n.subscripts[axis].affine;
    const Interval range = RangeOf(affine, l_.formula.indices);
    if (range.low >= 0 && range.high < buffer.extents[axis]) continue;
    Clip clip;
    clip.extent = buffer.extents[axis];
    Affine of_output{{}, affine.offset, 1};
    for (const auto& term : affine.terms) {
      const auto& own = statement_.indices;
      if (std::find(own.begin(), own.end(), term.first) != own.end()) {
        of_output.terms.push_back(term);
      } else {
        const Interval bound = RangeOf({{term}, 0, 1}, l_.formula.indices);
        clip.low += bound.low;
        clip.high += bound.high;
      }
    }
    clip.axis = ReadOf(of_output, p_.lane);
    clip.low += clip.axis.offset;
    clip.high += clip.axis.offset;
    clip.axis.offset = 0;
    const auto alike = std::find_if(p_.clips.begin(), p_.clips.end(), [&](const Clip& other) {
      return other.extent == clip.extent && other.axis.terms == clip.axis.terms &&
             other.axis.lane_coefficient == clip.axis.lane_coefficient;
    });
    if (alike == p_.clips.end()) {
      p_.clips.push_back(std::move(clip));
    } else {
      alike->low = std::min(alike->low, clip.low);
      alike->high = std::max(alike->high, clip.high);
    }
  }
}

Load Compiler::LoadOf(const Node& n, int scope, bool guarded, bool vector, bool clipped,
                      Value* gathered) {
  const Buffer& buffer = l_.buffers[n.target];
  Load load;
  load.buffer = n.target;
  load.storage = buffer.storage;
  load.outside = buffer.outside;
  load.type = LaneOf(n.type);
  load.lane_index = vector ? scopes_[scope].lane : -1;
  load.can_leave = false;
  bool plain = true;
  for (size_t axis = 0; axis < n.subscripts.size(); ++axis) {
    const Subscript& s = n.subscripts[axis];
    AxisRead read = ReadOf(s.affine, load.lane_index);
    if (s.gather >= 0) {
      const Value index = Visit(s.gather, scope, guarded);
      read.gather = index.slot;
      read.gather_vector = index.vector;
      gathered->mask = JoinMasks(scope, *gathered, index, &gathered->mask_vector);
    }
    const Interval range = RangeOf(s.affine, l_.formula.indices);
    plain = plain && s.gather < 0 && s.affine.divisor == 1;
    load.can_leave |= s.gather >= 0 || s.affine.divisor != 1 || range.low < 0 ||
                      range.high >= buffer.extents[axis];
    load.slow |= read.gather_vector || read.lane_coefficient % read.divisor != 0;
    load.axes.push_back(std::move(read));
  }
  load.slot = NewSlot(load.type, vector);
  if (load.can_leave && load.outside == Outside::kKeep) {
    if (guarded || !plain) {
      load.mask = NewSlot(Lane::kBool, vector);
    } else {
      AddClips(n);
      if (clipped) load.can_leave = false;
    }
  }
  return load;
}

bool Compiler::UnderLaneBlock(int scope) const {
  while (scope > kLaneBlock) scope = scopes_[scope].parent;
  return scope == kLaneBlock;
}

Value Compiler::VisitLoad(int i, int scope, bool guarded, bool vector) {
  Value gathered;
  Load load = LoadOf(node(i), scope, guarded, vector, UnderLaneBlock(scope), &gathered);
  Value out{load.slot, vector, load.mask, load.mask != kNoSlot && vector};
  Item item;
  item.kind = ItemKind::kLoad;
  item.vector = vector;
  item.out = load.slot;
  item.number = static_cast<int>(p_.loads.size());
  p_.loads.push_back(std::move(load));
  Emit(scope, item);
  out.mask = JoinMasks(scope, out, gathered, &out.mask_vector);
  return out;
}

Program Compile(const Lowered& lowered, const Statement& statement) {
  return Compiler(lowered, statement).Run();
}

}  // namespace hiera::interpreter
