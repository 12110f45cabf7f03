// ExpressionParser: the part of the parser that reads expressions, by precedence climbing. Appends
// to a Syntax. The first error is kept and ends all reading. Not thread-safe; used by syntax.cc.
#ifndef HIERA_RUNTIME_TASK_EXPRESSION_PARSER_H_
#define HIERA_RUNTIME_TASK_EXPRESSION_PARSER_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/task/syntax.h"

namespace hiera {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const std::vector<Token>& tokens, Syntax* syntax)
      : text_(text), tokens_(tokens), syntax_(syntax) {}

  // Reads one expression; -1 on error.
  int Expression() { return Binary(0); }

  const Token& Peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  const Token& Take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool TakeIf(std::string_view symbol);
  // Takes `symbol`, or fails saying that `after` needs it.
  bool Expect(std::string_view symbol, std::string_view after);
  // Takes a list of NAME [ "<" INT ] into Syntax::binders; returns how many, -1 on error.
  int Binders();
  // Takes an integer in [low, high].
  bool Integer(int64_t low, int64_t high, std::string_view what, int64_t* value);

  bool failed() const { return !status_.ok(); }
  const Status& status() const { return status_; }
  int Fail(uint32_t offset, std::string_view what);
  int FailHere(std::string_view what);  // adds what was found
  std::string Found() const;            // "found ...", of the next token

 private:
  int Binary(int lowest);
  int Unary();
  int Power();
  int Primary();
  int NameOrCall();
  int ReadOf(const Token& name);
  int CallOf(const Token& name);
  int ReductionOf(const Token& name);
  int ScanOf(const Token& name);
  bool BindersFollow() const;
  // Comma-separated expressions up to `close`, linked as children of `parent`.
  bool Children(int parent, std::string_view close, bool may_be_empty);
  int Add(Expr expr);

  std::string_view text_;
  const std::vector<Token>& tokens_;
  Syntax* syntax_;
  size_t at_ = 0;
  int nesting_ = 0;
  Status status_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_EXPRESSION_PARSER_H_
