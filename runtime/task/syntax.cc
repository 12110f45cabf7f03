#include "runtime/task/syntax.h"

#include <string>
#include <utility>

#include "runtime/task/expression_parser.h"
#include "runtime/task/limits.h"

namespace hiera {
namespace {

// Reads the items of a text: declarations and statements.
class ItemParser {
 public:
  ItemParser(std::string_view text, const std::vector<Token>& tokens, Syntax* syntax)
      : syntax_(syntax), in_(text, tokens, syntax) {}

  Status Run() {
    while (!in_.failed()) {
      while (in_.Peek().kind == TokenKind::kSeparator) in_.Take();
      if (in_.Peek().kind == TokenKind::kEnd) break;
      Item();
      if (in_.failed()) break;
      const TokenKind next = in_.Peek().kind;
      if (next != TokenKind::kSeparator && next != TokenKind::kEnd) {
        in_.FailHere("expected an operator, or ';' or a new line before the next statement");
      }
    }
    return in_.status();
  }

 private:
  // A word of declarations is one only where what follows cannot be a statement's left side, so
  // that tensors may have these names too.
  void Item() {
    const Token& word = in_.Peek();
    const Token& next = in_.Peek(1);
    if (word.kind != TokenKind::kName) {
      in_.FailHere("expected a statement NAME[indices] = value, or a declaration");
    } else if (word.text == "tensor" && next.kind == TokenKind::kName) {
      Tensor();
    } else if (word.text == "scalar" && next.kind == TokenKind::kName) {
      Scalar();
    } else if (word.text == "contract" && (next.kind == TokenKind::kName || Ends(next))) {
      Contract();
    } else if (word.text == "steps" && next.kind == TokenKind::kNumber) {
      Steps();
    } else {
      Statement();
    }
  }

  static bool Ends(const Token& token) {
    return token.kind == TokenKind::kSeparator || token.kind == TokenKind::kEnd;
  }

  bool Name(std::string_view what, Token* name) {
    *name = in_.Peek();
    if (name->kind != TokenKind::kName) {
      in_.FailHere("expected " + std::string(what));
      return false;
    }
    const Status good = CheckName(name->text);
    if (!good.ok()) in_.Fail(name->offset, good.message());
    in_.Take();
    return good.ok();
  }

  bool Integers(std::string_view what, std::vector<int64_t>* values) {
    if (!in_.Expect("[", "before the " + std::string(what) + "s")) return false;
    if (in_.TakeIf("]")) return true;
    do {
      int64_t value = 0;
      if (!in_.Integer(0, kMaxElements - 1,
                       "a" + std::string(what == "extent" ? "n " : " ") + std::string(what),
                       &value)) {
        return false;
      }
      values->push_back(value);
    } while (in_.TakeIf(","));
    return in_.Expect("]", "after the " + std::string(what) + "s");
  }

  void Tensor() {
    TensorItem item;
    in_.Take();
    item.offset = in_.Peek().offset;
    Token name;
    if (!Name("the name of a tensor", &name) || !in_.Expect(":", "after the name of a tensor")) {
      return;
    }
    item.spec.name = name.text;
    const Token type = in_.Peek();
    Result<DType> dtype = DTypeFromName(type.text);
    if (!dtype.ok()) {
      in_.Fail(type.offset, dtype.status().message());
      return;
    }
    in_.Take();
    item.spec.dtype = *dtype;
    if (!Integers("extent", &item.spec.extents)) return;
    bool has_strides = false;
    bool has_outside = false;
    while (true) {
      if (in_.Peek().IsName("strides") && !has_strides) {
        in_.Take();
        has_strides = true;
        if (!Integers("stride", &item.spec.strides)) return;
      } else if (in_.Peek().IsName("outside") && !has_outside) {
        has_outside = true;
        if (!OutsideRule(&item.spec.outside)) return;
      } else {
        break;
      }
    }
    if (!has_strides) item.spec.strides = DenseStrides(item.spec.extents);
    syntax_->tensors.push_back(std::move(item));
  }

