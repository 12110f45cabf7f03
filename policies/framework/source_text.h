// SourceText: lines of C++ under construction, indented by the blocks they stand in. A plain value.
#ifndef HIERA_POLICIES_FRAMEWORK_SOURCE_TEXT_H_
#define HIERA_POLICIES_FRAMEWORK_SOURCE_TEXT_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hiera {

class SourceText {
 public:
  void Line(std::string_view text);  // at the current depth
  void Open(std::string_view text);  // a line, and what follows one deeper
  // head + parts + tail with commas between the parts, over as many lines as its length needs.
  void List(const std::string& head, const std::vector<std::string>& parts,
            const std::string& tail);
  void OpenList(const std::string& head, const std::vector<std::string>& parts,
                const std::string& tail) {
    List(head, parts, tail);
    ++depth_;
  }
  void Close(std::string_view text = "}");  // one shallower, then a line
  void Middle(std::string_view text);       // "} else {"
  void Append(const SourceText& block);     // its lines at the current depth
  bool empty() const { return lines_.empty(); }
  std::string Text() const;

 private:
  std::vector<std::pair<int, std::string>> lines_;  // (depth, text)
  int depth_ = 0;
};

// `text` in parentheses, unless it is one name or number; and without those that enclose all of it.
std::string Parenthesised(const std::string& text);
std::string Bare(const std::string& text);

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_SOURCE_TEXT_H_
