// The part of Resolver that resolves expressions.
#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/task/affine.h"
#include "runtime/task/resolve.h"

namespace hiera {
namespace {

constexpr int kBad = FormulaBuilder::kBad;

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

struct FunctionRow {
  std::string_view name;
  Op op;
};
constexpr FunctionRow kUnaryFunctions[] = {
    {"abs", Op::kAbs},         {"exp", Op::kExp},     {"log", Op::kLog},     {"sin", Op::kSin},
    {"cos", Op::kCos},         {"sqrt", Op::kSqrt},   {"rsqrt", Op::kRsqrt}, {"tanh", Op::kTanh},
    {"erf", Op::kErf},         {"relu", Op::kRelu},   {"gelu", Op::kGelu},   {"silu", Op::kSilu},
    {"sigmoid", Op::kSigmoid}, {"floor", Op::kFloor}, {"real", Op::kToReal},
};

struct ReductionRow {
  std::string_view name;
  Reduction reduction;
};
constexpr ReductionRow kReductions[] = {
    {"sum", Reduction::kSum},       {"prod", Reduction::kProd}, {"max", Reduction::kMax},
    {"min", Reduction::kMin},       {"mean", Reduction::kMean}, {"argmax", Reduction::kArgMax},
    {"argmin", Reduction::kArgMin}, {"any", Reduction::kAny},   {"all", Reduction::kAll},
};

}  // namespace

int Resolver::Value(int e) {
  const Expr& node = expr(e);
  builder_.SetPosition(node.offset);
  switch (node.kind) {
    case ExprKind::kNumber:
      return Checked(node.offset, builder_.Constant(node.number, node.integer ? ValueType::kInt
                                                                              : ValueType::kReal));
    case ExprKind::kName:
      return Name(node);
    case ExprKind::kRead: {
      const int tensor = FindTensor(node.name);
      if (tensor >= 0) return Read(node, tensor);
      return UnknownName(node);
    }
    case ExprKind::kCall:
      return Call(node);
    case ExprKind::kUnary: {
      const int operand = Value(node.first);
      builder_.SetPosition(node.offset);
      const Op op = node.name == "-" ? Op::kNeg : Op::kNot;
      return Checked(node.offset, builder_.Unary(op, operand));
    }
    case ExprKind::kBinary:
      return BinaryOf(node);
    case ExprKind::kReduce:
      return ReduceOf(node);
    case ExprKind::kScan:
      return ScanOf(node);
  }
  return kBad;
}

int Resolver::Name(const Expr& node) {
  if (const Scope* scope = FindIndex(node.name)) {
    Affine affine;
    affine.terms.emplace_back(scope->index, 1);
    return Checked(node.offset, builder_.IndexValue(std::move(affine)));
  }
  if (const int scalar = FindScalar(node.name); scalar >= 0) {
    return Checked(node.offset, builder_.Scalar(scalar));
  }
  if (const int tensor = FindTensor(node.name); tensor >= 0) return Read(node, tensor);
  if (node.name == "inf") {
    return Checked(node.offset,
                   builder_.Constant(std::numeric_limits<double>::infinity(), ValueType::kReal));
  }
  if (node.name == "true" || node.name == "false") {
    return Checked(node.offset, builder_.Constant(node.name == "true", ValueType::kBool));
  }
  return UnknownName(node);
}

int Resolver::UnknownName(const Expr& node) {
  if (assigning_ < 0 && node.name == assigning_name_) {
    return Fail(node.offset, Quoted(node.name) + " is read before it is assigned");
  }
  if (FindIndex(node.name) != nullptr || FindScalar(node.name) >= 0) {
    return Fail(node.offset, Quoted(node.name) + " is no tensor and takes no subscripts");
  }
  std::string known;
  for (const TensorSpec& tensor : task_->tensors) known += " " + tensor.name;
  for (const ScalarSpec& scalar : task_->scalars) known += " " + scalar.name;
  for (const Scope& scope : scopes_) known += " " + std::string(scope.name);
  return Fail(node.offset, "unknown name " + Quoted(node.name) + " (known here:" + known + ")");
}

int Resolver::Read(const Expr& node, int tensor) {
  // By value: settling a range below may move nothing, but names are needed after the walk.
  const int rank = task_->tensors[tensor].rank();
  const int given = Children(node);
  if (given != rank) {
    return Fail(node.offset, Quoted(node.name) + " has " + std::to_string(rank) +
                                 (rank == 1 ? " axis" : " axes") + ", but " +
                                 std::to_string(given) +
                                 (given == 1 ? " subscript here" : " subscripts here"));
  }
  std::vector<Subscript> subscripts(rank);
  int child = node.first;
  for (int axis = 0; axis < rank; ++axis, child = expr(child).next) {
    if (!SubscriptOf(child, tensor, axis, &subscripts[axis])) return kBad;
  }
  if (tensor == assigning_) {
    if (in_scan_ || !IsOwnElement(subscripts)) {
      return Fail(node.offset, Quoted(node.name) +
                                   " is written by this statement, which can read it only at the "
                                   "very element it writes (give the old value another tensor)");
    }
    if (task_->formula.steps > 1 || syntax_.steps.steps > 1) {
      return Fail(node.offset, Quoted(node.name) +
                                   " is read and written in place, which several steps cannot be "
                                   "(carry it: read another tensor and add it to `steps`)");
    }
  } else {
    read_[tensor] = 1;
  }
  builder_.SetPosition(node.offset);
  return Checked(node.offset, builder_.Load(tensor, std::move(subscripts)));
}

bool Resolver::IsOwnElement(const std::vector<Subscript>& subscripts) const {
  for (size_t axis = 0; axis < subscripts.size(); ++axis) {
    const Subscript& s = subscripts[axis];
    if (s.gather >= 0 || !IsPlain(s.affine)) return false;
    if (s.affine.terms[0].first != statement_->indices[axis]) return false;
  }
  return true;
}

bool Resolver::SubscriptOf(int e, int tensor, int axis, Subscript* subscript) {
  const uint32_t offset = expr(e).offset;
  if (AffineOf(e, &subscript->affine)) {
    if (!InRange(subscript->affine)) {
      return Refuse(offset, "a number in this subscript is above 2^31");
    }
    if (IsPlain(subscript->affine)) {
      return Settle(subscript->affine.terms[0].first, tensor, axis, offset);
    }
    return true;
  }
  if (!status_.ok()) return false;
  subscript->affine = {};
  const int value = Value(e);
  if (value == kBad) return false;
  if (builder_.type_of(value) != ValueType::kInt) {
    return Refuse(offset,
                  "the subscript of axis " + std::to_string(axis) + " of " +
                      Quoted(task_->tensors[tensor].name) + " must be an integer, and it is " +
                      (builder_.type_of(value) == ValueType::kReal ? "real" : "a truth value"));
  }
  const Node& node = builder_.node(value);
  if (node.op == Op::kIndex) {
    subscript->affine = node.affine;
  } else {
    subscript->gather = value;
  }
  return true;
}

bool Resolver::Settle(int index, int tensor, int axis, uint32_t offset) {
  Scope* scope = nullptr;
  for (Scope& s : scopes_) {
    if (s.index == index) scope = &s;
  }
  if (scope == nullptr || scope->stated) return true;
  const int64_t extent = task_->tensors[tensor].extents[axis];
  int64_t& range = task_->formula.indices[index].extent;
  if (range < 0) {
    range = extent;
    scope->tensor = tensor;
    scope->axis = axis;
    return true;
  }
  if (range == extent) return true;
  auto axis_of = [&](int64_t n, int t, int a) {
    return std::to_string(n) + " along axis " + std::to_string(a) + " of " +
           Quoted(task_->tensors[t].name);
  };
  const std::string name(scope->name);
  return Refuse(offset, "index " + Quoted(name) + " runs over " +
                            axis_of(range, scope->tensor, scope->axis) + ", but over " +
                            axis_of(extent, tensor, axis) + " (make them equal, or say " + name +
                            "<N)");
}

bool Resolver::AffineOf(int e, Affine* affine) {
  const Expr& node = expr(e);
  switch (node.kind) {
    case ExprKind::kNumber:
      if (!node.integer) return false;
      affine->offset = static_cast<int64_t>(node.number);
      return true;
    case ExprKind::kName: {
      const Scope* scope = FindIndex(node.name);
      if (scope == nullptr) return false;
      affine->terms.emplace_back(scope->index, 1);
      return true;
    }
    case ExprKind::kUnary:
      if (node.name != "-" || !AffineOf(node.first, affine)) return false;
      *affine = Scaled(*affine, -1);
      return InRange(*affine);
    case ExprKind::kBinary:
      return AffineOfBinary(node, affine);
    default:
      return false;
  }
}

bool Resolver::AffineOfBinary(const Expr& node, Affine* affine) {
  const char op = node.name[0];
  if (node.name.size() != 1 || (op != '+' && op != '-' && op != '*' && op != '/')) return false;
  Affine a;
  Affine b;
  if (!AffineOf(node.first, &a) || !AffineOf(expr(node.first).next, &b)) return false;
  const bool one_division = a.divisor == 1 || b.divisor == 1;
  const bool a_constant = a.terms.empty() && a.divisor == 1;
  const bool b_constant = b.terms.empty() && b.divisor == 1;
  if (op == '/') {
    if (!b_constant || b.offset < 1) return false;
    *affine = DividedBy(a, b.offset);
  } else if (op == '*') {
    if ((!a_constant && !b_constant) || a.divisor != 1 || b.divisor != 1) return false;
    *affine = a_constant ? Scaled(b, a.offset) : Scaled(a, b.offset);
  } else {
    if (!one_division) return false;
    *affine = Added(a, op == '-' ? Scaled(b, -1) : b);
  }
  if (InRange(*affine)) return true;
  Fail(node.offset, "a number in this subscript is above 2^31");
  return false;
}

int Resolver::Call(const Expr& node) {
  std::vector<int> arguments;
  for (int c = node.first; c >= 0; c = expr(c).next) {
    const int value = Value(c);
    if (value == kBad) return kBad;
    arguments.push_back(value);
  }
  builder_.SetPosition(node.offset);
  const std::string name(node.name);
  auto need = [&](size_t count) {
    if (arguments.size() == count) return true;
    return Refuse(node.offset, name + " takes " + std::to_string(count) +
                                   (count == 1 ? " operand" : " operands") + ", not " +
                                   std::to_string(arguments.size()));
  };
  for (const FunctionRow& row : kUnaryFunctions) {
    if (row.name != node.name) continue;
    if (!need(1)) return kBad;
    return Checked(node.offset, builder_.Unary(row.op, arguments[0]));
  }
  if (node.name == "select") {
    if (!need(3)) return kBad;
    return Checked(node.offset, builder_.Select(arguments[0], arguments[1], arguments[2]));
  }
  if (node.name == "pow") {
    if (!need(2)) return kBad;
    return Checked(node.offset, builder_.Power(arguments[0], arguments[1]));
  }
  if ((node.name == "max" || node.name == "min") && arguments.size() > 1) {
    int value = arguments[0];
    for (size_t i = 1; i < arguments.size(); ++i) {
      value = builder_.Binary(node.name == "max" ? Op::kMax : Op::kMin, value, arguments[i]);
    }
    return Checked(node.offset, value);
  }
  for (const ReductionRow& row : kReductions) {
    if (row.name != node.name) continue;
    return Fail(node.offset, name + " needs an index and a colon, as in " + name + "(k: x[k])");
  }
  std::string known;
  for (const FunctionRow& row : kUnaryFunctions) known += " " + std::string(row.name);
  return Fail(node.offset,
              "unknown function " + Quoted(name) + " (known:" + known + " pow min max select)");
}

int Resolver::BinaryOf(const Expr& node) {
  int a = Value(node.first);
  int b = a == kBad ? kBad : Value(expr(node.first).next);
  if (b == kBad) return kBad;
  builder_.SetPosition(node.offset);
  const std::string_view s = node.name;
  Op op = Op::kAdd;
  if (s == ">" || s == ">=") std::swap(a, b);
  if (s == "-") {
    op = Op::kSub;
  } else if (s == "*") {
    op = Op::kMul;
  } else if (s == "/") {
    op = Op::kDiv;
  } else if (s == "%") {
    op = Op::kMod;
  } else if (s == "^") {
    op = Op::kPow;
  } else if (s == "<" || s == ">") {
    op = Op::kLess;
  } else if (s == "<=" || s == ">=") {
    op = Op::kLessEqual;
  } else if (s == "==") {
    op = Op::kEqual;
  } else if (s == "!=") {
    op = Op::kNotEqual;
  } else if (s == "and") {
    op = Op::kAnd;
  } else if (s == "or") {
    op = Op::kOr;
  }
  return Checked(node.offset, builder_.Binary(op, a, b));
}

int Resolver::ReduceOf(const Expr& node) {
  const size_t outer = scopes_.size();
  std::vector<int> bound;
  for (int i = 0; i < node.binder_count; ++i) {
    const Binder& binder = syntax_.binders[node.binder + i];
    if (!OpenScope(binder, binder.range)) return kBad;
    bound.push_back(scopes_.back().index);
  }
  const int body = Value(node.first);
  if (body == kBad) return kBad;
  bool empty = false;
  for (size_t i = outer; i < scopes_.size(); ++i) {
    if (!CheckRange(scopes_[i])) return kBad;
    empty |= task_->formula.indices[scopes_[i].index].extent == 0;
  }
  scopes_.resize(outer);
  Reduction kind = Reduction::kSum;
  for (const ReductionRow& row : kReductions) {
    if (row.name == node.name) kind = row.reduction;
  }
  const bool arg = kind == Reduction::kArgMax || kind == Reduction::kArgMin;
  const bool extremum = kind == Reduction::kMax || kind == Reduction::kMin;
  if (empty && (arg || (extremum && builder_.type_of(body) != ValueType::kReal))) {
    return Fail(node.offset, std::string(node.name) + " over an empty range has no value");
  }
  builder_.SetPosition(node.offset);
  return Checked(node.offset, builder_.Reduce(kind, std::move(bound), body));
}

int Resolver::ScanOf(const Expr& node) {
  const Binder& binder = syntax_.binders[node.binder];
  const Scope* scope = FindIndex(binder.name);
  const std::vector<int>& outputs = statement_->indices;
  if (scope == nullptr ||
      std::find(outputs.begin(), outputs.end(), scope->index) == outputs.end()) {
    return Fail(binder.offset, Quoted(binder.name) +
                                   " is no index of the left side (a scan runs "
                                   "along one of those)");
  }
  const int index = scope->index;
  const bool outer = std::exchange(in_scan_, true);
  const int body = Value(node.first);
  in_scan_ = outer;
  if (body == kBad) return kBad;
  builder_.SetPosition(node.offset);
  const Scan scan{node.name == "cumsum" ? ScanKind::kSum : ScanKind::kProd, node.reverse,
                  node.exclusive};
  return Checked(node.offset, builder_.ScanOver(scan, index, body));
}

}  // namespace hiera
