// Fused rows as CUDA: every formula that has rows compiles for every architecture, and the text is
// what it is meant to be. What it computes is tested where kernels run.
#include <gtest/gtest.h>

#include "policies/kernel/fused/cuda_row_writer.h"
#include "runtime/evaluator/device_compiler.h"
#include "runtime/task/parse.h"
#include "tests/unit/policies/formula_cases.h"
#include "tests/unit/task/operator_catalogue.h"

namespace hiera::testing {
namespace {

constexpr const char* kArchitectures[] = {"sm_80", "sm_90a", "sm_100"};

// Compiles a formula in several forms, for one architecture each. Returns how many there were.
int Check(const DeviceCompiler& compiler, const std::string& name, const std::string& text) {
  SCOPED_TRACE(name);
  const auto task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  const auto program = MakeRowProgram(*task);
  if (!program.ok()) return 0;
  int turn = 0;
  const int widest = WidestNeighbours(*task, *program);
  for (const CudaRowOptions& options :
       {CudaRowOptions{128, 1, 1}, CudaRowOptions{32, 4, widest}, CudaRowOptions{64, 1, widest}}) {
    const auto source = WriteCudaRows(*task, *program, options);
    EXPECT_TRUE(source.ok()) << source.status().message();
    if (!source.ok()) continue;
    const Status fits = CheckCudaPlan(source->plan, *task, source->workspace_bytes);
    EXPECT_TRUE(fits.ok()) << fits.message();
    const char* architecture = kArchitectures[turn++ % std::size(kArchitectures)];
    const auto cubin = compiler.Compile(source->text, architecture, {"--Ofast-compile=max"});
    EXPECT_TRUE(cubin.ok()) << architecture << " " << cubin.status().message()
                            << source->text.substr(source->text.find("// Fused rows"));
  }
  return turn;
}

TEST(CudaRows, EveryFormulaOfRowsCompiles) {
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
  int compiled = 0;
  for (const CatalogueEntry& entry : kOperatorCatalogue) {
    compiled += Check(**compiler, entry.name, entry.text);
  }
  for (const FormulaCase& formula : kFormulaCases) {
    compiled += Check(**compiler, formula.name, formula.text);
  }
  EXPECT_GE(compiled, 90);
}

// From the kernel's head on.
std::string Kernel(const std::string& formula, const CudaRowOptions& options) {
  const auto task = ParseTask(formula);
  EXPECT_TRUE(task.ok()) << task.status().message();
  const auto program = MakeRowProgram(*task);
  EXPECT_TRUE(program.ok()) << program.status().message();
  const auto source = WriteCudaRows(*task, *program, options);
  EXPECT_TRUE(source.ok()) << source.status().message();
  return source->text.substr(source->text.find("extern \"C\""));
}

TEST(CudaRows, ARowIsReadOnceAndWaitsInRegisters) {
  EXPECT_EQ(Kernel("tensor x: f32[10,1024]; tensor w: f32[1024]; tensor y: f32[10,1024]\n"
                   "y[i,j] = w[j] * x[i,j] * rsqrt(mean(k: x[i,k] * x[i,k]) + 0.5)",
                   {.threads = 128, .rows = 1, .neighbours = 4}),
            R"(extern "C" __global__ void __launch_bounds__(128) rows(const float* __restrict__ t0,
    const float* __restrict__ t1, float* __restrict__ t2) {
  const int row = blockIdx.x;
  const int a0 = row;
  real b1[2][4];
  real r4 = 0;
  #pragma unroll
  for (int n = 0; n < 2; ++n) {
    const int x0 = (n * 128 + (int)threadIdx.x) * 4;
    const auto l1 = fn::take<4>(t0 + 1024 * a0 + x0);
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int x = x0 + e;
      b1[n][e] = l1.e[e];
      r4 += l1.e[e] * l1.e[e];
    }
  }
  r4 = fn::across_sum(r4);
  r4 /= 1024.0f;
  #pragma unroll
  for (int n = 0; n < 2; ++n) {
    const int x0 = (n * 128 + (int)threadIdx.x) * 4;
    const auto l0 = fn::take<4>(t1 + x0);
    fn::Neighbours<float, 4> o0;
    #pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int x = x0 + e;
      o0.e[e] = (l0.e[e] * b1[n][e]) * fn::rsqrt(r4 + 0.5f);
    }
    fn::put(t2 + 1024 * a0 + x0, o0);
  }
}
)");
}

TEST(CudaRows, NeighboursFillSixteenBytesWhereEveryAccessIsAligned) {
  const auto widest = [](const std::string& text) {
    const auto task = ParseTask(text);
    EXPECT_TRUE(task.ok()) << task.status().message();
    const auto program = MakeRowProgram(*task);
    EXPECT_TRUE(program.ok()) << program.status().message();
    return WidestNeighbours(*task, *program);
  };
  EXPECT_EQ(widest("tensor x: f32[8,64]; tensor y: f32[8,64]; y[i,j] = x[i,j] / sum(k: x[i,k])"),
            4);
  EXPECT_EQ(widest("tensor x: f16[8,64]; tensor y: f32[8,64]; y[i,j] = x[i,j] / sum(k: x[i,k])"),
            8);
  EXPECT_EQ(widest("tensor x: f64[8,64]; tensor y: f64[8,64]; y[i,j] = x[i,j] / sum(k: x[i,k])"),
            2);
  EXPECT_EQ(widest("tensor x: f32[8,66]; tensor y: f32[8,66]; y[i,j] = x[i,j] / sum(k: x[i,k])"),
            2);
  EXPECT_EQ(widest("tensor x: f32[8,65]; tensor y: f32[8,65]; y[i,j] = x[i,j] / sum(k: x[i,k])"),
            1);
}

}  // namespace
}  // namespace hiera::testing
