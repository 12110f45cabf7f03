// Random formulas: the canonical text is a fixed point of parsing, and every spelling of a task has
// the same one.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "runtime/task/parse.h"
#include "tests/property/random_formula.h"

namespace hiera {
namespace {

constexpr int kFormulas = 400;
constexpr int kSpellings = 3;

uint64_t BaseSeed() {
  const int given = testing::UnitTest::GetInstance()->random_seed();
  return given != 0 ? static_cast<uint64_t>(given) : std::random_device()() % 99999 + 1;
}

// Empty where the text does not parse, which a formula too large for the limits may not.
std::string Canonical(const std::string& text) {
  const Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message() << "\n" << text;
  return task.ok() ? CanonicalText(*task) : "";
}

void CheckSpellings(bool free, const std::string& contract) {
  const uint64_t base = BaseSeed();
  SCOPED_TRACE("rerun with --gtest_random_seed=" + std::to_string(base));
  std::set<std::string> distinct;
  for (int f = 0; f < kFormulas && !testing::Test::HasFailure(); ++f) {
    const RandomFormula formula(base * 1000003 + f);
    const std::string first = formula.Spelling(1, free, contract);
    const std::string canonical = Canonical(first);
    distinct.insert(canonical);
    EXPECT_EQ(Canonical(canonical), canonical) << first;
    for (int s = 2; s < 2 + kSpellings; ++s) {
      const std::string other = formula.Spelling(s, free, contract);
      EXPECT_EQ(Canonical(other), canonical) << first << "\n---\n" << other;
    }
  }
  // Different formulas are different tasks, but for the few that are small enough to meet.
  EXPECT_GT(distinct.size(), kFormulas * 3 / 4u);
}

TEST(CanonicalProperty, EverySpellingUnderReassociation) { CheckSpellings(true, ""); }

TEST(CanonicalProperty, NamesAndBlanksUnderExactArithmetic) {
  CheckSpellings(false, "contract arithmetic=exact\n");
}

// Any prefix of a text, and any text with one character changed, parses or says why not.
TEST(ParseProperty, DamagedTextsNeverCrash) {
  const uint64_t base = BaseSeed();
  SCOPED_TRACE("rerun with --gtest_random_seed=" + std::to_string(base));
  std::mt19937_64 random(base);
  const std::string alphabet = "ab01.,:;()[]<>=+-*/^%! \n#_etx";
  for (int f = 0; f < kFormulas; ++f) {
    std::string text = RandomFormula(base * 7919 + f).Spelling(f, true, "");
    for (int edit = 0; edit < 3; ++edit) {
      text[random() % text.size()] = alphabet[random() % alphabet.size()];
    }
    if (f % 4 == 0) text.resize(random() % text.size());
    const Result<Task> task = ParseTask(text);
    if (!task.ok()) {
      EXPECT_FALSE(task.status().message().empty());
    } else {
      const std::string canonical = CanonicalText(*task);
      EXPECT_EQ(Canonical(canonical), canonical) << text;
    }
  }
}

}  // namespace
}  // namespace hiera
