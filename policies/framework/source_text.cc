#include "policies/framework/source_text.h"

namespace hiera {

void SourceText::Line(std::string_view text) { lines_.emplace_back(depth_, text); }

void SourceText::Open(std::string_view text) {
  Line(text);
  ++depth_;
}

void SourceText::List(const std::string& head, const std::vector<std::string>& parts,
                      const std::string& tail) {
  constexpr size_t kColumns = 100;
  std::string line = head;
  bool first = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? "," : tail);
    if (2 * depth_ + line.size() + 1 + part.size() > kColumns) {
      Line(line);
      line = "    " + part;
    } else {
      line += (first ? "" : " ") + part;
    }
    first = false;
  }
  if (parts.empty()) line += tail;
  Line(line);
}

void SourceText::Close(std::string_view text) {
  --depth_;
  Line(text);
}

void SourceText::Middle(std::string_view text) {
  Close(text);
  ++depth_;
}

void SourceText::Append(const SourceText& block) {
  for (const auto& [depth, text] : block.lines_) lines_.emplace_back(depth_ + depth, text);
}

std::string SourceText::Text() const {
  std::string text;
  for (const auto& [depth, line] : lines_) {
    if (!line.empty()) text.append(2 * depth, ' ');
    text += line;
    text += '\n';
  }
  return text;
}

std::string Parenthesised(const std::string& text) {
  const bool call = text.compare(0, 4, "fn::") == 0;  // as the generators write them: one call
  return call || text.find_first_of(" -") == std::string::npos ? text : "(" + text + ")";
}

std::string Bare(const std::string& text) {
  if (text.empty() || text.front() != '(' || text.back() != ')') return text;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0 && i + 1 < text.size()) return text;
  }
  return text.substr(1, text.size() - 2);
}

}  // namespace hiera
