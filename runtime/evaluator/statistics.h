// Statistics of timing samples. Pure functions; inputs are not changed.
#ifndef HIERA_RUNTIME_EVALUATOR_STATISTICS_H_
#define HIERA_RUNTIME_EVALUATOR_STATISTICS_H_

#include <vector>

namespace hiera {

// The q-quantile, 0 <= q <= 1, linearly interpolated between order statistics (type 7 of Hyndman
// and Fan, 1996). 0 where there are no values.
double Quantile(std::vector<double> values, double q);
double Median(std::vector<double> values);

// Interquartile range over the median: how noisy samples of one thing are. 0 for fewer than 2.
double RelativeSpread(const std::vector<double>& values);

// How much faster the second of each pair is than the first: median of the ratios first/second, and
// the ends of its 95 % percentile bootstrap interval (2,000 resamples, fixed seed, so that equal
// samples give equal verdicts). All 0 where there are no pairs or a sample is not positive.
struct PairedRatio {
  double ratio = 0, low = 0, high = 0;
};
PairedRatio RatioOfPairs(const std::vector<double>& first, const std::vector<double>& second);

// A win must exceed the noise: the lower end of the interval has to be above this.
inline constexpr double kWinMargin = 1.02;

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_STATISTICS_H_
