// Plain CUDA generated from formulas: it compiles for every architecture, its launch plan fits the
// task, and its text is what it is meant to be. What it computes is tested where kernels run.
#include "policies/framework/cuda_loops.h"

#include <gtest/gtest.h>

#include "runtime/evaluator/device_compiler.h"
#include "runtime/task/parse.h"
#include "tests/unit/policies/formula_cases.h"
#include "tests/unit/task/operator_catalogue.h"

namespace hiera::testing {
namespace {

// Kernels must compile for all of them.
constexpr const char* kArchitectures[] = {"sm_80", "sm_90a", "sm_100"};

// Compiles one formula in every form, for one architecture each.
void Check(const DeviceCompiler& compiler, const std::string& name, const std::string& text,
           size_t turn) {
  SCOPED_TRACE(name);
  const auto task = ParseTask(text);
  ASSERT_TRUE(task.ok()) << task.status().message();
  const CudaLoopsOptions forms[] = {{.threads = 128},
                                    {.threads = 128, .together = true},
                                    {.threads = 128, .tile = 32, .rows = 2}};
  for (const CudaLoopsOptions& form : forms) {
    const auto source = WriteCudaLoops(*task, form);
    ASSERT_TRUE(source.ok()) << source.status().message();
    const Status fits = CheckCudaPlan(source->plan, *task, source->workspace_bytes);
    EXPECT_TRUE(fits.ok()) << fits.message();
    const auto again = ParseCudaPlan(CudaPlanText(source->plan));
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(*again, source->plan);
    const char* architecture = kArchitectures[turn++ % std::size(kArchitectures)];
    const auto cubin = compiler.Compile(source->text, architecture, {"--Ofast-compile=max"});
    EXPECT_TRUE(cubin.ok()) << architecture << " " << cubin.status().message() << source->text;
  }
}

TEST(CudaLoops, EveryOperatorOfTheCatalogueCompiles) {
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
  size_t turn = 0;
  for (const CatalogueEntry& entry : kOperatorCatalogue)
    Check(**compiler, entry.name, entry.text, turn++);
}

TEST(CudaLoops, EveryFormulaCaseCompiles) {
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
  size_t turn = 0;
  for (const FormulaCase& formula : kFormulaCases)
    Check(**compiler, formula.name, formula.text, turn++);
}

// From the kernel's head on.
std::string Kernels(const std::string& formula, const CudaLoopsOptions& options) {
  const auto task = ParseTask(formula);
  EXPECT_TRUE(task.ok()) << task.status().message();
  const auto source = WriteCudaLoops(*task, options);
  EXPECT_TRUE(source.ok()) << source.status().message();
  return source->text.substr(source->text.find("extern \"C\""));
}

TEST(CudaLoops, ABlockSharesTheReductionsOfItsRow) {
  EXPECT_EQ(
      Kernels("tensor x: f32[8,64]; tensor y: f32[8,64]\n"
              "y[i,j] = x[i,j] / sum(k: x[i,k])",
              {.threads = 64, .together = true}),
      R"(extern "C" __global__ void __launch_bounds__(64) statement_0(const float* __restrict__ t0,
    float* __restrict__ t1) {
  const int row = blockIdx.x;
  const int i0 = row;
  real r2 = 0;
  for (int i2 = threadIdx.x; i2 < 64; i2 += 64) {
    r2 += t0[64 * i0 + i2];
  }
  r2 = fn::across_sum(r2);
  for (int at = threadIdx.x; at < 64; at += 64) {
    const int i1 = at;
    t1[64 * i0 + i1] = t0[64 * i0 + i1] / r2;
  }
}

)");
}

TEST(CudaLoops, ATileNumbersItsElementsWithoutDividing) {
  EXPECT_EQ(
      Kernels("tensor u: f32[100,200] outside keep; tensor v: f32[100,200]\n"
              "v[i,j] = u[i-1,j] + u[i,j+1]",
              {.threads = 128, .tile = 32, .rows = 2}),
      R"(extern "C" __global__ void __launch_bounds__(128) statement_0(const float* __restrict__ t0,
    float* __restrict__ t1) {
  const int i1 = blockIdx.x * 32 + threadIdx.x;
  if (i1 >= 200) return;
  #pragma unroll
  for (int row = 0; row < 2; ++row) {
    const int i0 = (blockIdx.y * 2 + row) * 4 + threadIdx.y;
    if (i0 >= 100) return;
    bool keep = false;
    const bool in0 = fn::inside(i0 - 1, 100);
    keep |= !in0;
    const real v0 = in0 ? t0[(i0 - 1) * 200 + i1] : 0.0f;
    const bool in1 = fn::inside(i1 + 1, 200);
    keep |= !in1;
    const real v1 = in1 ? t0[i0 * 200 + (i1 + 1)] : 0.0f;
    if (!keep) t1[200 * i0 + i1] = v0 + v1;
  }
}

)");
}

TEST(CudaLoops, IndicesAreWideWhereTheyMustBe) {
  const std::string formula =
      "tensor x: f32[60000,60000]; tensor y: f32[60000,60000]; y[i,j] = 2 * x[i,j]";
  EXPECT_NE(Kernels(formula, {}).find("const long at = (long)blockIdx.x * 256"), std::string::npos);
}

TEST(CudaLoops, StepsBecomeLaunchesThatGoRoundTheWorkspace) {
  const auto task = ParseTask(
      "tensor u: f64[40] outside keep; tensor v: f64[40]\nsteps 3 (u = v)\n"
      "v[i] = 0.5 * u[i-1] + 0.5 * u[i+1]");
  ASSERT_TRUE(task.ok()) << task.status().message();
  const auto source = WriteCudaLoops(*task, {.threads = 32});
  ASSERT_TRUE(source.ok()) << source.status().message();
  EXPECT_EQ(CudaPlanText(source->plan),
            "cuda align 1\n"
            "launch statement_0 grid 2 1 1 block 32 1 1 args t0 w+0 i32=0\n"
            "launch statement_0 grid 2 1 1 block 32 1 1 args w+0 w+512 i32=0\n"
            "launch statement_0 grid 2 1 1 block 32 1 1 args w+512 t1 i32=1");
  EXPECT_EQ(source->workspace_bytes, 1024);
}

TEST(CudaLoops, RefusesMoreLaunchesThanAPlanHas) {
  const auto task = ParseTask(
      "tensor u: f64[40] outside keep; tensor v: f64[40]\nsteps 65 (u = v)\n"
      "v[i] = 0.5 * u[i-1] + 0.5 * u[i+1]");
  ASSERT_TRUE(task.ok()) << task.status().message();
  const auto source = WriteCudaLoops(*task, {});
  ASSERT_FALSE(source.ok());
  EXPECT_NE(source.status().message().find("65 launches"), std::string::npos);
}

}  // namespace
}  // namespace hiera::testing
