// The three real processes on a GPU: swap, warm start, graphs, two devices, frozen, and what is
// missing. Each test has a store of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "session.h"

namespace {

void ExpectRight(const Outcome& outcome) {
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output << outcome.errors;
  ASSERT_NE(outcome["error_max"], "");
  EXPECT_LT(std::atof(outcome["error_max"].c_str()), 1e-4) << outcome.output;
}

class GpuLifeTest : public testing::Test {
 protected:
  GpuLifeTest() {
    for (const char* name : {"HIERA_CUDA_DRIVER", "HIERA_NVRTC"}) {
      const char* value = std::getenv(name);
      if (value != nullptr) session_.Set(name, value);
    }
  }

  Outcome App(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), HIERA_BINARIES "/end_to_end_gpu_app");
    return session_.Run(arguments);
  }
  // Plans a task to its end, which swaps something in.
  Outcome Cold(std::vector<std::string> arguments) {
    arguments.push_back("settle");
    const Outcome cold = App(arguments);
    ExpectRight(cold);
    EXPECT_EQ(cold["settle"], "ok") << cold.output << session_.Hiera({"status"}).output;
    EXPECT_EQ(cold["first_generation"], "0");
    EXPECT_GE(std::atoi(cold["generation"].c_str()), 1)
        << session_.Hiera({"explain", cold["key"]}).output;
    EXPECT_GT(std::atof(cold["speedup"].c_str()), 1.02);
    EXPECT_EQ(cold["load_failures"], "0");
    return cold;
  }

  Session session_;
};

class GpuTaskTest : public GpuLifeTest, public testing::WithParamInterface<const char*> {};

TEST_P(GpuTaskTest, ColdSwapsAndWarmStartsWithTheVariant) {
  const Outcome cold = Cold({GetParam()});
  const Outcome warm = App({GetParam()});
  ExpectRight(warm);
  EXPECT_EQ(warm["key"], cold["key"]);
  EXPECT_EQ(warm["first_generation"], "1") << "the first run must use the stored variant";
  EXPECT_EQ(warm["index_hits"], "1");
}

INSTANTIATE_TEST_SUITE_P(Tasks, GpuTaskTest, testing::Values("blur", "gemm", "norm"));

TEST_F(GpuLifeTest, AGraphCapturedBeforeASwapStaysRight) {
  const Outcome outcome = Cold({"norm", "graph"});
  ASSERT_NE(outcome["replay_error_max"], "");
  EXPECT_LT(std::atof(outcome["replay_error_max"].c_str()), 1e-4) << outcome.output;
  const Outcome warm = App({"norm", "graph"});
  ExpectRight(warm);
  EXPECT_LT(std::atof(warm["replay_error_max"].c_str()), 1e-4) << "captured with the variant";
}

// Rows are read 16 bytes at a time where the contract says that tensors are aligned so.
TEST_F(GpuLifeTest, AlignedRowsAreReadSixteenBytesAtATime) {
  const Outcome outcome = Cold({"norm", "align"});
  const std::string explained = session_.Hiera({"explain", outcome["key"]}).output;
  EXPECT_NE(explained.find("neighbours=4: "), std::string::npos) << explained;
  EXPECT_EQ(explained.find("neighbours=4: could not"), std::string::npos) << explained;
  EXPECT_EQ(outcome["unfit_runs"], "0");
}

TEST_F(GpuLifeTest, TwoDevicesOfOneKindShareTheirVariants) {
  session_.Set("FAKE_CUDA_DEVICES", "2");
  const Outcome second = Cold({"norm", "device=cuda:1"});
  const Outcome first = App({"norm", "device=cuda:0"});
  ExpectRight(first);
  EXPECT_EQ(first["key"], second["key"]);
  EXPECT_EQ(first["first_generation"], "1");
}

TEST_F(GpuLifeTest, FrozenNeedsTheIndexAlone) {
  Cold({"norm"});
  session_.Hiera({"stop"});
  ASSERT_TRUE(Eventually([&] { return session_.PlannerPid() == 0; }));
  std::filesystem::remove_all(session_.store() + "/db");
  session_.Set("HIERA_MODE", "frozen");
  const Outcome frozen = App({"norm"});
  ExpectRight(frozen);
  EXPECT_EQ(frozen["first_generation"], "1");
  EXPECT_EQ(session_.PlannerPid(), 0) << "frozen must not start a planner";
}

TEST_F(GpuLifeTest, WithoutACompilerTheBaselineServes) {
  session_.Set("HIERA_NVRTC", "/nonexistent/libnvrtc.so");
  const Outcome outcome = App({"norm", "settle"});
  ExpectRight(outcome);
  EXPECT_EQ(outcome["generation"], "0");
}

// The task fits, a search beside it does not.
TEST_F(GpuLifeTest, WithoutRoomOnTheDeviceTheBaselineServes) {
  session_.Set("FAKE_CUDA_MEMORY", "1");
  const Outcome outcome = App({"norm", "settle"});
  ExpectRight(outcome);
  EXPECT_EQ(outcome["generation"], "0");
}

}  // namespace
