// Lexer of the formula language: text to tokens with positions. Pure functions; tokens borrow the
// text.
#ifndef HIERA_RUNTIME_TASK_LEX_H_
#define HIERA_RUNTIME_TASK_LEX_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace hiera {

enum class TokenKind : uint8_t {
  kName,
  kNumber,
  kSymbol,     // one or two characters of punctuation
  kSeparator,  // ";" or a newline that ends an item
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool integer = false;  // a number of digits alone
  uint32_t offset = 0;   // of the first byte, in the text
  std::string_view text;
  double number = 0;
  int64_t value = 0;  // of an integer

  bool Is(std::string_view symbol) const { return kind == TokenKind::kSymbol && text == symbol; }
  bool IsName(std::string_view name) const { return kind == TokenKind::kName && text == name; }
};

// The tokens of `text`, ended by one kEnd. A newline separates items unless it stands inside ( ) or
// [ ] or after an operator, a comma or a colon.
Result<std::vector<Token>> Lex(std::string_view text);

// Whether `name` can stand for a tensor, a scalar or an index: letters, digits and underscores, not
// starting with a digit, not a word of the language. Names the fault.
Status CheckName(std::string_view name);

// kInvalidArgument with the message "line L, column C: what".
Status ErrorAt(std::string_view text, uint32_t offset, std::string_view what);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_LEX_H_
