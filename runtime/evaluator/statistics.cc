#include "runtime/evaluator/statistics.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "runtime/evaluator/random.h"

namespace hiera {
namespace {

constexpr int kResamples = 2000;
constexpr uint64_t kBootstrapSeed = 0x5eed;

double MedianInPlace(std::vector<double>& values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  if (values.size() % 2 == 1) return values[middle];
  const double below = *std::max_element(values.begin(), values.begin() + middle);
  return (below + values[middle]) / 2;
}

}  // namespace

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double place = q * static_cast<double>(values.size() - 1);
  const size_t below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

double Median(std::vector<double> values) { return values.empty() ? 0 : MedianInPlace(values); }

double RelativeSpread(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double median = Median(values);
  return median > 0 ? (Quantile(values, 0.75) - Quantile(values, 0.25)) / median : 0;
}

PairedRatio RatioOfPairs(const std::vector<double>& first, const std::vector<double>& second) {
  const size_t pairs = std::min(first.size(), second.size());
  std::vector<double> ratios;
  for (size_t i = 0; i < pairs; ++i) {
    if (!(first[i] > 0) || !(second[i] > 0)) return {};
    ratios.push_back(first[i] / second[i]);
  }
  if (ratios.empty()) return {};

  Random random(kBootstrapSeed);
  std::vector<double> medians(kResamples), resample(pairs);
  for (double& median : medians) {
    for (double& value : resample) value = ratios[random.Below(pairs)];
    median = MedianInPlace(resample);
  }
  return {Median(ratios), Quantile(medians, 0.025), Quantile(medians, 0.975)};
}

}  // namespace hiera
