#include "runtime/task/expression_parser.h"

#include <algorithm>

#include "runtime/task/limits.h"

namespace hiera {
namespace {

// Counts one level of nesting while it lives.
class Nested {
 public:
  explicit Nested(int* level) : level_(level) { ++*level_; }
  ~Nested() { --*level_; }

 private:
  int* level_;
};

constexpr int kNotLevel = 3;
constexpr int kComparisonLevel = 4;

// 0 where the token is no binary operator; higher binds tighter.
int LevelOf(const Token& token) {
  if (token.kind == TokenKind::kName) {
    if (token.text == "or") return 1;
    if (token.text == "and") return 2;
    return 0;
  }
  if (token.kind != TokenKind::kSymbol) return 0;
  const std::string_view s = token.text;
  if (s == "<" || s == "<=" || s == ">" || s == ">=" || s == "==" || s == "!=") {
    return kComparisonLevel;
  }
  if (s == "+" || s == "-") return 5;
  if (s == "*" || s == "/" || s == "%") return 6;
  return 0;
}

bool IsReductionName(std::string_view name) {
  for (const std::string_view known :
       {"sum", "prod", "max", "min", "mean", "argmax", "argmin", "any", "all"}) {
    if (name == known) return true;
  }
  return false;
}

bool IsScanName(std::string_view name) { return name == "cumsum" || name == "cumprod"; }

}  // namespace

bool ExpressionParser::TakeIf(std::string_view symbol) {
  if (!Peek().Is(symbol)) return false;
  Take();
  return true;
}

bool ExpressionParser::Expect(std::string_view symbol, std::string_view after) {
  if (failed()) return false;
  if (TakeIf(symbol)) return true;
  FailHere("expected '" + std::string(symbol) + "' " + std::string(after));
  return false;
}

std::string ExpressionParser::Found() const {
  const Token& token = Peek();
  if (token.kind == TokenKind::kEnd) return "found the end of the text";
  if (token.kind == TokenKind::kSeparator) {
    return token.text == ";" ? "found ';'" : "found the end of the line";
  }
  return "found '" + std::string(token.text) + "'";
}

int ExpressionParser::Fail(uint32_t offset, std::string_view what) {
  if (status_.ok()) status_ = ErrorAt(text_, offset, what);
  return -1;
}

int ExpressionParser::FailHere(std::string_view what) {
  return Fail(Peek().offset, std::string(what) + ", " + Found());
}

bool ExpressionParser::Integer(int64_t low, int64_t high, std::string_view what, int64_t* value) {
  const Token token = Peek();
  if (token.kind != TokenKind::kNumber || !token.integer) {
    FailHere("expected " + std::string(what) + " (an integer)");
    return false;
  }
  *value = token.value;
  if (*value < low || *value > high) {
    Fail(token.offset, std::string(what) + " of " + std::string(token.text) + " (expected " +
                           std::to_string(low) + " to " + std::to_string(high) + ")");
    return false;
  }
  Take();
  return true;
}

int ExpressionParser::Binders() {
  int count = 0;
  do {
    const Token name = Peek();
    if (name.kind != TokenKind::kName) return FailHere("expected the name of an index");
    Take();
    const Status good = CheckName(name.text);
    if (!good.ok()) return Fail(name.offset, good.message());
    Binder binder{name.text, -1, name.offset};
    if (TakeIf("<") && !Integer(0, kMaxElements - 1, "a range", &binder.range)) return -1;
    syntax_->binders.push_back(binder);
    ++count;
  } while (TakeIf(","));
  return count;
}

int ExpressionParser::Add(Expr expr) {
  if (static_cast<int>(syntax_->exprs.size()) >= kMaxNodes) {
    return Fail(expr.offset,
                "the text has more than " + std::to_string(kMaxNodes) + " operands and operators");
  }
  syntax_->exprs.push_back(expr);
  return static_cast<int>(syntax_->exprs.size()) - 1;
}

int ExpressionParser::Binary(int lowest) {
  const Nested nested(&nesting_);
  if (nesting_ > kMaxNesting) {
    return Fail(Peek().offset, "nested deeper than " + std::to_string(kMaxNesting) +
                                   " levels (give a part of it a name in a statement of its own)");
  }
  int left = Unary();
  while (!failed()) {
    const Token op = Peek();
    const int level = LevelOf(op);
    if (level == 0 || level <= lowest) break;
    Take();
    const int right = Binary(level);
    if (right < 0) return -1;
    if (level == kComparisonLevel && LevelOf(Peek()) == kComparisonLevel) {
      return Fail(Peek().offset, "comparisons do not chain (say a < b and b < c)");
    }
    syntax_->exprs[left].next = right;
    left = Add({.kind = ExprKind::kBinary, .offset = op.offset, .first = left, .name = op.text});
  }
  return failed() ? -1 : left;
}

int ExpressionParser::Unary() {
  const Token op = Peek();
  if (op.IsName("not") || op.Is("-") || op.Is("+")) {
    const Nested nested(&nesting_);
    Take();
    // `not` takes a whole comparison; a sign binds tighter than * and looser than ^.
    int operand = -1;
    if (op.IsName("not")) {
      operand = Binary(kNotLevel);
    } else if (nesting_ <= kMaxNesting) {
      operand = Unary();
    } else {
      Fail(op.offset, "nested deeper than " + std::to_string(kMaxNesting) + " levels");
    }
    if (operand < 0 || op.Is("+")) return operand;
    return Add({.kind = ExprKind::kUnary, .offset = op.offset, .first = operand, .name = op.text});
  }
  return Power();
}

int ExpressionParser::Power() {
  const int base = Primary();
  if (base < 0 || !Peek().Is("^")) return base;
  const Token op = Take();
  const Nested nested(&nesting_);
  if (nesting_ > kMaxNesting) {
    return Fail(op.offset, "nested deeper than " + std::to_string(kMaxNesting) + " levels");
  }
  const int exponent = Unary();
  if (exponent < 0) return -1;
  syntax_->exprs[base].next = exponent;
  return Add({.kind = ExprKind::kBinary, .offset = op.offset, .first = base, .name = op.text});
}

int ExpressionParser::Primary() {
  if (failed()) return -1;
  const Token token = Peek();
  if (token.kind == TokenKind::kNumber) {
    if (token.integer && token.value > kMaxInteger) {
      return Fail(token.offset,
                  "an integer above 2^53 (write it with a decimal point to have a real)");
    }
    Take();
    return Add({.kind = ExprKind::kNumber,
                .integer = token.integer,
                .offset = token.offset,
                .name = token.text,
                .number = token.number});
  }
  if (token.kind == TokenKind::kName && token.text != "and" && token.text != "or") {
    return NameOrCall();
  }
  if (TakeIf("(")) {
    const int inside = Binary(0);
    return Expect(")", "to close the parenthesis") ? inside : -1;
  }
  return FailHere("expected a value (a number, a name, a call or a parenthesis)");
}

int ExpressionParser::NameOrCall() {
  const Token name = Take();
  if (TakeIf("[")) return ReadOf(name);
  if (TakeIf("(")) {
    if (IsScanName(name.text)) return ScanOf(name);
    if (IsReductionName(name.text) && BindersFollow()) return ReductionOf(name);
    return CallOf(name);
  }
  return Add({.kind = ExprKind::kName, .offset = name.offset, .name = name.text});
}

bool ExpressionParser::Children(int parent, std::string_view close, bool may_be_empty) {
  if (parent < 0) return false;
  if (may_be_empty && TakeIf(close)) return true;
  int last = -1;
  do {
    const int child = Binary(0);
    if (child < 0) return false;
    (last < 0 ? syntax_->exprs[parent].first : syntax_->exprs[last].next) = child;
    last = child;
  } while (TakeIf(","));
  return Expect(close, "or ','");
}

int ExpressionParser::ReadOf(const Token& name) {
  const int read = Add({.kind = ExprKind::kRead, .offset = name.offset, .name = name.text});
  return Children(read, "]", true) ? read : -1;
}

int ExpressionParser::CallOf(const Token& name) {
  const int call = Add({.kind = ExprKind::kCall, .offset = name.offset, .name = name.text});
  return Children(call, ")", false) ? call : -1;
}

// Whether NAME [ "<" INT ] { "," ... } ":" comes next: what tells max(j: x[j]) from max(a, b).
bool ExpressionParser::BindersFollow() const {
  for (size_t i = 0;; ++i) {
    if (Peek(i).kind != TokenKind::kName) return false;
    ++i;
    if (Peek(i).Is("<") && Peek(i + 1).kind == TokenKind::kNumber) i += 2;
    if (Peek(i).Is(":")) return true;
    if (!Peek(i).Is(",")) return false;
  }
}

int ExpressionParser::ReductionOf(const Token& name) {
  Expr expr{.kind = ExprKind::kReduce, .offset = name.offset, .name = name.text};
  expr.binder = static_cast<int>(syntax_->binders.size());
  expr.binder_count = Binders();
  if (expr.binder_count < 0 || !Expect(":", "after the indices of a reduction")) return -1;
  if (expr.binder_count > kMaxBoundIndices) {
    return Fail(name.offset, std::string(name.text) + " over more than " +
                                 std::to_string(kMaxBoundIndices) + " indices");
  }
  expr.first = Binary(0);
  if (expr.first < 0 || !Expect(")", "to close the reduction")) return -1;
  return Add(expr);
}

int ExpressionParser::ScanOf(const Token& name) {
  Expr expr{.kind = ExprKind::kScan, .offset = name.offset, .name = name.text};
  while (!Peek(1).Is(":")) {
    const Token word = Peek();
    bool* flag = word.IsName("reverse")     ? &expr.reverse
                 : word.IsName("exclusive") ? &expr.exclusive
                                            : nullptr;
    if (flag == nullptr || *flag) {
      return FailHere("expected " + std::string(name.text) +
                      "([reverse] [exclusive] INDEX: value)");
    }
    *flag = true;
    Take();
  }
  const Token index = Peek();
  if (index.kind != TokenKind::kName) return FailHere("expected the name of an index");
  Take();
  Take();  // the colon
  expr.binder = static_cast<int>(syntax_->binders.size());
  expr.binder_count = 1;
  syntax_->binders.push_back({index.text, -1, index.offset});
  expr.first = Binary(0);
  if (expr.first < 0 || !Expect(")", "to close the scan")) return -1;
  return Add(expr);
}

}  // namespace hiera
