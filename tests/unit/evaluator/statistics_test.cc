#include "runtime/evaluator/statistics.h"

#include <gtest/gtest.h>

#include "runtime/evaluator/random.h"

namespace hiera {
namespace {

TEST(Statistics, QuantilesInterpolateBetweenOrderStatistics) {
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 1), 4);
  EXPECT_DOUBLE_EQ(Quantile({4, 1, 3, 2}, 0.25), 1.75);  // R: quantile(c(4,1,3,2), 0.25)
  EXPECT_DOUBLE_EQ(Median({5, 1, 3}), 3);
  EXPECT_DOUBLE_EQ(Median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(Median({}), 0);
}

TEST(Statistics, SpreadIsTheInterquartileRangeOverTheMedian) {
  EXPECT_DOUBLE_EQ(RelativeSpread({8, 9, 10, 11, 12}), 0.2);
  EXPECT_DOUBLE_EQ(RelativeSpread({7}), 0);
}

TEST(Statistics, AConstantRatioHasAnIntervalOfNoWidth) {
  const PairedRatio ratio = RatioOfPairs({20, 30, 40, 50}, {10, 15, 20, 25});
  EXPECT_DOUBLE_EQ(ratio.ratio, 2);
  EXPECT_DOUBLE_EQ(ratio.low, 2);
  EXPECT_DOUBLE_EQ(ratio.high, 2);
}

TEST(Statistics, PairsCancelADriftThatBothShare) {
  std::vector<double> first, second;
  for (int i = 0; i < 50; ++i) {  // the clock slows down to a fifth
    const double drift = 1 + 0.1 * i;
    first.push_back(11 * drift);
    second.push_back(10 * drift);
  }
  EXPECT_NEAR(RatioOfPairs(first, second).low, 1.1, 1e-12);
}

TEST(Statistics, ANearTieWithinTheNoiseIsNoWin) {
  Random random(7);
  std::vector<double> first, second;
  for (int i = 0; i < 60; ++i) {
    first.push_back(100 * (1 + 0.1 * random.Normal()));
    second.push_back(99 * (1 + 0.1 * random.Normal()));
  }
  const PairedRatio ratio = RatioOfPairs(first, second);
  EXPECT_LT(ratio.low, kWinMargin);
  EXPECT_LT(ratio.low, ratio.ratio);
  EXPECT_GT(ratio.high, ratio.ratio);
}

// The interval must hold the true ratio about 95 times of 100.
TEST(Statistics, TheIntervalCoversTheTruth) {
  Random random(11);
  int covered = 0;
  for (int experiment = 0; experiment < 200; ++experiment) {
    std::vector<double> first, second;
    for (int i = 0; i < 40; ++i) {
      first.push_back(130 * (1 + 0.05 * random.Normal()));
      second.push_back(100 * (1 + 0.05 * random.Normal()));
    }
    const PairedRatio ratio = RatioOfPairs(first, second);
    covered += ratio.low <= 1.3 && 1.3 <= ratio.high ? 1 : 0;
  }
  EXPECT_GE(covered, 178);
  EXPECT_LT(covered, 200);
}

TEST(Statistics, EqualSamplesGiveEqualIntervals) {
  const std::vector<double> first = {10, 12, 11, 13, 9, 10}, second = {8, 9, 10, 8, 9, 7};
  EXPECT_EQ(RatioOfPairs(first, second).low, RatioOfPairs(first, second).low);
}

TEST(Statistics, AZeroTimeGivesNoRatio) {
  EXPECT_EQ(RatioOfPairs({10, 10}, {5, 0}).ratio, 0);
  EXPECT_EQ(RatioOfPairs({}, {5}).ratio, 0);
}

}  // namespace
}  // namespace hiera
