// CUDA sweeps of stencils, run on the CPU, against the reference: every rule at every border, one
// to three dimensions, several reaches, sources and steps, kept cells, grids that blocks do and do
// not divide.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "policies/kernel/cuda_stencil.h"
#include "policies/kernel/cuda_sweep_taps.h"
#include "runtime/task/parse.h"
#include "tests/unit/device/interpreted_case.h"
#include "tests/unit/policies/swept_on_cpu.h"

namespace hiera {
namespace {

struct Sweep {
  std::string text;
  CudaSweepOptions options;
};

StencilTask Map(const std::string& text) {
  const Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << text << "\n" << task.status().message();
  if (!task.ok()) return {};
  Result<StencilTask> stencil = MapStencil(*task);
  EXPECT_TRUE(stencil.ok()) << text << "\n" << stencil.status().message();
  return stencil.ok() ? *std::move(stencil) : StencilTask{};
}

void CompileAndCheck(const std::vector<Sweep>& sweeps) {
  std::vector<CudaSource> sources;
  for (const Sweep& sweep : sweeps) {
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
    const auto make = [&](const Task&) -> Result<std::unique_ptr<Executable>> {
      auto made = object.Make(i);
      if (made == nullptr) return Unsupported("no such function");
      return made;
    };
    EXPECT_EQ(InterpretedCase(*ParseTask(sweeps[i].text), 17).Check(make), "")
        << sweeps[i].text << "\n"
        << PlanName(sweeps[i].options);
  }
}

constexpr const char* kRules[] = {"zero", "clamp", "wrap", "keep"};

// A grid u and a result v; the rows of u are `pad` elements longer, those of v twice that.
std::string Grids(const std::string& type, const std::vector<int>& extents, const std::string& rule,
                  int pad = 0) {
  const auto list = [](const std::vector<int>& values) {
    std::string text = "[";
    for (size_t i = 0; i < values.size(); ++i) {
      text += (i == 0 ? "" : ",") + std::to_string(values[i]);
    }
    return text + "]";
  };
  const auto strides = [&](int gap) {
    std::vector<int> all(extents.size(), 1);
    for (size_t axis = extents.size() - 1; axis > 0; --axis) {
      all[axis - 1] = all[axis] * extents[axis] + gap;
    }
    return list(all);
  };
  return "tensor u: " + type + list(extents) + " strides " + strides(pad) + " outside " + rule +
         "\ntensor v: " + type + list(extents) + " strides " + strides(2 * pad) + "\n";
}

constexpr const char* kLine = "v[i] = 0.5*u[i] + 0.3*u[i-1] - 0.2*u[i+3]\n";
constexpr const char* kStar2 =
    "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+2,j]) - 0.25*u[i,j-1] + 0.3*u[i,j+1]\n";
constexpr const char* kStar3 =
    "v[i,j,k] = 0.4*u[i,j,k] + 0.1*u[i-1,j,k] + 0.2*u[i+1,j,k] + 0.3*u[i,j-1,k] - "
    "0.4*u[i,j+2,k] + 0.1*u[i,j,k-2] + 0.1*u[i,j,k+1]\n";
constexpr const char* kBox3 =
    "v[i,j,k] = 0.4*u[i-1,j-1,k-1] + 0.1*u[i+1,j+1,k+1] + 0.2*u[i,j-1,k+1] + 0.3*u[i+1,j,k-1] - "
    "0.4*u[i,j,k]\n";
constexpr const char* kAligned = "contract align=16\n";

TEST(CudaSweep, EveryRuleAtEveryBorderOneCellAThread) {
  std::vector<Sweep> sweeps;
  for (const char* rule : kRules) {
    sweeps.push_back({Grids("f32", {77}, rule) + kLine, {1, 32, 1, 1, 0}});
    sweeps.push_back({Grids("f64", {13, 41}, rule, 3) + kStar2, {1, 32, 2, 3, 2}});
    sweeps.push_back({Grids("f32", {7, 5, 35}, rule, 1) + kStar3, {1, 32, 2, 4, 1, false}});
    sweeps.push_back({Grids("f64", {5, 6, 9}, rule) + kBox3, {1, 32, 3, 2, 0}});
  }
  CompileAndCheck(sweeps);
}

TEST(CudaSweep, EveryRuleAtEveryBorderSeveralCellsAThread) {
  std::vector<Sweep> sweeps;
  for (const char* rule : kRules) {
    sweeps.push_back({Grids("f32", {136}, rule) + kLine + kAligned, {4, 32, 1, 1, 0}});
    sweeps.push_back({Grids("f32", {13, 140}, rule, 4) + kStar2 + kAligned, {4, 32, 2, 3, 1}});
    sweeps.push_back({Grids("f32", {9, 30}, rule) + kStar2 + kAligned, {2, 32, 1, 4, 2}});
    sweeps.push_back({Grids("f64", {13, 34}, rule, 2) + kStar2 + kAligned, {2, 32, 1, 16, 0}});
    sweeps.push_back({Grids("f32", {7, 5, 20}, rule) + kStar3 + kAligned, {4, 32, 2, 4, 1, false}});
    sweeps.push_back({Grids("f64", {6, 3, 10}, rule) + kStar3 + kAligned, {2, 32, 2, 3, 1}});
    sweeps.push_back({Grids("f32", {5, 6, 8}, rule) + kBox3 + kAligned, {4, 32, 3, 2, 2}});
  }
  CompileAndCheck(sweeps);
}

// All points within `radius` along every axis, with weights that differ.
std::string Box(int rank, int radius) {
  std::string text = rank == 2 ? "v[i,j] = 0" : "v[i,j,k] = 0";
  const int outer = rank == 3 ? radius : 0;
  for (int a = -outer; a <= outer; ++a) {
    for (int b = -radius; b <= radius; ++b) {
      for (int c = -radius; c <= radius; ++c) {
        const auto at = [](int d) { return d == 0 ? "" : (d > 0 ? "+" : "") + std::to_string(d); };
        const std::string first = rank == 3 ? "i" + at(a) + ",j" : "i";
        text += " + " + std::to_string(0.01 * (10 + a + 3 * b + 5 * c)) + "*u[" + first + at(b) +
                "," + (rank == 3 ? "k" : "j") + at(c) + "]";
      }
    }
  }
  return text + "\n";
}

// Up to four cells away, and further than the grid is long; planes that do not fit the registers.
TEST(CudaSweep, LongReaches) {
  std::vector<Sweep> sweeps;
  for (const char* rule : kRules) {
    sweeps.push_back({Grids("f32", {11, 20}, rule) + Box(2, 4) + kAligned, {4, 32, 1, 5, 1}});
    sweeps.push_back({Grids("f64", {11, 18}, rule) + Box(2, 3) + kAligned, {2, 32, 1, 11, 1}});
    sweeps.push_back({Grids("f32", {10, 19}, rule) + Box(2, 4), {1, 32, 2, 5, 1}});
    sweeps.push_back({Grids("f32", {2, 4}, rule) +
                          "v[i,j] = u[i-5,j] + 0.5*u[i+3,j+9] - 0.25*u[i,j-6] + 0.1*u[i,j]\n" +
                          kAligned,
                      {4, 32, 1, 2, 1}});
    sweeps.push_back({Grids("f64", {3}, rule) + "v[i] = u[i-7] + 0.5*u[i+4]\n", {1, 32, 1, 1, 0}});
  }
  sweeps.push_back({Grids("f32", {6, 7, 12}, "clamp") + Box(3, 2) + kAligned, {4, 32, 2, 3, 1}});
  CompileAndCheck(sweeps);
}

TEST(CudaSweep, SeveralStepsGoRoundTheWorkspace) {
  std::vector<Sweep> sweeps;
  for (const char* rule : kRules) {
    for (const int steps : {2, 3, 5}) {
      const std::string turns = "steps " + std::to_string(steps) + " (u = v)\n";
      sweeps.push_back({Grids("f32", {9, 20}, rule, 4) + kStar2 + turns + kAligned,
                        {4, 32, 2, 2, 1, steps != 3}});
      sweeps.push_back({Grids("f64", {6, 5, 13}, rule, 1) + kStar3 + turns, {1, 32, 2, 3, 1}});
    }
    sweeps.push_back({Grids("f32", {50}, rule) + kLine + "steps 4 (u = v)\n", {1, 32, 1, 1, 0}});
    // The centre is not among the reads, but kept cells need it.
    sweeps.push_back({Grids("f32", {8, 12}, rule) +
                          "v[i,j] = 0.5*u[i+1,j-1] + 0.25*u[i+2,j+2]\nsteps 3 (u = v)\n" + kAligned,
                      {4, 32, 1, 3, 1}});
  }
  CompileAndCheck(sweeps);
}

TEST(CudaSweep, FieldsScalarsAndEveryOperation) {
  const std::string field = "tensor k: f32[9,20]\n";
  const std::string far = "tensor k: f32[12,24] outside zero\n";
  CompileAndCheck({
      {Grids("f32", {9, 20}, "wrap") + field +
           "scalar a\nv[i,j] = u[i,j] + a*k[i,j]*(u[i-1,j] - 2*u[i,j] + u[i+1,j])\n" + kAligned,
       {4, 32, 1, 4, 1}},
      {Grids("f32", {9, 20}, "clamp") + far +
           "scalar a\nscalar b\nv[i,j] = a*u[i,j+1] + b*k[i+3,j-4] + k[i,j]\nsteps 4 (u = v)\n" +
           kAligned,
       {4, 32, 2, 4, 1}},
      {Grids("f32", {9, 21}, "keep") + "tensor k: f32[7,25] outside keep\n" +
           "v[i,j] = u[i,j+1] + 0.5*k[i-1,j+2]\n",
       {1, 32, 1, 4, 1}},
      {Grids("f64", {9, 20}, "keep") +
           "v[i,j] = u[i,j] + rsqrt(0.5 + (u[i,j] - u[i-1,j])^1*(u[i,j] - u[i-1,j]))\n",
       {1, 32, 1, 4, 1}},
      {Grids("f32", {9, 20}, "clamp") +
           "v[i,j] = select(u[i,j] < 0.5 and not (u[i-1,j] >= u[i+1,j]), max(u[i,j-1], u[i,j+1]), "
           "min(u[i-1,j], u[i,j])/3) + sqrt(abs(u[i,j])) - floor(u[i+1,j]) + relu(u[i,j-1])\n" +
           kAligned,
       {4, 32, 1, 4, 1}},
      // Nothing is read outside: u is larger than v.
      {"tensor u: f32[11,24]\ntensor v: f32[8,20]\n" +
           std::string("v[i,j] = u[i,j] + 0.5*u[i+3,j+2] - 0.25*u[i+1,j+4]\n") + kAligned,
       {4, 32, 1, 3, 2}},
      // Columns: the axis in which memory is contiguous comes last.
      {"tensor u: f32[30,20] strides [1,32] outside zero\ntensor v: f32[30,20] strides [1,40]\n"
       "v[i,j] = u[i-2,j] + 0.5*u[i,j+1]\n",
       {1, 32, 1, 3, 2}},
  });
}

TEST(CudaSweep, RefusesWithTheReason) {
  const auto why = [](const std::string& text, const CudaSweepOptions& options) {
    return CheckCudaSweep(Map(text), options).message();
  };
  const std::string plain = Grids("f32", {16, 32}, "keep") + kStar2;
  EXPECT_EQ(why(plain, {1, 32, 1, 4, 1}), "");
  EXPECT_NE(why(plain, {4, 32, 1, 4, 1}).find("16-byte alignment"), std::string::npos);
  EXPECT_EQ(why(plain + kAligned, {4, 32, 1, 4, 1}), "");
  EXPECT_NE(why(plain + kAligned, {3, 32, 1, 4, 1}).find("3 neighbours"), std::string::npos);
  EXPECT_NE(why(plain, {1, 48, 1, 4, 1}).find("whole warps"), std::string::npos);
  EXPECT_NE(why(plain, {1, 64, 32, 4, 1}).find("1024"), std::string::npos);
  EXPECT_NE(why(plain + "steps 65 (u = v)\n", {1, 32, 1, 4, 1}).find("at most 64"),
            std::string::npos);
  EXPECT_EQ(WidestSweep(Map(plain)), 1);
  EXPECT_EQ(WidestSweep(Map(plain + kAligned)), 4);
  EXPECT_EQ(WidestSweep(Map(Grids("f32", {16, 32}, "keep", 2) + kStar2 + kAligned)), 2);
  EXPECT_EQ(WidestSweep(Map(Grids("f32", {16, 31}, "keep") + kStar2 + kAligned)), 1);
  EXPECT_EQ(WidestSweep(Map(Grids("f64", {16, 32}, "keep") + kStar2 + kAligned)), 2);
  // A reach that would take more offsets than a thread has registers.
  std::string wide = "v[i] = u[i]";
  for (int d = 1; d <= 64; ++d)
    wide += " + u[i-" + std::to_string(d) + "] + u[i+" + std::to_string(d) + "]";
  const std::string line = Grids("f64", {500}, "zero") + wide + "\n";
  EXPECT_NE(why(line, {1, 1024, 1, 1, 0}).find("registers"), std::string::npos);
  EXPECT_EQ(why(line, {1, 128, 1, 1, 0}), "");
}

// A star's column lies in registers, its edges are loaded when they are needed, and the next plane
// is asked for one plane ahead.
TEST(CudaSweep, WhatAThreadHolds) {
  const StencilTask star =
      Map(Grids("f32", {64, 64}, "keep") +
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
