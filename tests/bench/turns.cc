#include "tests/bench/turns.h"

#include <algorithm>
#include <cstdint>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

constexpr int kWarmRuns = 3;
constexpr double kSampleNs = 30e3;  // of the slowest

double Median(std::vector<double>& samples) {
  const auto middle = samples.begin() + static_cast<long>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end());
  return *middle;
}

double RunTime(const Contestant& contestant, long runs) {
  const int64_t start = MonotonicNs();
  contestant.run(runs);
  return static_cast<double>(MonotonicNs() - start) / static_cast<double>(runs);
}

}  // namespace

std::vector<double> TimeInTurns(const std::vector<Contestant>& contestants, double seconds) {
  double slowest = 0;
  for (const Contestant& c : contestants) {
    double least = RunTime(c, 1);  // cold: not what later runs take
    for (int i = 0; i < kWarmRuns; ++i) least = std::min(least, RunTime(c, 1));
    slowest = std::max(slowest, least);
  }
  const long runs = std::max(1L, static_cast<long>(kSampleNs / slowest));
  std::vector<std::vector<double>> samples(contestants.size());
  const int64_t end = MonotonicNs() + static_cast<int64_t>(seconds * 1e9);
  while (MonotonicNs() < end || samples[0].size() < 5) {
    for (size_t i = 0; i < contestants.size(); ++i) {
      samples[i].push_back(RunTime(contestants[i], runs));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& s : samples) medians.push_back(Median(s));
  return medians;
}

}  // namespace hiera
