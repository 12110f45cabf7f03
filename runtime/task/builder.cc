#include "runtime/task/builder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "runtime/task/affine.h"
#include "runtime/task/limits.h"

namespace hiera {

FormulaBuilder::FormulaBuilder(Task* task)
    : task_(task), exact_(task->contract.arithmetic == Arithmetic::kExact) {}

int FormulaBuilder::Fail(std::string what) {
  if (error_.empty()) error_ = std::move(what);
  return kBad;
}

int FormulaBuilder::AddIndex(std::string_view name, int64_t extent) {
  std::vector<Index>& indices = task_->formula.indices;
  if (static_cast<int>(indices.size()) >= kMaxIndices) {
    return Fail("more than " + std::to_string(kMaxIndices) + " indices");
  }
  indices.push_back({std::string(name), extent});
  return static_cast<int>(indices.size()) - 1;
}

int FormulaBuilder::Add(Node node) {
  if (static_cast<int>(nodes().size()) >= kMaxNodes) {
    return Fail("the formula has more than " + std::to_string(kMaxNodes) + " nodes");
  }
  int depth = 0;
  int64_t size = 1;
  auto count = [&](int operand) {
    depth = std::max(depth, depth_[operand]);
    size += tree_nodes_[operand];
  };
  for (const int operand : node.operands) count(operand);
  for (const Subscript& s : node.subscripts) {
    if (s.gather >= 0) count(s.gather);
  }
  if (depth + 1 > kMaxNodeDepth) {
    return Fail("an expression of more than " + std::to_string(kMaxNodeDepth) +
                " levels (give a part of it a name in a statement of its own)");
  }
  if (size > kMaxTreeNodes) {
    return Fail("an expression of more than " + std::to_string(kMaxTreeNodes) +
                " operations once its powers are multiplied out");
  }
  nodes().push_back(std::move(node));
  positions_.push_back(position_);
  absent_.push_back(0);
  depth_.push_back(depth + 1);
  tree_nodes_.push_back(size);
  return static_cast<int>(nodes().size()) - 1;
}

int FormulaBuilder::AddOperation(Op op, ValueType type, std::vector<int> operands) {
  Node node;
  node.op = op;
  node.type = type;
  node.operands = std::move(operands);
  return Add(std::move(node));
}

int FormulaBuilder::Constant(double value, ValueType type) {
  Node node;
  node.type = type;
  node.constant = value;
  return Add(std::move(node));
}

int FormulaBuilder::Absent() {
  const int zero = Constant(0, ValueType::kReal);
  if (zero != kBad) absent_[zero] = 1;
  return zero;
}

int FormulaBuilder::Scalar(int scalar) {
  switch (task_->scalars[scalar].value_class) {
    case ScalarClass::kZero:
      return Absent();
    case ScalarClass::kOne:
      return Constant(1, ValueType::kReal);
    case ScalarClass::kAny:
      break;
  }
  Node node;
  node.op = Op::kScalar;
  node.target = scalar;
  return Add(std::move(node));
}

int FormulaBuilder::IndexValue(Affine affine) {
  if (affine.terms.empty()) return Constant(static_cast<double>(affine.offset), ValueType::kInt);
  Node node;
  node.op = Op::kIndex;
  node.type = ValueType::kInt;
  node.affine = std::move(affine);
  return Add(std::move(node));
}

int FormulaBuilder::Load(int tensor, std::vector<Subscript> subscripts) {
  const DType dtype = task_->tensors[tensor].dtype;
  Node node;
  node.op = Op::kLoad;
  node.type = IsReal(dtype)           ? ValueType::kReal
              : dtype == DType::kBool ? ValueType::kBool
                                      : ValueType::kInt;
  node.target = tensor;
  node.subscripts = std::move(subscripts);
  return Add(std::move(node));
}

int FormulaBuilder::ToNumber(int node) {
  if (node == kBad || type_of(node) != ValueType::kBool) return node;
  if (IsConstant(node)) return Constant(nodes()[node].constant, ValueType::kInt);
  const int one = Constant(1, ValueType::kInt);
  const int zero = Constant(0, ValueType::kInt);
  if (one == kBad || zero == kBad) return kBad;
  return AddOperation(Op::kSelect, ValueType::kInt, {node, one, zero});
}

int FormulaBuilder::ToReal(int node) {
  if (node == kBad || type_of(node) == ValueType::kReal) return node;
  if (IsConstant(node)) return Constant(nodes()[node].constant, ValueType::kReal);
  return AddOperation(Op::kToReal, ValueType::kReal, {node});
}

bool FormulaBuilder::UnifyNumbers(int* a, int* b) {
  if (*a == kBad || *b == kBad) return false;
  if (type_of(*a) == ValueType::kReal || type_of(*b) == ValueType::kReal) {
    *a = ToReal(*a);
    *b = ToReal(*b);
  } else {
    *a = ToNumber(*a);
    *b = ToNumber(*b);
  }
  return *a != kBad && *b != kBad;
}

int FormulaBuilder::Unary(Op op, int a) {
  if (a == kBad) return kBad;
  if (op == Op::kToReal) return ToReal(a);
  if (op == Op::kNot) {
    if (type_of(a) != ValueType::kBool) {
      return Fail("`not` needs a truth value (say not (x != 0))");
    }
    return AddOperation(op, ValueType::kBool, {a});
  }
  a = op == Op::kNeg || op == Op::kAbs ? ToNumber(a) : ToReal(a);
  if (a == kBad) return kBad;
  const ValueType type = type_of(a);
  if (op == Op::kNeg) {
    if (IsAbsent(a)) return a;
    if (nodes()[a].op == Op::kNeg) return nodes()[a].operands[0];
    if (IsConstant(a)) return Constant(-nodes()[a].constant, type);
    if (nodes()[a].op == Op::kIndex) return IndexValue(Scaled(nodes()[a].affine, -1));
  }
  return AddOperation(op, type, {a});
}

int FormulaBuilder::FoldConstants(Op op, int a, int b) {
  if (!IsConstant(a) || !IsConstant(b) || IsAbsent(a) || IsAbsent(b)) return kBad;
  const double x = nodes()[a].constant;
  const double y = nodes()[b].constant;
  const double value = op == Op::kAdd   ? x + y
                       : op == Op::kSub ? x - y
                       : op == Op::kMul ? x * y
                                        : x / y;
  if (!std::isfinite(x) || !std::isfinite(y) || !std::isfinite(value)) return kBad;
  const ValueType type = type_of(a);
  if (type == ValueType::kInt && std::fabs(value) > static_cast<double>(kMaxInteger)) return kBad;
  return Constant(value, type);
}

int FormulaBuilder::FoldIndices(Op op, int a, int b) {
  auto affine_of = [&](int n, Affine* affine) {
    if (nodes()[n].op == Op::kIndex) *affine = nodes()[n].affine;
    if (IsConstant(n)) affine->offset = static_cast<int64_t>(nodes()[n].constant);
    return nodes()[n].op == Op::kIndex || IsConstant(n);
  };
  if (type_of(a) != ValueType::kInt) return kBad;
  Affine x;
  Affine y;
  if (!affine_of(a, &x) || !affine_of(b, &y) || (x.terms.empty() && y.terms.empty())) return kBad;
  Affine result;
  if (op == Op::kMul) {
    if (!x.terms.empty() && !y.terms.empty()) return kBad;
    result = x.terms.empty() ? Scaled(y, x.offset) : Scaled(x, y.offset);
  } else {
    result = Added(x, op == Op::kSub ? Scaled(y, -1) : y);
  }
  return InRange(result) ? IndexValue(std::move(result)) : kBad;
}

int FormulaBuilder::Sum(Op op, int a, int b) {
  if (IsAbsent(b)) return a;
  if (IsAbsent(a)) return op == Op::kSub ? Unary(Op::kNeg, b) : b;
  return AddOperation(op, type_of(a), {a, b});
}

int FormulaBuilder::Product(int a, int b) {
  if (IsAbsent(a)) return a;
  if (IsAbsent(b)) return b;
  if (IsConstant(a, 1)) return b;
  if (IsConstant(b, 1)) return a;
  return AddOperation(Op::kMul, type_of(a), {a, b});
}

int FormulaBuilder::Quotient(int a, int b) {
  if (IsAbsent(a)) return a;
  if (IsConstant(b, 1)) return a;
  return AddOperation(Op::kDiv, ValueType::kReal, {a, b});
}

int FormulaBuilder::Compare(Op op, int a, int b) {
  const bool truths = type_of(a) == ValueType::kBool && type_of(b) == ValueType::kBool;
  const bool ordered = op == Op::kLess || op == Op::kLessEqual;
  if ((!truths || ordered) && !UnifyNumbers(&a, &b)) return kBad;
  return AddOperation(op, ValueType::kBool, {a, b});
}

int FormulaBuilder::Binary(Op op, int a, int b) {
  if (a == kBad || b == kBad) return kBad;
  switch (op) {
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return Compare(op, a, b);
    case Op::kAnd:
    case Op::kOr:
      if (type_of(a) != ValueType::kBool || type_of(b) != ValueType::kBool) {
        return Fail("`" + std::string(OpName(op)) + "` needs truth values (say x != 0)");
      }
      return AddOperation(op, ValueType::kBool, {a, b});
    case Op::kPow:
      return Power(a, b);
    case Op::kDiv:
      a = ToReal(a);
      b = ToReal(b);
      break;
    default:
      break;
  }
  if (!UnifyNumbers(&a, &b)) return kBad;
  if (op == Op::kMod && type_of(a) != ValueType::kInt) {
    return Fail("% needs integers (for reals say x - y*floor(x/y))");
  }
  if (op == Op::kMax && type_of(a) == ValueType::kReal) {
    if (IsConstant(b, 0)) return Unary(Op::kRelu, a);
    if (IsConstant(a, 0) && !exact_) return Unary(Op::kRelu, b);
  }
  const bool arithmetic = op == Op::kAdd || op == Op::kSub || op == Op::kMul || op == Op::kDiv;
  if (!arithmetic) return AddOperation(op, type_of(a), {a, b});
  if (const int folded = FoldConstants(op, a, b); folded != kBad || failed()) return folded;
  if (op == Op::kDiv) return Quotient(a, b);
  if (const int folded = FoldIndices(op, a, b); folded != kBad || failed()) return folded;
  return op == Op::kMul ? Product(a, b) : Sum(op, a, b);
}

int FormulaBuilder::Power(int base, int exponent) {
  if (base == kBad || exponent == kBad) return kBad;
  const double n = IsConstant(exponent) ? nodes()[exponent].constant : 0.5;
  if (n == 1) return base;
  if (n >= 2 && n <= 8 && n == std::floor(n)) {
    base = ToNumber(base);
    int result = base;
    for (int i = 1; i < static_cast<int>(n); ++i) result = Binary(Op::kMul, result, base);
    return result;
  }
  base = ToReal(base);
  exponent = ToReal(exponent);
  if (base == kBad || exponent == kBad) return kBad;
  return AddOperation(Op::kPow, ValueType::kReal, {base, exponent});
}

int FormulaBuilder::Select(int condition, int yes, int no) {
  if (condition == kBad || yes == kBad || no == kBad) return kBad;
  if (type_of(condition) != ValueType::kBool) {
    return Fail("the condition of select must be a truth value (say x != 0)");
  }
  const bool truths = type_of(yes) == ValueType::kBool && type_of(no) == ValueType::kBool;
  if (!truths && !UnifyNumbers(&yes, &no)) return kBad;
  return AddOperation(Op::kSelect, type_of(yes), {condition, yes, no});
}

int FormulaBuilder::Reduce(Reduction kind, std::vector<int> bound, int body) {
  if (body == kBad) return kBad;
  const bool logical = kind == Reduction::kAny || kind == Reduction::kAll;
  if (logical && type_of(body) != ValueType::kBool) {
    return Fail(std::string(ReductionName(kind)) + " needs truth values (say x != 0)");
  }
  if (!logical) body = kind == Reduction::kMean ? ToReal(body) : ToNumber(body);
  if (body == kBad) return kBad;
  const bool arg = kind == Reduction::kArgMax || kind == Reduction::kArgMin;
  if (arg && bound.size() != 1) {
    return Fail(std::string(ReductionName(kind)) + " runs over exactly one index");
  }
  const bool additive = kind == Reduction::kSum || kind == Reduction::kMean;
  if (additive && IsAbsent(body)) return body;
  const bool rounds = (additive || kind == Reduction::kProd) && type_of(body) == ValueType::kReal;
  const Node& inner = nodes()[body];
  if (inner.op == Op::kReduce && inner.reduce == kind && !arg && !(exact_ && rounds) &&
      bound.size() + inner.bound.size() <= kMaxBoundIndices) {
    bound.insert(bound.end(), inner.bound.begin(), inner.bound.end());
    body = inner.operands[0];
  }
  Node node;
  node.op = Op::kReduce;
  node.type = arg ? ValueType::kInt : type_of(body);
  node.reduce = kind;
  node.bound = std::move(bound);
  node.operands = {body};
  return Add(std::move(node));
}

int FormulaBuilder::ScanOver(Scan scan, int index, int body) {
  body = ToNumber(body);
  if (body == kBad || (scan.kind == ScanKind::kSum && IsAbsent(body))) return body;
  Node node;
  node.op = Op::kScan;
  node.type = type_of(body);
  node.target = index;
  node.scan = scan;
  node.operands = {body};
  return Add(std::move(node));
}

void FormulaBuilder::Compact() {
  Formula& formula = task_->formula;
  std::vector<uint8_t> live(formula.nodes.size(), 0);
  std::vector<uint8_t> live_index(formula.indices.size(), 0);
  for (const Statement& s : formula.statements) {
    live[s.root] = 1;
    for (const int i : s.indices) live_index[i] = 1;
  }
  for (size_t n = formula.nodes.size(); n-- > 0;) {
    if (!live[n]) continue;
    const Node& node = formula.nodes[n];
    for (const int operand : node.operands) live[operand] = 1;
    for (const Subscript& s : node.subscripts) {
      if (s.gather >= 0) live[s.gather] = 1;
    }
    for (const int i : node.bound) live_index[i] = 1;
  }
  std::vector<int> index_at(formula.indices.size(), -1);
  size_t kept = 0;
  for (size_t i = 0; i < formula.indices.size(); ++i) {
    if (!live_index[i]) continue;
    if (kept != i) formula.indices[kept] = std::move(formula.indices[i]);
    index_at[i] = static_cast<int>(kept++);
  }
  formula.indices.resize(kept);
  std::vector<int> node_at(formula.nodes.size(), -1);
  kept = 0;
  for (size_t n = 0; n < formula.nodes.size(); ++n) {
    if (!live[n]) continue;
    Node& node = formula.nodes[n];
    for (int& operand : node.operands) operand = node_at[operand];
    for (auto& term : node.affine.terms) term.first = index_at[term.first];
    for (Subscript& s : node.subscripts) {
      if (s.gather >= 0) s.gather = node_at[s.gather];
      for (auto& term : s.affine.terms) term.first = index_at[term.first];
    }
    for (int& i : node.bound) i = index_at[i];
    if (node.op == Op::kScan) node.target = index_at[node.target];
    if (kept != n) {
      formula.nodes[kept] = std::move(node);
      positions_[kept] = positions_[n];
    }
    node_at[n] = static_cast<int>(kept++);
  }
  formula.nodes.resize(kept);
  for (Statement& s : formula.statements) {
    s.root = node_at[s.root];
    for (int& i : s.indices) i = index_at[i];
  }
}

std::string_view OpName(Op op) {
  // In the order of Op; leaves, reductions and scans have no name of their own.
  static constexpr std::string_view kNames[] = {
      "",     "",      "",     "",    "-",       "abs",    "exp",  "log",  "sin",   "cos",
      "sqrt", "rsqrt", "tanh", "erf", "sigmoid", "relu",   "gelu", "silu", "floor", "not",
      "real", "+",     "-",    "*",   "/",       "^",      "min",  "max",  "%",     "<",
      "<=",   "==",    "!=",   "and", "or",      "select", "",     "",
  };
  static_assert(std::size(kNames) == static_cast<size_t>(Op::kScan) + 1);
  return kNames[static_cast<size_t>(op)];
}

std::string_view ReductionName(Reduction r) {
  switch (r) {
    case Reduction::kSum:
      return "sum";
    case Reduction::kProd:
      return "prod";
    case Reduction::kMax:
      return "max";
    case Reduction::kMin:
      return "min";
    case Reduction::kMean:
      return "mean";
    case Reduction::kArgMax:
      return "argmax";
    case Reduction::kArgMin:
      return "argmin";
    case Reduction::kAny:
      return "any";
    case Reduction::kAll:
      return "all";
  }
  return "";
}

}  // namespace hiera
