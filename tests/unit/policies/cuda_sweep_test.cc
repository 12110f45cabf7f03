// CUDA sweeps of stencils, run on the CPU, against the reference: every rule at every border, one
// to three dimensions, several reaches, sources and steps, kept cells, grids that blocks do and do
// not divide.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policies/kernel/cuda_sweep_taps.h"
#include "runtime/task/parse.h"
#include "tests/unit/device/interpreted_case.h"
#include "tests/unit/policies/sweep_cases.h"
#include "tests/unit/policies/swept_on_cpu.h"

namespace hiera {
namespace {

StencilTask Map(const std::string& text) {
  const Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << text << "\n" << task.status().message();
  if (!task.ok()) return {};
  Result<StencilTask> stencil = MapStencil(*task);
  EXPECT_TRUE(stencil.ok()) << text << "\n" << stencil.status().message();
  return stencil.ok() ? *std::move(stencil) : StencilTask{};
}

void CompileAndCheck(const std::vector<SweepCase>& sweeps) {
  std::vector<CudaSource> sources;
  for (const SweepCase& sweep : sweeps) {
    Result<CudaSource> source = WriteCudaSweep(Map(sweep.text), sweep.options);
    ASSERT_TRUE(source.ok()) << sweep.text << "\n"
                             << PlanName(sweep.options) << ": " << source.status().message();
    const Status fits =
        CheckCudaPlan(source->plan, *ParseTask(sweep.text), source->workspace_bytes);
    EXPECT_TRUE(fits.ok()) << fits.message();
    sources.push_back(*std::move(source));
  }
  const SweptOnCpu object(sources);
  ASSERT_EQ(object.error(), "");
  for (size_t i = 0; i < sweeps.size(); ++i) {
    const auto make = [&](const Task& task) -> Result<std::unique_ptr<Executable>> {
      auto made = object.Make(i, task);
      if (made == nullptr) return Unsupported("no such function");
      return made;
    };
    EXPECT_EQ(InterpretedCase(*ParseTask(sweeps[i].text), 17).Check(make), "")
        << sweeps[i].text << "\n"
        << PlanName(sweeps[i].options);
  }
}

class CudaSweepTest : public testing::TestWithParam<SweepGroup> {};

TEST_P(CudaSweepTest, AgreesWithTheReference) { CompileAndCheck(GetParam().cases()); }

INSTANTIATE_TEST_SUITE_P(Groups, CudaSweepTest, testing::ValuesIn(SweepGroups()),
                         [](const auto& group) { return std::string(group.param.name); });

TEST(CudaSweep, RefusesWithTheReason) {
  const auto why = [](const std::string& text, const CudaSweepOptions& options) {
    return CheckCudaSweep(Map(text), options).message();
  };
  const std::string plain = SweptGrids("f32", {16, 32}, "keep") + kStar2;
  EXPECT_EQ(why(plain, {1, 32, 1, 4, 1}), "");
  EXPECT_NE(why(plain, {4, 32, 1, 4, 1}).find("16-byte alignment"), std::string::npos);
  EXPECT_EQ(why(plain + kAligned, {4, 32, 1, 4, 1}), "");
  EXPECT_NE(why(plain + kAligned, {3, 32, 1, 4, 1}).find("3 neighbours"), std::string::npos);
  EXPECT_NE(why(plain, {0, 32, 1, 4, 1}).find("0 neighbours"), std::string::npos);
  EXPECT_NE(why(plain, {1, 32, 1, 0, 1}).find("1 to 4096"), std::string::npos);
  EXPECT_NE(why(plain, {1, 32, 1, 4, -1}).find("0 to 8 ahead"), std::string::npos);
  EXPECT_NE(why(plain, {1, 48, 1, 4, 1}).find("whole warps"), std::string::npos);
  EXPECT_NE(why(plain, {1, 64, 32, 4, 1}).find("1024"), std::string::npos);
  EXPECT_NE(why(plain + "steps 65 (u = v)\n", {1, 32, 1, 4, 1}).find("at most 64"),
            std::string::npos);
  EXPECT_EQ(WidestSweep(Map(plain)), 1);
  EXPECT_EQ(WidestSweep(Map(plain + kAligned)), 4);
  EXPECT_EQ(WidestSweep(Map(SweptGrids("f32", {16, 32}, "keep", 2) + kStar2 + kAligned)), 2);
  EXPECT_EQ(WidestSweep(Map(SweptGrids("f32", {16, 31}, "keep") + kStar2 + kAligned)), 1);
  EXPECT_EQ(WidestSweep(Map(SweptGrids("f64", {16, 32}, "keep") + kStar2 + kAligned)), 2);
  // A reach that would take more offsets than a thread has registers.
  std::string wide = "v[i] = u[i]";
  for (int d = 1; d <= 64; ++d)
    wide += " + u[i-" + std::to_string(d) + "] + u[i+" + std::to_string(d) + "]";
  const std::string line = SweptGrids("f64", {500}, "zero") + wide + "\n";
  EXPECT_NE(why(line, {1, 1024, 1, 1, 0}).find("registers"), std::string::npos);
  EXPECT_EQ(why(line, {1, 128, 1, 1, 0}), "");
}

// A star's column lies in registers, its edges are loaded when they are needed, and the next plane
// is asked for one plane ahead.
TEST(CudaSweep, WhatAThreadHolds) {
  const StencilTask star =
      Map(SweptGrids("f32", {64, 64}, "keep") +
          "v[i,j] = u[i,j] + u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1]\n" + kAligned);
  const SweepTaps taps = PlanSweepTaps(star, {4, 32, 1, 16, 1});
  ASSERT_EQ(taps.taps.size(), 3u);
  EXPECT_EQ(taps.held, 4 * 4);
  for (const SweepTaps::Tap& tap : taps.taps) {
    const bool own = taps.pieces[tap.piece].at == 0;
    EXPECT_EQ(taps.pieces[tap.piece].width, own ? 4 : 1);
    EXPECT_EQ(tap.base, own ? 0 : -1);
    EXPECT_EQ(tap.ahead, own ? 1 : 0);
    EXPECT_EQ(tap.last, own ? 1 : 0);
  }
  // Four blocks of 256 threads by registers at least: 64 KB under way with two planes of 16 bytes.
  EXPECT_GE(ResidentBlocks(taps, {4, 256, 1, 16, 1}), 4);
}

}  // namespace
}  // namespace hiera
