#include "runtime/task/reference_evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/task/reference.h"

namespace hiera::reference {
namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr size_t kMostTies = 256;  // ranges; the last one then takes in all that follow

void Join(std::vector<int>* into, const std::vector<int>& from) {
  into->insert(into->end(), from.begin(), from.end());
}

void AddTerms(std::vector<int>* into, const Affine& affine) {
  for (const auto& [index, coefficient] : affine.terms) into->push_back(index);
}

// For each node, the indices that its value depends on.
std::vector<std::vector<int>> Dependencies(const Formula& f) {
  std::vector<std::vector<int>> all(f.nodes.size());
  for (size_t i = 0; i < f.nodes.size(); ++i) {
    const Node& n = f.nodes[i];
    std::vector<int>& own = all[i];
    for (const int operand : n.operands) Join(&own, all[operand]);
    if (n.op == Op::kIndex) AddTerms(&own, n.affine);
    for (const Subscript& s : n.subscripts) {
      if (s.gather >= 0) {
        Join(&own, all[s.gather]);
      } else {
        AddTerms(&own, s.affine);
      }
    }
    if (n.op == Op::kScan) own.push_back(n.target);
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
    if (n.op == Op::kReduce) {
      std::erase_if(own, [&](int index) { return std::ranges::count(n.bound, index) != 0; });
    }
  }
  return all;
}

int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }

// numerator / divisor; false where it is inexact.
bool AffineValue(const Affine& affine, const std::vector<int64_t>& indices, int64_t* value) {
  int64_t sum = affine.offset;
  for (const auto& [index, coefficient] : affine.terms) sum += coefficient * indices[index];
  if (affine.divisor == 1) {
    *value = sum;
    return true;
  }
  *value = FloorDivide(sum, affine.divisor);
  return sum % affine.divisor == 0;
}

Real Start(Reduction reduce) {
  switch (reduce) {
    case Reduction::kProd:
      return Exact(1);
    case Reduction::kMax:
      return Exact(-kInfinity);
    case Reduction::kMin:
      return Exact(kInfinity);
    default:
      return {0, 0, 0, 0, true};
  }
}

}  // namespace

Evaluator::Evaluator(const Task& task, const std::vector<TensorState>& tensors,
                     const std::vector<long double>& scalars, const Tolerance& tolerance)
    : task_(task),
      tensors_(tensors),
      scalars_(scalars),
      tolerance_(tolerance),
      indices_(task.formula.indices.size(), 0),
      memory_(task.formula.nodes.size()) {
  const auto depends = Dependencies(task.formula);
  for (size_t i = 0; i < memory_.size(); ++i) {
    const Node& n = task.formula.nodes[i];
    if (n.op == Op::kReduce) memory_[i].depends = depends[i];
    if (n.op == Op::kScan) {  // a whole axis is remembered, whatever place on it is asked for
      memory_[i].depends = depends[i];
      std::erase(memory_[i].depends, n.target);
    }
  }
}

Real Evaluator::Evaluate(int root, bool* keeps) {
  keeps_ = false;
  ties_ = &no_ties_;
  Real r;
  const Node& n = task_.formula.nodes[root];
  if (n.type == ValueType::kReal) {
    r = EvalReal(root);
  } else {
    Whole whole = EvalWhole(root);
    if (n.op == Op::kReduce) {
      whole = memory_[root].wholes[0];
      ties_ = &memory_[root].ties;
    }
    r = Exact(whole.value);
    if (whole.unsure) r.magnitude = kInfinity;
  }
  *keeps = keeps_;
  return r;
}

Stored Evaluator::Read(int tensor, int64_t element) const {
  const TensorSpec& spec = task_.tensors[tensor];
  int64_t offset = 0, rest = element;
  for (int axis = spec.rank() - 1; axis >= 0; --axis) {
    offset += rest % spec.extents[axis] * spec.strides[axis];
    rest /= spec.extents[axis];
  }
  return ReadAt(tensor, element, offset);
}

Stored Evaluator::ReadAt(int tensor, int64_t element, int64_t offset) const {
  const TensorState& state = tensors_[tensor];
  if (state.computed != nullptr) return (*state.computed)[element];
  const DType dtype = task_.tensors[tensor].dtype;
  const char* bytes = static_cast<const char*>(state.buffer);
  Stored stored;
  if (dtype == DType::kF32) {
    stored.value = reinterpret_cast<const float*>(bytes)[offset];
  } else {
    stored.value = LoadExact(dtype, bytes + offset * SizeOf(dtype));
  }
  return stored;
}

