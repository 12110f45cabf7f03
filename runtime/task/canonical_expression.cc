#include "runtime/task/canonical_expression.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "runtime/task/builder.h"

namespace hiera {

std::string RealText(double value) {
  if (std::isinf(value)) return "inf";
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  std::string text(digits, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

CanonicalExpression::CanonicalExpression(const Task& task)
    : task_(task),
      exact_(task.contract.arithmetic == Arithmetic::kExact),
      names_(task.formula.indices.size()) {}

std::string CanonicalExpression::Of(const Statement& statement) {
  for (size_t i = 0; i < statement.indices.size(); ++i) {
    names_[statement.indices[i]] = "i" + std::to_string(i);
  }
  level_ = 0;
  return Signed(Print(statement.root), kOr);
}

std::string CanonicalExpression::Unsigned(const Piece& piece, Level least) {
  return piece.level < least ? "(" + piece.text + ")" : piece.text;
}

std::string CanonicalExpression::Signed(const Piece& piece, Level least) {
  if (!piece.negative) return Unsigned(piece, least);
  const bool sum = !piece.negated.empty();
  std::string text = sum ? piece.negated : "-" + Unsigned(piece, kMul);
  const Level level = sum ? kAdd : piece.level == kMul ? kMul : kAdd;
  // A sign in front binds like the product it starts; where more is asked for, parentheses.
  return level < least && !(least == kMul && !sum) ? "(" + text + ")" : text;
}

CanonicalExpression::Piece CanonicalExpression::ConstantPiece(double value, ValueType type) const {
  Piece piece;
  piece.constant = true;
  // Whether constants that cancel leave 0 or -0 depends on their order, which is free but under
  // exact arithmetic.
  piece.either_sign = value == 0 && !exact_;
  piece.negative = std::signbit(value) && !piece.either_sign;
  piece.value = std::fabs(value);
  if (type == ValueType::kReal) {
    piece.text = RealText(piece.value);
  } else if (type == ValueType::kInt) {
    piece.text = std::to_string(static_cast<int64_t>(piece.value));
  } else {
    piece.text = value != 0 ? "true" : "false";
  }
  return piece;
}

CanonicalExpression::Piece CanonicalExpression::Print(int n) {
  const Node& at = node(n);
  switch (at.op) {
    case Op::kConstant:
      return ConstantPiece(at.constant, at.type);
    case Op::kScalar:
      return {.text = "s" + std::to_string(at.target)};
    case Op::kIndex:
      return PrintAffine(at.affine);
    case Op::kLoad:
      return PrintLoad(at);
    case Op::kAdd:
    case Op::kSub:
      return PrintSum(n);
    case Op::kNeg:
    case Op::kMul:
      return PrintProduct(n);
    case Op::kDiv:
    case Op::kMod:
      return PrintQuotient(at);
    case Op::kPow:
      return PrintPower(at);
    case Op::kMin:
    case Op::kMax:
    case Op::kRelu:
      return PrintExtremum(n);
    case Op::kAnd:
    case Op::kOr:
      return PrintLogic(n);
    case Op::kNot:
      return {.text = "not " + Signed(Print(at.operands[0]), kNot), .level = kNot};
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kEqual:
    case Op::kNotEqual:
      return PrintComparison(at);
    case Op::kSelect:
      return PrintSelect(at);
    case Op::kReduce:
      return PrintReduce(at);
    case Op::kScan:
      return PrintScan(at);
    default:
      return PrintCall(at);
  }
}

CanonicalExpression::Piece CanonicalExpression::PrintCall(const Node& at) {
  std::string text(OpName(at.op));
  text += "(";
  text += Signed(Print(at.operands[0]), kOr);
  text += ")";
  return {.text = std::move(text)};
}

CanonicalExpression::Piece CanonicalExpression::PrintSelect(const Node& at) {
  std::string text = "select(" + Signed(Print(at.operands[0]), kOr);
  text += "," + Signed(Print(at.operands[1]), kOr);
  text += "," + Signed(Print(at.operands[2]), kOr) + ")";
  return {.text = std::move(text)};
}

CanonicalExpression::Piece CanonicalExpression::PrintQuotient(const Node& at) {
  Piece a = Print(at.operands[0]);
  const Piece b = Print(at.operands[1]);
  Piece piece;
  piece.level = kMul;
  if (at.op == Op::kMod) {
    piece.text = Signed(a, kMul) + "%" + Signed(b, kPower);
    return piece;
  }
  piece.either_sign = a.either_sign || b.either_sign;
  piece.negative = a.negative != b.negative && !piece.either_sign;
  piece.text = Unsigned(a, kMul) + "/" + Unsigned(b, kPower);
  return piece;
}

CanonicalExpression::Piece CanonicalExpression::PrintPower(const Node& at) {
  const Piece base = Print(at.operands[0]);
  const Piece exponent = Print(at.operands[1]);
  return {.text = Signed(base, kAtom) + "^" + Signed(exponent, kAtom), .level = kPower};
}

CanonicalExpression::Piece CanonicalExpression::PrintComparison(const Node& at) {
  std::string a = Signed(Print(at.operands[0]), kAdd);
  std::string b = Signed(Print(at.operands[1]), kAdd);
  const bool symmetric = at.op == Op::kEqual || at.op == Op::kNotEqual;
  if (symmetric && b < a) std::swap(a, b);
  return {.text = a + std::string(OpName(at.op)) + b, .level = kCompare};
}

CanonicalExpression::Piece CanonicalExpression::PrintLoad(const Node& at) {
  std::string text = "t" + std::to_string(at.target);
  for (size_t axis = 0; axis < at.subscripts.size(); ++axis) {
    const Subscript& s = at.subscripts[axis];
    text += axis == 0 ? "[" : ",";
    if (s.gather >= 0) {
      text += Signed(Print(s.gather), kOr);
    } else if (s.affine.divisor == 1) {
      text += Signed(PrintAffine(s.affine), kOr);
    } else {
      text += Signed(PrintAffine(s.affine), kPower) + "/" + std::to_string(s.affine.divisor);
    }
  }
  if (!at.subscripts.empty()) text += "]";
  return {.text = std::move(text)};
}

CanonicalExpression::Piece CanonicalExpression::PrintScan(const Node& at) {
  std::string text = at.scan.kind == ScanKind::kSum ? "cumsum(" : "cumprod(";
  if (at.scan.reverse) text += "reverse ";
  if (at.scan.exclusive) text += "exclusive ";
  text += names_[at.target] + ":" + Signed(Print(at.operands[0]), kOr) + ")";
  return {.text = std::move(text)};
}

void CanonicalExpression::CollectOperands(int n, Op op, bool flatten, std::vector<Piece>* operands,
                                          bool* zero) {
  const Node& at = node(n);
  if (flatten && at.op == op) {
    for (const int operand : at.operands) CollectOperands(operand, op, flatten, operands, zero);
  } else if (flatten && op == Op::kMax && at.op == Op::kRelu) {
    *zero = true;
    CollectOperands(at.operands[0], op, flatten, operands, zero);
  } else if (op == Op::kMax && at.op == Op::kConstant && at.type == ValueType::kReal &&
             at.constant == 0 && flatten) {
    *zero = true;
  } else {
    operands->push_back(Print(n));
  }
}

void CanonicalExpression::SortUnique(std::vector<std::string>* texts) {
  const size_t count = texts->size();
  std::sort(texts->begin(), texts->end());
  texts->erase(std::unique(texts->begin(), texts->end()), texts->end());
  collapsed_ |= texts->size() < count;
}

CanonicalExpression::Piece CanonicalExpression::PrintExtremum(int n) {
  const Node& at = node(n);
  if (at.op == Op::kRelu && !Flattens(at.type)) return PrintCall(at);
  const Op op = at.op == Op::kMin ? Op::kMin : Op::kMax;
  std::vector<Piece> pieces;
  bool zero = at.op == Op::kRelu;
  for (const int operand : at.operands) {
    CollectOperands(operand, op, Flattens(at.type), &pieces, &zero);
  }
  if (pieces.empty()) pieces.push_back(ConstantPiece(0, ValueType::kReal));
  std::vector<std::string> texts;
  for (const Piece& piece : pieces) texts.push_back(Signed(piece, kOr));
  if (Flattens(at.type)) {
    SortUnique(&texts);
    if (texts.size() == 1 && !zero) return pieces[0];
  }
  std::string text = texts[0];
  for (size_t i = 1; i < texts.size(); ++i) text += "," + texts[i];
  if (texts.size() > 1) text = std::string(OpName(op)) + "(" + text + ")";
  if (zero) text = "relu(" + text + ")";
  return {.text = std::move(text)};
}

CanonicalExpression::Piece CanonicalExpression::PrintLogic(int n) {
  const Op op = node(n).op;
  const Level level = op == Op::kAnd ? kAnd : kOr;
  std::vector<Piece> pieces;
  bool zero = false;
  CollectOperands(n, op, true, &pieces, &zero);
  std::vector<std::string> texts;
  for (const Piece& piece : pieces) texts.push_back(Unsigned(piece, static_cast<Level>(level + 1)));
  SortUnique(&texts);
  if (texts.size() == 1) return pieces[0];
  std::string text = texts[0];
  for (size_t i = 1; i < texts.size(); ++i) {
    text += op == Op::kAnd ? " and " : " or ";
    text += texts[i];
  }
  return {.text = std::move(text), .level = level};
}

}  // namespace hiera
