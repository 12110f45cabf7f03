// How much of the processors tuning may take, and from whom.
#include "runtime/evaluator/duty.h"

#include <gtest/gtest.h>

namespace hiera {
namespace {

constexpr int64_t kSecond = 1'000'000'000;

TEST(Duty, AQuarterOfThreeSecondsIsFree) {
  Duty duty;
  duty.Enter("a", 100 * kSecond);
  duty.Charge(0.75e9);
  EXPECT_EQ(duty.WaitNs(100 * kSecond), 0);
}

TEST(Duty, WhatGoesBeyondIsPaidBackAtATwentieth) {
  Duty duty;
  duty.Enter("a", 100 * kSecond);
  duty.Charge(0.85e9);
  // 0.1 s more than is free: at a twentieth 2 s, after the first three.
  EXPECT_EQ(duty.WaitNs(100 * kSecond), 5 * kSecond);
  EXPECT_EQ(duty.WaitNs(104 * kSecond), 1 * kSecond);
  EXPECT_EQ(duty.WaitNs(106 * kSecond), 0);
}

TEST(Duty, OverAMinuteAKeyTakesLittleMoreThanATwentieth) {
  Duty duty;
  duty.Enter("a", 0);
  double used = 0;
  for (int64_t now = 0; now < 60 * kSecond; now += kSecond / 100) {
    if (duty.WaitNs(now) > 0) continue;
    duty.Charge(10e6);
    used += 10e6;
  }
  EXPECT_NEAR(used, 0.75e9 + 57 * 0.05e9, 20e6);
}

TEST(Duty, EachKeyHasItsOwnAndKeepsIt) {
  Duty duty;
  duty.Enter("a", 0);
  duty.Charge(2e9);
  duty.Enter("b", kSecond);
  EXPECT_EQ(duty.WaitNs(kSecond), 0);
  EXPECT_TRUE(duty.IsYoung(3 * kSecond));
  duty.Enter("a", 4 * kSecond);
  EXPECT_EQ(duty.WaitNs(4 * kSecond), 24 * kSecond);
  EXPECT_FALSE(duty.IsYoung(4 * kSecond));
}

ProcessorTimes Times(int64_t total, int64_t idle, int64_t niced) {
  ProcessorTimes times;
  times.total = total;
  times.idle = idle;
  times.niced = niced;
  return times;
}

TEST(Duty, OnlyOrdinaryProgramsCountAsOthers) {
  const ProcessorTimes before = Times(1000, 500, 100);
  EXPECT_FALSE(OthersAreBusy(before, Times(1100, 600, 100)));  // idle
  EXPECT_FALSE(OthersAreBusy(before, Times(1100, 510, 190)));  // compilers that can wait
  EXPECT_FALSE(OthersAreBusy(before, Times(1100, 590, 100)));  // a tenth
  EXPECT_TRUE(OthersAreBusy(before, Times(1100, 588, 100)));
  EXPECT_TRUE(OthersAreBusy(before, Times(1100, 500, 100)));
  EXPECT_FALSE(OthersAreBusy(before, before));
}

}  // namespace
}  // namespace hiera