Real Evaluator::EvalReal(int node) {
  const Node& n = task_.formula.nodes[node];
  switch (n.op) {
    case Op::kConstant:
      return Exact(n.constant);
    case Op::kScalar:
      return Exact(scalars_[n.target]);
    case Op::kLoad:
      return LoadReal(n);
    case Op::kToReal: {
      const Whole whole = EvalWhole(n.operands[0]);
      Real r = Exact(whole.value);
      if (whole.unsure) r.magnitude = kInfinity, r.exact = false;
      return r;
    }
    case Op::kSelect:
      return SelectReal(n);
    case Op::kReduce:
    case Op::kScan: {
      const size_t place = Recall(node);
      return memory_[node].reals[place];
    }
    default:
      break;
  }
  const Real a = EvalReal(n.operands[0]);
  if (n.operands.size() == 1) return ApplyReal(n.op, a, tolerance_);
  return ApplyReal(n.op, a, EvalReal(n.operands[1]));
}

Whole Evaluator::EvalWhole(int node) {
  const Node& n = task_.formula.nodes[node];
  switch (n.op) {
    case Op::kConstant:
      return {static_cast<int64_t>(n.constant)};
    case Op::kIndex: {
      int64_t value = 0;
      AffineValue(n.affine, indices_, &value);
      return {value};
    }
    case Op::kLoad:
      return LoadWhole(n);
    case Op::kSelect:
      return SelectWhole(n);
    case Op::kReduce:
    case Op::kScan: {
      Whole whole = memory_[node].wholes[Recall(node)];
      whole.unsure |= !memory_[node].ties.empty();
      return whole;
    }
    default:
      break;
  }
  if (task_.formula.nodes[n.operands[0]].type == ValueType::kReal) {
    const Real a = EvalReal(n.operands[0]);
    return CompareReal(n.op, a, EvalReal(n.operands[1]), tolerance_);
  }
  const Whole a = EvalWhole(n.operands[0]);
  if (n.operands.size() == 1) return ApplyWhole(n.op, a);
  return ApplyWhole(n.op, a, EvalWhole(n.operands[1]));
}

Real Evaluator::SelectReal(const Node& n) {
  const Whole condition = EvalWhole(n.operands[0]);
  const int chosen = n.operands[condition.value != 0 ? 1 : 2];
  Real r = EvalReal(chosen);
  if (condition.unsure) {
    const bool keeps = keeps_;  // the reads of the other side do not count
    const Real other = EvalReal(n.operands[condition.value != 0 ? 2 : 1]);
    keeps_ = keeps;
    const long double gap = std::fabs(r.value - other.value);
    r.magnitude = std::max(r.magnitude, other.magnitude) +
                  (gap == 0 ? 0 : gap / (tolerance_.scale * tolerance_.unit));
    r.exact = false;
  }
  return r;
}

Whole Evaluator::SelectWhole(const Node& n) {
  const Whole condition = EvalWhole(n.operands[0]);
  Whole r = EvalWhole(n.operands[condition.value != 0 ? 1 : 2]);
  r.unsure |= condition.unsure;
  return r;
}

bool Evaluator::ResolveAxis(const TensorSpec& tensor, int axis, int64_t* subscript) {
  const int64_t extent = tensor.extents[axis];
  if (*subscript >= 0 && *subscript < extent) return true;
  if (extent == 0) return false;
  switch (tensor.outside) {
    case Outside::kClamp:
      *subscript = *subscript < 0 ? 0 : extent - 1;
      return true;
    case Outside::kWrap:
      *subscript -= FloorDivide(*subscript, extent) * extent;
      return true;
    case Outside::kKeep:
      keeps_ = true;
      return false;
    default:
      return false;
  }
}

Evaluator::Location Evaluator::Locate(const Node& n) {
  const TensorSpec& tensor = task_.tensors[n.target];
  Location where{true, false, 0, 0};
  for (size_t axis = 0; axis < n.subscripts.size(); ++axis) {
    const Subscript& s = n.subscripts[axis];
    int64_t subscript = 0;
    if (s.gather >= 0) {
      const Whole index = EvalWhole(s.gather);
      subscript = index.value;
      where.unsure |= index.unsure;
    } else if (!AffineValue(s.affine, indices_, &subscript) &&
               (tensor.outside == Outside::kZero || tensor.outside == Outside::kKeep)) {
      subscript = -1;  // an inexact quotient is outside
    }
    if (!ResolveAxis(tensor, static_cast<int>(axis), &subscript)) where.inside = false;
    where.element = where.element * tensor.extents[axis] + subscript;
    where.offset += subscript * tensor.strides[axis];
  }
  return where;
}

