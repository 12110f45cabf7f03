// What the GPU side of the evaluator does without a device.
#include <gtest/gtest.h>

#include "runtime/evaluator/device_compiler.h"
#include "runtime/evaluator/gpu_monitor.h"
#include "runtime/evaluator/measure.h"
#include "runtime/evaluator/worker_protocol.h"

namespace hiera {
namespace {

GpuMonitor::Reading At(unsigned mhz, uint64_t reasons = 0) { return {mhz, reasons, 0}; }

TEST(GpuMonitor, SteadyClocksAloneDisturbNothing) {
  const auto account = AccountOf(At(1980), At(1800), 0);
  EXPECT_FALSE(account.disturbed);
  EXPECT_EQ(account.note, "1800 MHz");
}

TEST(GpuMonitor, ClocksThatFallByMoreThanATenthDisturb) {
  const auto account = AccountOf(At(1980), At(1780), 0);
  EXPECT_TRUE(account.disturbed);
  EXPECT_EQ(account.note, "1780 MHz, fallen from 1980");
}

TEST(GpuMonitor, ThePowerCapIsToldAndHeatDisturbs) {
  const auto capped = AccountOf(At(1500, 0x4), At(1500, 0x4), 0);
  EXPECT_FALSE(capped.disturbed);
  EXPECT_NE(capped.note.find("power cap"), std::string::npos);
  EXPECT_TRUE(AccountOf(At(1500), At(1500, 0x40), 0).disturbed);
  EXPECT_TRUE(AccountOf(At(1500, 0x8), At(1500), 0).disturbed);
  EXPECT_FALSE(AccountOf(At(1500, 0x1), At(1500, 0x2), 0).disturbed);  // idle, chosen clocks
}

TEST(GpuMonitor, OtherProcessesDisturb) {
  const auto account = AccountOf(At(0), At(0), 2);
  EXPECT_TRUE(account.disturbed);
  EXPECT_EQ(account.note, "2 other processes at work");
}

TEST(WorkerProtocol, ARequestToLoadComesBackWhole) {
  WorkerRequest sent;
  sent.kind = WorkerRequest::Kind::kLoad;
  sent.run = 1;
  sent.graph = true;
  sent.plan = {"cuda align 4\nfill w+0 4", 77, 0};
  sent.artifact_path = "/a";
  sent.incumbent = {Incumbent::Kind::kVariant, {"library x", 5, 3}, "/b", ""};
  WorkerRequest got;
  ASSERT_TRUE(Decode(Encode(sent), got));
  EXPECT_EQ(got.kind, sent.kind);
  EXPECT_EQ(got.run, 1);
  EXPECT_TRUE(got.graph);
  EXPECT_EQ(got.plan, sent.plan);
  EXPECT_EQ(got.artifact_path, "/a");
  EXPECT_EQ(got.incumbent.kind, sent.incumbent.kind);
  EXPECT_EQ(got.incumbent.plan, sent.incumbent.plan);
  EXPECT_EQ(got.incumbent.artifact_path, "/b");
}

TEST(WorkerProtocol, AReplySaysWhetherTheWorkerGoesOn) {
  WorkerReply sent, got;
  sent.verdict = Verdict::kUnloadable;
  sent.goes_on = true;
  sent.note = "1980 MHz";
  sent.candidate_ns = {3.5};
  ASSERT_TRUE(Decode(Encode(sent), got));
  EXPECT_EQ(got.verdict, Verdict::kUnloadable);
  EXPECT_TRUE(got.goes_on);
  EXPECT_FALSE(got.disturbed);
  EXPECT_EQ(got.note, "1980 MHz");
  ASSERT_EQ(got.candidate_ns.size(), 1u);
  EXPECT_EQ(got.candidate_ns[0], 3.5);
  ASSERT_TRUE(Decode(Encode(WorkerReply{}), got));
  EXPECT_FALSE(got.verdict.has_value());
}

TEST(DeviceBuildOptions, ExactArithmeticNeverContractsNorLetsItself) {
  const auto exact = DeviceBuildOptions({"--maxrregcount=64"}, Arithmetic::kExact);
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(*exact, (std::vector<std::string>{"--fmad=false", "--maxrregcount=64"}));
  for (const char* flag : {"--fmad=true", "--ftz=true", "--prec-div=false"}) {
    EXPECT_FALSE(DeviceBuildOptions({flag}, Arithmetic::kExact).ok()) << flag;
    EXPECT_TRUE(DeviceBuildOptions({flag}, Arithmetic::kReassociate).ok()) << flag;
  }
  EXPECT_FALSE(DeviceBuildOptions({"--include-path=/"}, Arithmetic::kReassociate).ok());
}

// Samples that tell 1 ms a call for the first and 2 ms for the second.
TEST(Measure, SamplesOfAnyClockAreTakenInTurns) {
  std::string order;
  const TakeSample first = [&order](int64_t) { return order += 'A', 1e6; };
  const TakeSample second = [&order](int64_t) { return order += 'B', 2e6; };
  const auto pairs = MeasureInTurns(first, second, 1e-3, 200e3);
  ASSERT_TRUE(pairs.ok());
  ASSERT_GE(pairs->candidate_ns.size(), 3u);
  EXPECT_EQ(pairs->incumbent_ns[0], 1e6);
  EXPECT_EQ(pairs->candidate_ns[0], 2e6);
  EXPECT_NE(order.find("ABABAB"), std::string::npos) << order;
  const TakeSample refusing = [](int64_t) { return -1.0; };
  EXPECT_FALSE(MeasureInTurns(first, refusing, 1e-3, 200e3).ok());
  EXPECT_FALSE(MeasureInTurns(refusing, second, 1e-3, 200e3).ok());
}

// A call that takes 1 us is sampled two hundred at a time.
TEST(Measure, ShortCallsAreSampledManyAtATime) {
  int64_t most = 0;
  const TakeSample sample = [&most](int64_t calls) { return most = std::max(most, calls), 1e3; };
  ASSERT_TRUE(MeasureInTurns(TakeSample(), sample, 1e-3, 200e3).ok());
  EXPECT_EQ(most, 200);
}

}  // namespace
}  // namespace hiera
