#include "runtime/device/host/interpreter/compile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "runtime/device/host/interpreter/plan.h"

namespace hiera::interpreter {
namespace {

constexpr int kRunBlock = 0, kOuterBlock = 1, kLaneBlock = 2;

// A computed node. `mask`: booleans, 1 where a read under it broke a keep rule.
struct Value {
  int slot = kNoSlot;
  bool vector = false;
  int mask = kNoSlot;
  bool mask_vector = false;
};

class Compiler {
 public:
  Compiler(const Lowered& lowered, const Statement& statement)
      : l_(lowered), statement_(statement), lanes_(Lanes()) {}

  Program Run();

 private:
  // A place for instructions: one block, run for each value of `indices`. `lane`: the index along
  // the lanes there and in all scopes above that know it.
  struct Scope {
    int block;
    std::vector<int> indices;
    int lane;
    int parent;
    std::map<std::pair<int, bool>, Value> values;  // by (node, guarded)
  };

  const Node& node(int i) const { return l_.formula.nodes[i]; }
  bool DependsOn(int node, int index) const {
    return std::binary_search(l_.depends[node].begin(), l_.depends[node].end(), index);
  }
  Lane LaneOf(ValueType type) const {
    return type == ValueType::kInt ? Lane::kInt : type == ValueType::kBool ? Lane::kBool : l_.real;
  }
  int real() const { return l_.real == Lane::kF64 ? 1 : 0; }

  int NewSlot(Lane type, bool vector);
  int NewScope(std::vector<int> indices, int lane, int parent);
  void Emit(int scope, Item item) { p_.blocks[scopes_[scope].block].push_back(std::move(item)); }
  void EmitFill(int scope, int slot, Lane type, double real, int64_t integer, bool vector,
                int64_t lanes);
  int Place(int node, int scope) const;
  // `guarded`: under a select, where only chosen reads count for keep rules.
  Value Visit(int node, int scope, bool guarded);
  Value VisitNew(int node, int scope, bool guarded, bool vector);
  Value VisitLeaf(int node, int scope, bool vector);
  Value VisitOp(int node, int scope, bool guarded, bool vector);
  Value VisitLoad(int node, int scope, bool guarded, bool vector);
  Value VisitSelect(const Node& n, int scope, bool guarded, bool vector);
  bool VisitMultiplyAdd(const Node& n, int scope, bool guarded, bool vector, Value* out);
  AxisRead ReadOf(const Affine& affine, int lane) const;
  Load LoadOf(const Node& n, int scope, bool guarded, bool vector, Value* gathered);
  void AddClips(const Node& n);

  struct Loops {
    int home = -1, inner = -1;  // scopes
    int lane_index = -1;        // of the lane loop, or -1
    bool vector = false;        // the accumulators have a block of lanes
    std::vector<int> order;     // indices, outermost first
    std::vector<int> scopes;    // one per index
    int64_t fold_lanes = 0;
  };
  Value VisitReduce(int node, int scope, bool guarded, bool vector);
  bool VisitPanel(int node, int scope, Value* out);
  Loops OpenLoops(int node, int home, bool vector);
  void CloseLoops(const Loops& loops);
  Value VisitArg(const Node& n, const Loops& loops, bool guarded);
  Value Accumulate(const Node& n, const Loops& loops, bool guarded);
  void AccumulateBody(const Node& n, const Loops& loops, int total, const Value& body);
  Value DivideByCount(const Node& n, int scope, Value total);
  Value FoldMask(const Loops& loops, const Value& body);
  int JoinMasks(int scope, const Value& a, const Value& b, bool* vector);
  void CountUses(int node);