  bool OutsideRule(Outside* rule) {
    in_.Take();
    const Token word = in_.Peek();
    Result<Outside> parsed = OutsideFromName(word.text);
    if (!parsed.ok()) {
      in_.Fail(word.offset, parsed.status().message());
      return false;
    }
    in_.Take();
    *rule = *parsed;
    return true;
  }

  void Scalar() {
    in_.Take();
    Token name;
    if (!Name("the name of a scalar", &name)) return;
    ScalarItem item{name.offset, name.text, -1};
    if (in_.TakeIf("=")) {
      int64_t value = 0;
      if (!in_.Integer(0, 1, "a scalar's class", &value)) return;
      item.value = static_cast<int>(value);
    }
    syntax_->scalars.push_back(item);
  }

  void Contract() {
    const Token word = in_.Take();
    if (syntax_->has_contract) {
      in_.Fail(word.offset, "a second contract (say all of it in one line)");
      return;
    }
    syntax_->has_contract = true;
    syntax_->contract_offset = word.offset;
    while (in_.Peek().kind == TokenKind::kName) {
      const Token name = in_.Take();
      if (!in_.Expect("=", "after a contract's word")) return;
      const Token value = in_.Peek();
      if (value.kind != TokenKind::kName && value.kind != TokenKind::kNumber) {
        in_.FailHere("expected a word or a number");
        return;
      }
      in_.Take();
      syntax_->contract.push_back({name.text, value, name.offset});
    }
  }

  void Steps() {
    StepsItem& item = syntax_->steps;
    const Token word = in_.Take();
    if (item.present) {
      in_.Fail(word.offset, "steps stated twice");
      return;
    }
    item.present = true;
    item.offset = word.offset;
    if (!in_.Integer(1, kMaxSteps, "a number of steps", &item.steps)) return;
    if (!in_.Expect("(", "and the states, as in steps 4 (u = v)")) return;
    do {
      Token state;
      Token source;
      if (!Name("the name of a state", &state) || !in_.Expect("=", "after a state") ||
          !Name("the name of what the state takes its value from", &source)) {
        return;
      }
      item.pairs.push_back({state.text, source.text, state.offset, source.offset});
    } while (in_.TakeIf(","));
    in_.Expect(")", "after the states");
  }

  void Statement() {
    StatementItem item;
    Token name;
    if (!Name("the name of a tensor", &name)) return;
    item.name = name.text;
    item.offset = name.offset;
    item.binder = static_cast<int>(syntax_->binders.size());
    if (in_.TakeIf("[") && !in_.TakeIf("]")) {
      item.binder_count = in_.Binders();
      if (item.binder_count < 0) return;
      if (!in_.Expect("]", "or ',' (a left side has plain indices, one an axis)")) return;
    }
    if (in_.Peek().IsName("outside")) {
      item.has_outside = true;
      if (!OutsideRule(&item.outside)) return;
    }
    if (!in_.Expect("=", "after the left side of a statement")) return;
    if (static_cast<int>(syntax_->statements.size()) >= kMaxStatements) {
      in_.Fail(name.offset, "more than " + std::to_string(kMaxStatements) + " statements");
      return;
    }
    item.root = in_.Expression();
    syntax_->statements.push_back(item);
  }

  Syntax* syntax_;
  ExpressionParser in_;
};

}  // namespace

Result<Syntax> ParseSyntax(std::string_view text) {
  Result<std::vector<Token>> tokens = Lex(text);
  if (!tokens.ok()) return tokens.status();
  Syntax syntax;
  syntax.exprs.reserve(tokens->size());
  HIERA_RETURN_IF_ERROR(ItemParser(text, *tokens, &syntax).Run());
  return syntax;
}

}  // namespace hiera