Real Evaluator::LoadReal(const Node& n) {
  const Location where = Locate(n);
  if (!where.inside) return Exact(0);
  const Stored stored = ReadAt(n.target, where.element, where.offset);
  Real r = Exact(stored.value);
  if (stored.computed) {
    std::copy(stored.drift, stored.drift + kDrifts, r.drift);
    r.drifts = true;
    r.exact = false;
  }
  if (where.unsure) r.magnitude = kInfinity;
  return r;
}

Whole Evaluator::LoadWhole(const Node& n) {
  const Location where = Locate(n);
  if (!where.inside) return {0, where.unsure};
  const Stored stored = ReadAt(n.target, where.element, where.offset);
  return {static_cast<int64_t>(stored.value), where.unsure || stored.unsure};
}

template <typename Visit>
void Evaluator::ForEachBound(const Node& n, const Visit& visit) {
  for (const int index : n.bound) {
    if (task_.formula.indices[index].extent <= 0) return;
    indices_[index] = 0;
  }
  while (true) {
    visit();
    int axis = static_cast<int>(n.bound.size()) - 1;
    for (; axis >= 0; --axis) {
      const int index = n.bound[axis];
      if (++indices_[index] < task_.formula.indices[index].extent) break;
      indices_[index] = 0;
    }
    if (axis < 0) return;
  }
}

Real Evaluator::ReduceReal(const Node& n) {
  Real r = Start(n.reduce);
  int64_t count = 0;
  const int body = n.operands[0];
  ForEachBound(n, [&] {
    const Real x = EvalReal(body);
    ++count;
    if (n.reduce == Reduction::kSum || n.reduce == Reduction::kMean) {
      r.value += x.value;
      r.magnitude += x.magnitude;
      r.terms += x.terms;
      if (x.drifts) {
        for (int i = 0; i < kDrifts; ++i) r.drift[i] += x.drift[i];
        r.drifts = true;
      }
    } else if (n.reduce == Reduction::kProd) {
      r = ApplyReal(Op::kMul, r, x);
      r.terms = static_cast<double>(count);
    } else {
      r = ApplyReal(n.reduce == Reduction::kMax ? Op::kMax : Op::kMin, r, x);
    }
  });
  if (n.reduce == Reduction::kSum || n.reduce == Reduction::kMean) {
    r.exact = count == 0;
    r.terms = std::max(r.terms, 1.0);
  }
  if (n.reduce == Reduction::kMean) {
    r.value /= count;
    r.magnitude = count == 0 ? 0 : r.magnitude / count;
    for (float& d : r.drift) d /= static_cast<float>(count);
  }
  return r;
}

Whole Evaluator::ReduceWhole(const Node& n, Ties* ties) {
  Whole r;
  switch (n.reduce) {
    case Reduction::kArgMax:
    case Reduction::kArgMin:
      return ReduceArg(n, ties);
    case Reduction::kProd:
    case Reduction::kAll:
      r.value = 1;
      break;
    case Reduction::kMax:
      r.value = std::numeric_limits<int64_t>::min();
      break;
    case Reduction::kMin:
      r.value = std::numeric_limits<int64_t>::max();
      break;
    default:
      r.value = 0;
      break;
  }
  static constexpr Op kStep[] = {Op::kAdd, Op::kMul, Op::kMax, Op::kMin, Op::kAdd,
                                 Op::kMax, Op::kMin, Op::kOr,  Op::kAnd};
  const Op step = kStep[static_cast<int>(n.reduce)];
  const int body = n.operands[0];
  ForEachBound(n, [&] { r = ApplyWhole(step, r, EvalWhole(body)); });
  return r;
}

