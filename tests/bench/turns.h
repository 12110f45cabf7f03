// Timing several ways to do one thing in turns, so that what disturbs the machine disturbs all.
#ifndef HIERA_TESTS_BENCH_TURNS_H_
#define HIERA_TESTS_BENCH_TURNS_H_

#include <functional>
#include <string>
#include <vector>

namespace hiera {

// A way to do it; runs it so many times.
struct Contestant {
  std::string name;
  std::function<void(long)> run;
};

// Median nanoseconds of one run of each, sampled A B C A B C for about `seconds`, at least five
// samples each. A sample of the slowest lasts about 30 us, or one run where that is longer.
std::vector<double> TimeInTurns(const std::vector<Contestant>& contestants, double seconds);

}  // namespace hiera

#endif  // HIERA_TESTS_BENCH_TURNS_H_
