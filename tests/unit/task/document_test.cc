// docs/formulas.md: whatever it shows as a formula must be one.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <string>
#include <vector>

#include "runtime/task/syntax.h"

namespace hiera {
namespace {

std::vector<std::string> Lines() {
  std::ifstream file(HIERA_FORMULAS_DOCUMENT);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The text between single backquotes in the rows of the table of operators. Words that stand for
// numbers are given values.
std::vector<std::string> TableFormulas() {
  std::vector<std::string> formulas;
  bool inside = false;
  for (const std::string& line : Lines()) {
    if (line.rfind("## ", 0) == 0) inside = line == "## Operators by kind";
    if (!inside || line[0] != '|') continue;
    static const std::regex span("`([^`]*)`");
    for (std::sregex_iterator at(line.begin(), line.end(), span), end; at != end; ++at) {
      const std::string text = (*at)[1];
      if (text.find(" = ") == std::string::npos || text.rfind("tests/", 0) == 0) continue;
      formulas.push_back(text);
    }
  }
  return formulas;
}

// The blocks between lines of three backquotes.
std::vector<std::string> Blocks() {
  std::vector<std::string> blocks;
  bool inside = false;
  for (const std::string& line : Lines()) {
    if (line.rfind("```", 0) == 0) {
      inside = !inside;
      if (inside) blocks.emplace_back();
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

TEST(FormulasDocument, EveryFormulaOfTheTableParses) {
  const std::vector<std::string> formulas = TableFormulas();
  EXPECT_GE(formulas.size(), 20u);
  for (std::string text : formulas) {
    for (const auto& [word, value] : {std::pair{"pad", "1"}, {"dilation", "2"}, {"stride", "2"}}) {
      text = std::regex_replace(text, std::regex("\\b" + std::string(word) + "\\b"), value);
    }
    const auto syntax = ParseSyntax(text);
    EXPECT_TRUE(syntax.ok()) << text << "\n" << syntax.status().message();
  }
}

TEST(FormulasDocument, EveryExampleParses) {
  const std::vector<std::string> blocks = Blocks();
  ASSERT_EQ(blocks.size(), 3u);  // an example, the grammar of declarations, another example
  for (const size_t i : {0, 2}) {
    const auto syntax = ParseSyntax(blocks[i]);
    EXPECT_TRUE(syntax.ok()) << blocks[i] << syntax.status().message();
  }
  // The defaults that the grammar shows are those of the language.
  const std::string& grammar = blocks[1];
  const size_t begin = grammar.find("contract "), end = grammar.find("(one line)");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::string shown =
      std::regex_replace(grammar.substr(begin, end - begin), std::regex("[\\[\\]]|\\n"), " ");
  const auto syntax = ParseSyntax(shown + "\ny[i] = 2*x[i]");
  EXPECT_TRUE(syntax.ok()) << shown << syntax.status().message();
}

}  // namespace
}  // namespace hiera
