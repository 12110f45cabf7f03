// Generated CUDA code on a real GPU against the reference: every kind of operator, layout and rule,
// the forms in turns.
#include <gtest/gtest.h>

#include "runtime/evaluator/device_compiler.h"
#include "runtime/task/parse.h"
#include "tests/gpu/generated_code.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/device/interpreted_formulas.h"
#include "tests/unit/policies/sweep_cases.h"

namespace hiera {
namespace {

class GpuGeneratedTest : public testing::TestWithParam<FormulaGroup> {};

TEST_P(GpuGeneratedTest, AgreesWithTheReference) {
  const std::string why = gpu::WhyNone();
  if (!why.empty()) GTEST_SKIP() << why;
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
  gpu::UsePrimary();
  const std::unique_ptr<Device> device = *MakeCudaDevice("cuda:0");
  CUstream stream = nullptr;
  gpu::Check(gpu::Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  size_t turn = 0;
  int formulas = 0;
  GetParam().visit(FormulaVisit([&](const std::string& text, InterpretedCase::Fill fill) {
    const Result<Task> task = ParseTask(text);
    ASSERT_TRUE(task.ok()) << text << "\n" << task.status().message();
    const std::vector<gpu::GeneratedForm> forms = gpu::GeneratedForms(*task);
    if (forms.empty()) return;  // more launches than a plan has, say
    const gpu::GeneratedForm& form = forms[turn++ % forms.size()];
    const auto make = [&](const Task& made_of) -> Result<std::unique_ptr<Executable>> {
      auto made = gpu::MakeGenerated(*device, made_of, *form.source, false);
      if (!made.ok()) return made;
      return std::unique_ptr<Executable>(
          std::make_unique<gpu::OnDevice>(*std::move(made), made_of, 256, stream));
    };
    EXPECT_EQ(InterpretedCase(*task, 17, fill).Check(make, 2), "") << form.name << "\n" << text;
    ++formulas;
  }));
  printf("%s: %d formulas\n", GetParam().name, formulas);
  EXPECT_GT(formulas, 1);
}

INSTANTIATE_TEST_SUITE_P(Groups, GpuGeneratedTest, testing::ValuesIn(FormulaGroups()),
                         [](const auto& group) { return std::string(group.param.name); });

// Stencils in vectors of 16 bytes, which need their promise. What each computes is tested on a CPU
// too; so every fifth tells whether a GPU agrees.
TEST(GpuSweepTest, AgreesWithTheReference) {
  const std::string why = gpu::WhyNone();
  if (!why.empty()) GTEST_SKIP() << why;
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) GTEST_SKIP() << compiler.status().message();
  gpu::UsePrimary();
  const std::unique_ptr<Device> device = *MakeCudaDevice("cuda:0");
  CUstream stream = nullptr;
  gpu::Check(gpu::Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  size_t turn = 0;
  for (const SweepGroup& group : SweepGroups()) {
    for (const SweepCase& sweep : group.cases()) {
      if (turn++ % 5 != 0) continue;
      const Task task = *ParseTask(sweep.text);
      const auto make = [&](const Task& made_of) -> Result<std::unique_ptr<Executable>> {
        const auto source = WriteCudaSweep(*MapStencil(made_of), sweep.options);
        if (!source.ok()) return source.status();
        auto made = gpu::MakeGenerated(*device, made_of, *source, false);
        if (!made.ok()) return made;
        return std::unique_ptr<Executable>(
            std::make_unique<gpu::OnDevice>(*std::move(made), made_of, 256, stream));
      };
      EXPECT_EQ(InterpretedCase(task, 17).Check(make, 2), "")
          << group.name << " " << PlanName(sweep.options) << "\n"
          << sweep.text;
    }
  }
  EXPECT_GT(turn, 60u);
}

}  // namespace
}  // namespace hiera
