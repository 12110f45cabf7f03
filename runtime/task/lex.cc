#include "runtime/task/lex.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>

#include "runtime/task/limits.h"

namespace hiera {
namespace {

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> Run() {
    tokens_.reserve(text_.size() / 3 + 8);
    while (at_ < text_.size()) HIERA_RETURN_IF_ERROR(Next());
    tokens_.push_back({TokenKind::kEnd, false, static_cast<uint32_t>(text_.size()), {}, 0, 0});
    return std::move(tokens_);
  }

 private:
  Status Next() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (c == '\n' || c == ';') {
      Separator(c);
    } else if (IsLetter(c)) {
      return Name();
    } else if (IsDigit(c) || (c == '.' && at_ + 1 < text_.size() && IsDigit(text_[at_ + 1]))) {
      return Number();
    } else {
      return Symbol();
    }
    return {};
  }

  void Separator(char c) {
    const bool continues = c == '\n' && (open_ > 0 || AfterOperator());
    if (!continues && !tokens_.empty() && tokens_.back().kind != TokenKind::kSeparator) {
      Push(TokenKind::kSeparator, 1);
    } else {
      ++at_;
    }
  }

  bool AfterOperator() const {
    if (tokens_.empty()) return false;
    const Token& last = tokens_.back();
    if (last.kind == TokenKind::kName) {
      return last.text == "and" || last.text == "or" || last.text == "not";
    }
    return last.kind == TokenKind::kSymbol && last.text != ")" && last.text != "]";
  }

  Status Name() {
    size_t end = at_;
    while (end < text_.size() && (IsLetter(text_[end]) || IsDigit(text_[end]))) ++end;
    if (end - at_ > kMaxNameBytes) {
      return Fail("a name longer than " + std::to_string(kMaxNameBytes) + " characters");
    }
    Push(TokenKind::kName, end - at_);
    return {};
  }

  Status Number() {
    size_t end = at_;
    bool integer = true;
    auto digits = [&] {
      while (end < text_.size() && IsDigit(text_[end])) ++end;
    };
    digits();
    if (end < text_.size() && text_[end] == '.') {
      integer = false;
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      integer = false;
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      if (end == text_.size() || !IsDigit(text_[end])) {
        return Fail("a number without the digits of its exponent");
      }
      digits();
    }
    if (end < text_.size() && IsLetter(text_[end])) {
      return Fail("a number that runs into a name (put * between them)");
    }
    double value = 0;
    const auto [rest, error] = std::from_chars(text_.data() + at_, text_.data() + end, value);
    if (error != std::errc() || rest != text_.data() + end) {
      return Fail("a number out of the range of f64");
    }
    int64_t exact = 0;
    if (integer) {
      const auto [stop, wide] = std::from_chars(text_.data() + at_, text_.data() + end, exact);
      if (wide != std::errc() || stop != text_.data() + end || exact >= kMaxElements) {
        return Fail("an integer of 2^62 or more (write it with a decimal point to have a real)");
      }
    }
    Push(TokenKind::kNumber, end - at_);
    tokens_.back().integer = integer;
    tokens_.back().number = value;
    tokens_.back().value = exact;
    return {};
  }

  Status Symbol() {
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view two : {"<=", ">=", "==", "!="}) {
      if (rest.starts_with(two)) {
        Push(TokenKind::kSymbol, 2);
        return {};
      }
    }
    if (rest.starts_with("**")) return Fail("** is not an operator here (a power is said x^2)");
    const char c = rest[0];
    if (std::string_view("()[],:=+-*/%^<>").find(c) == std::string_view::npos)
      return BadCharacter(c);
    if (c == '(' || c == '[') ++open_;
    if (c == ')' || c == ']') open_ = std::max(0, open_ - 1);
    Push(TokenKind::kSymbol, 1);
    return {};
  }

  Status BadCharacter(char c) {
    if (c == '&') return Fail("unexpected character '&' (say `and`)");
    if (c == '|') return Fail("unexpected character '|' (say `or`)");
    if (c == '!') return Fail("unexpected character '!' (say `not`, or != for unequal)");
    char shown[32];
    const unsigned byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      std::snprintf(shown, sizeof shown, "'%c'", c);
    } else {
      std::snprintf(shown, sizeof shown, "with code 0x%02x", byte);
    }
    return Fail(std::string("unexpected character ") + shown);
  }

  void Push(TokenKind kind, size_t length) {
    tokens_.push_back({kind, false, static_cast<uint32_t>(at_), text_.substr(at_, length), 0, 0});
    at_ += length;
  }

  Status Fail(const std::string& what) const {
    return ErrorAt(text_, static_cast<uint32_t>(at_), what);
  }

  std::string_view text_;
  size_t at_ = 0;
  int open_ = 0;  // brackets
  std::vector<Token> tokens_;
};

}  // namespace

Result<std::vector<Token>> Lex(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return InvalidArgument("the text has " + std::to_string(text.size()) + " bytes (at most " +
                           std::to_string(kMaxTextBytes) + ")");
  }
  return Lexer(text).Run();
}

Status CheckName(std::string_view name) {
  const std::string quoted = "\"" + std::string(name.substr(0, kMaxNameBytes)) + "\" ";
  if (name.empty()) return InvalidArgument("an empty name");
  if (name.size() > kMaxNameBytes) {
    return InvalidArgument(quoted + "is longer than " + std::to_string(kMaxNameBytes) +
                           " characters");
  }
  const bool fits = IsLetter(name[0]) && std::all_of(name.begin(), name.end(), [](char c) {
                      return IsLetter(c) || IsDigit(c);
                    });
  if (!fits) {
    return InvalidArgument(quoted + "is no name (letters, digits and underscores, a letter first)");
  }
  for (const std::string_view word : {"and", "or", "not", "inf", "true", "false"}) {
    if (name == word) return InvalidArgument(quoted + "is a word of the language, not a name");
  }
  return {};
}

Status ErrorAt(std::string_view text, uint32_t offset, std::string_view what) {
  const std::string_view before = text.substr(0, offset);
  const size_t line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return InvalidArgument("line " + std::to_string(line) + ", column " +
                         std::to_string(offset - start + 1) + ": " + std::string(what));
}

}  // namespace hiera
