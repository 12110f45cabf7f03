#include "runtime/evaluator/contention.h"

#include <gtest/gtest.h>

namespace hiera {
namespace {

constexpr std::string_view kStat =
    "cpu  100 20 30 400 50 6 7 80 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\nintr 1\n";
// The name of a process may hold anything.
constexpr std::string_view kProcess =
    "4242 (a ) name) S 1 4242 4242 0 -1 4194304 100 0 0 0 70 5 0 0 20 0 3 0 12345";

TEST(Contention, ReadsTheKernelsFields) {
  const ProcessorTimes times = ParseTimes(kStat, kProcess);
  EXPECT_EQ(times.total, 693);
  EXPECT_EQ(times.idle, 450);
  EXPECT_EQ(times.steal, 80);
  EXPECT_EQ(times.own, 75);
}

TEST(Contention, UnreadableTextsAreNoContention) {
  EXPECT_FALSE(IsContended(ParseTimes("", ""), ParseTimes("nonsense", "1 (x")));
}

TEST(Contention, OwnWorkIsNotContention) {
  EXPECT_FALSE(IsContended({1000, 500, 0, 100}, {1040, 500, 0, 140}));
}

TEST(Contention, OthersWorkIs) {
  EXPECT_FALSE(IsContended({1000, 500, 0, 100}, {1040, 500, 0, 132}));  // a fifth
  EXPECT_TRUE(IsContended({1000, 500, 0, 100}, {1040, 500, 0, 120}));   // half
}

TEST(Contention, StolenTimeIs) {
  EXPECT_FALSE(IsContended({1000, 500, 10, 100}, {1040, 501, 12, 137}));
  EXPECT_TRUE(IsContended({1000, 500, 10, 100}, {1040, 501, 13, 136}));
}

TEST(Contention, TooFewTicksSayNothing) {
  EXPECT_FALSE(IsContended({1000, 500, 0, 100}, {1007, 500, 7, 100}));
}

}  // namespace
}  // namespace hiera
