// Measuring in turns, with executables that take as long as the test says.
#include "runtime/evaluator/measure.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

// Spins for as many nanoseconds as the function says of the n-th call.
class Spinner final : public Executable {
 public:
  explicit Spinner(std::function<double(int)> ns) : ns_(std::move(ns)) {}
  hiera_status Run(const Call&) const noexcept override {
    const double end = static_cast<double>(MonotonicNs()) + ns_(calls_++);
    while (static_cast<double>(MonotonicNs()) < end) {
    }
    return HIERA_OK;
  }

 private:
  std::function<double(int)> ns_;
  mutable int calls_ = 0;
};

Spinner Taking(double ns) {
  return Spinner([ns](int) { return ns; });
}

MeasuredPairs Measure(const Executable* incumbent, const Executable& candidate) {
  MeasureOptions options;
  options.seconds = 0.02;
  auto pairs = MeasureInTurns(incumbent, candidate, {nullptr, nullptr, nullptr}, options);
  EXPECT_TRUE(pairs.ok()) << pairs.status().message();
  return *std::move(pairs);
}

TEST(Measure, WhatIsClearlySlowerNeedsOnePairOnly) {
  const Spinner incumbent = Taking(50e3);
  const MeasuredPairs pairs = Measure(&incumbent, Taking(40e6));
  ASSERT_EQ(pairs.candidate_ns.size(), 1u);
  EXPECT_EQ(pairs.incumbent_ns.size(), 1u);
  EXPECT_GE(pairs.candidate_ns[0], 40e6);
}

TEST(Measure, ASlowStartAloneLosesNothing) {
  const Spinner incumbent = Taking(4e6);
  const Spinner candidate([](int call) { return call == 0 ? 80e6 : 1e6; });
  EXPECT_GE(Measure(&incumbent, candidate).candidate_ns.size(), 3u);
}

TEST(Measure, ASlowCandidateAloneIsSampledThrice) {
  EXPECT_EQ(Measure(nullptr, Taking(40e6)).candidate_ns.size(), 3u);
}

}  // namespace
}  // namespace hiera