// The best by value is the first of equals. Others are ties where either value is inexact and they
// are no further apart than their error bounds; exact equals are none, for the first wins.
Whole Evaluator::ReduceArg(const Node& n, Ties* ties) {
  const bool largest = n.reduce == Reduction::kArgMax;
  const bool real = task_.formula.nodes[n.operands[0]].type == ValueType::kReal;
  Whole best;
  std::vector<Real> row;
  ForEachBound(n, [&] {
    if (real) {
      row.push_back(EvalReal(n.operands[0]));
      // A sum that may overflow on its way can be taken for anything.
      best.unsure |= !row.back().exact && row.back().magnitude >= tolerance_.overflow;
    } else {
      const Whole whole = EvalWhole(n.operands[0]);
      row.push_back(Exact(whole.value));
      best.unsure |= whole.unsure;
    }
  });
  ties->clear();
  for (int64_t i = 0; i < std::ssize(row); ++i) {
    const long double value = row[i].value, before = row[best.value].value;
    if (std::isnan(value)) {
      best.value = i;
      return best;
    }
    if (largest ? value > before : value < before) best.value = i;
  }
  for (int64_t i = 0; i < std::ssize(row); ++i) {
    const long double error = tolerance_.Of(row[i]) + tolerance_.Of(row[best.value]);
    if (i == best.value || error == 0) continue;
    if (!(std::fabs(row[i].value - row[best.value].value) <= error)) continue;
    if (!ties->empty() && (ties->back().second == i - 1 || ties->size() == kMostTies)) {
      ties->back().second = i;
    } else {
      ties->push_back({i, i});
    }
  }
  return best;
}

void Evaluator::ScanReal(const Node& n, Memory* memory) {
  const int64_t extent = task_.formula.indices[n.target].extent;
  const Op step = n.scan.kind == ScanKind::kSum ? Op::kAdd : Op::kMul;
  Real r = n.scan.kind == ScanKind::kSum ? Exact(0) : Exact(1);
  r.terms = 0;
  bool keeps = false;
  for (int64_t i = 0; i < extent; ++i) {
    const int64_t at = n.scan.reverse ? extent - 1 - i : i;
    const Real before = r;
    const bool kept_before = keeps;
    indices_[n.target] = at;
    keeps_ = false;
    r = ApplyReal(step, r, EvalReal(n.operands[0]));
    if (step == Op::kMul) r.terms = static_cast<double>(i + 1);
    keeps = keeps || keeps_;
    memory->reals[at] = n.scan.exclusive ? before : r;
    memory->reals[at].terms = std::max(memory->reals[at].terms, 1.0);
    memory->keeps[at] = n.scan.exclusive ? kept_before : keeps;
  }
}

void Evaluator::ScanWhole(const Node& n, Memory* memory) {
  const int64_t extent = task_.formula.indices[n.target].extent;
  const Op step = n.scan.kind == ScanKind::kSum ? Op::kAdd : Op::kMul;
  Whole r = {n.scan.kind == ScanKind::kSum ? 0 : 1};
  bool keeps = false;
  for (int64_t i = 0; i < extent; ++i) {
    const int64_t at = n.scan.reverse ? extent - 1 - i : i;
    const Whole before = r;
    const bool kept_before = keeps;
    indices_[n.target] = at;
    keeps_ = false;
    r = ApplyWhole(step, r, EvalWhole(n.operands[0]));
    keeps = keeps || keeps_;
    memory->wholes[at] = n.scan.exclusive ? before : r;
    memory->keeps[at] = n.scan.exclusive ? kept_before : keeps;
  }
}

bool Evaluator::Matches(const Memory& memory) const {
  if (memory.keeps.empty()) return false;
  for (size_t i = 0; i < memory.depends.size(); ++i) {
    if (memory.at[i] != indices_[memory.depends[i]]) return false;
  }
  return true;
}

size_t Evaluator::Recall(int node) {
  const Node& n = task_.formula.nodes[node];
  Memory& memory = memory_[node];
  const bool scan = n.op == Op::kScan;
  const bool real = n.type == ValueType::kReal;
  if (!Matches(memory)) {
    const bool keeps_before = keeps_;
    const int64_t place_before = scan ? indices_[n.target] : 0;
    const size_t places = scan ? task_.formula.indices[n.target].extent : 1;
    memory.at.clear();
    for (const int index : memory.depends) memory.at.push_back(indices_[index]);
    memory.keeps.resize(places);
    if (real) {
      memory.reals.resize(places);
    } else {
      memory.wholes.resize(places);
    }
    keeps_ = false;
    if (scan) {
      real ? ScanReal(n, &memory) : ScanWhole(n, &memory);
      indices_[n.target] = place_before;
    } else {
      if (real) {
        memory.reals[0] = ReduceReal(n);
      } else {
        memory.wholes[0] = ReduceWhole(n, &memory.ties);
      }
      memory.keeps[0] = keeps_;
    }
    keeps_ = keeps_before;
  }
  const size_t place = scan ? indices_[n.target] : 0;
  keeps_ = keeps_ || memory.keeps[place] != 0;
  return place;
}

}  // namespace hiera::reference
