// CUDA sweeps through the real device compiler: every stencil of the benchmark's suite and of the
// generators' cases, in the forms that the model likes best, for each architecture in turns. What
// they compute is tested where kernels run.
#include <gtest/gtest.h>

#include "policies/kernel/cuda_stencil.h"
#include "runtime/evaluator/device_compiler.h"
#include "runtime/task/parse.h"
#include "tests/bench/stencil_suite.h"
#include "tests/unit/policies/formula_cases.h"

#ifndef HIERA_SOURCE_DIR
#error "the build names the source folder, where the suite's file lies"
#endif

namespace hiera::testing {
namespace {

constexpr const char* kArchitectures[] = {"sm_80", "sm_90a", "sm_100"};

MachineFacts Gpu() {
  MachineFacts facts;
  facts.threads = 132;
  facts.l3_bytes = 50 << 20;
  facts.copy_gbps = 4200;
  facts.architecture = "sm_90a";
  facts.has_nvrtc = true;
  return facts;
}

// Compiles the best form of a stencil. Returns how many were.
int Check(const DeviceCompiler& compiler, const std::string& name, const std::string& text) {
  static size_t turn = 0;
  SCOPED_TRACE(name);
  const auto task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  const auto stencil = MapStencil(*task);
  if (!stencil.ok()) return 0;
  const std::vector<CudaSweepOptions> all = EnumerateSweeps(*stencil, Gpu());
  EXPECT_FALSE(all.empty());
  if (all.empty()) return 0;
  const auto source = WriteCudaSweep(*stencil, all[0]);
  EXPECT_TRUE(source.ok()) << source.status().message();
  if (!source.ok()) return 0;
  const Status fits = CheckCudaPlan(source->plan, *task, source->workspace_bytes);
  EXPECT_TRUE(fits.ok()) << fits.message();
  const auto again = ParseCudaPlan(CudaPlanText(source->plan));
  EXPECT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*again, source->plan);
  const char* architecture = kArchitectures[turn++ % std::size(kArchitectures)];
  const auto cubin = compiler.Compile(source->text, architecture, {"--Ofast-compile=max"});
  EXPECT_TRUE(cubin.ok()) << architecture << " " << PlanName(all[0]) << " "
                          << cubin.status().message();
  return 1;
}

TEST(CudaSweepCompile, EveryStencilOfTheSuite) {
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
  const std::vector<SuiteStencil> suite =
      ReadSuite(HIERA_SOURCE_DIR "/tests/bench/data/stencils.csv");
  ASSERT_EQ(suite.size(), 18u);
  int compiled = 0;
  for (const SuiteStencil& stencil : suite) {
    const std::vector<int64_t> extents =
        stencil.dims == 2 ? std::vector<int64_t>{8192, 8192} : std::vector<int64_t>{512, 512, 512};
    compiled += Check(**compiler, stencil.name + " f32",
                      FormulaText(stencil, extents, DType::kF32, 1) + "contract align=16\n");
    compiled +=
        Check(**compiler, stencil.name + " f64", FormulaText(stencil, extents, DType::kF64, 4));
  }
  EXPECT_EQ(compiled, 36);
}

TEST(CudaSweepCompile, EveryStencilAmongTheFormulaCases) {
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
  int compiled = 0;
  for (const FormulaCase& formula : kFormulaCases) {
    compiled += Check(**compiler, formula.name, formula.text);
  }
  EXPECT_GE(compiled, 5);
}

}  // namespace
}  // namespace hiera::testing