  const Lowered& l_;
  const Statement& statement_;
  const LaneTable& lanes_;
  Program p_;
  std::vector<Scope> scopes_;
  std::vector<int> uses_;
};

int Compiler::NewSlot(Lane type, bool vector) {
  constexpr int64_t kLine = 64;
  const int64_t bytes = vector ? kBlockLanes * LaneBytes(type) : 8;
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
                    last.back().kind == ItemKind::kOp && last.back().out == root.slot;
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
    p_.clips.push_back(std::move(clip));
  }
}

Load Compiler::LoadOf(const Node& n, int scope, bool guarded, bool vector, Value* gathered) {
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
    }
  }
  return load;
}

Value Compiler::VisitLoad(int i, int scope, bool guarded, bool vector) {
  Value gathered;
  Load load = LoadOf(node(i), scope, guarded, vector, &gathered);
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

bool Compiler::VisitPanel(int i, int scope, Value* out) {
  if (scope != kLaneBlock || p_.has_panel) return false;
  const auto match = MatchPanel(l_, statement_, i, p_.lane);
  if (!match.has_value()) return false;
  const Node& n = node(i);
  Value none;
  PanelPlan& panel = p_.panel;
  panel.scale = static_cast<int>(p_.loads.size());
  p_.loads.push_back(LoadOf(node(match->scale), scope, false, false, &none));
  panel.row = static_cast<int>(p_.loads.size());
  p_.loads.push_back(LoadOf(node(match->row), scope, false, true, &none));
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

Value Compiler::Accumulate(const Node& n, const Loops& loops, bool guarded) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const Lane type = LaneOf(n.type);
  const int total = NewSlot(type, loops.vector);
  double real = 0;
  int64_t integer = 0;
  switch (n.reduce) {
    case Reduction::kProd:
    case Reduction::kAll:
      real = integer = 1;
      break;
    case Reduction::kMax:
      real = -kInfinity;
      integer = std::numeric_limits<int64_t>::min();
      break;
    case Reduction::kMin:
      real = kInfinity;
      integer = std::numeric_limits<int64_t>::max();
      break;
    default:
      break;
  }
  const bool along = loops.lane_index >= 0;
  EmitFill(loops.home, total, type, real, integer, loops.vector, along ? kBlockLanes : 0);
  const int body_node = n.operands[0];
  const bool sum = n.reduce == Reduction::kSum || n.reduce == Reduction::kMean;
  Value body;
  if (sum && n.type == ValueType::kReal && !l_.exact && node(body_node).op == Op::kMul &&
      uses_[body_node] == 1 && !CanBreakKeep(l_, body_node)) {
    const Value a = Visit(node(body_node).operands[0], loops.inner, guarded);
    const Value b = Visit(node(body_node).operands[1], loops.inner, guarded);
    Item item;
    item.fn = lanes_.multiply_add[this->real()];
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
  const auto fold = [&](int slot, Lane lane, int kind) {
    Item item;
    item.kind = ItemKind::kFold;
    item.a = slot;
    item.out = NewSlot(lane, false);
    item.lanes = loops.fold_lanes;
    item.fold = lanes_.fold[kind][static_cast<int>(lane)];
    Emit(loops.home, item);
    return item.out;
  };
  if (out.mask != kNoSlot) out.mask = fold(out.mask, Lane::kBool, 2);
  const bool ordered = l_.exact && type == l_.real && (sum || n.reduce == Reduction::kProd);
  static constexpr int kFoldOf[] = {0, 1, 2, 3, 0, 2, 3, 2, 3};
  if (!ordered) out.slot = fold(total, type, kFoldOf[static_cast<int>(n.reduce)]);
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
    if (out.mask != kNoSlot) {
      Item mask;
      mask.kind = ItemKind::kFold;
      mask.a = out.mask;
      mask.out = out.mask = NewSlot(Lane::kBool, false);
      mask.lanes = loops.fold_lanes;
      mask.fold = lanes_.fold[2][static_cast<int>(Lane::kBool)];
      Emit(loops.home, mask);
    }
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

}  // namespace

Program Compile(const Lowered& lowered, const Statement& statement) {
  return Compiler(lowered, statement).Run();
}

}  // namespace hiera::interpreter
