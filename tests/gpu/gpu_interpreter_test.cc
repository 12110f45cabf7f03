// The CUDA interpreter on a real GPU against the reference: every kind of operator, layout and
// rule.
#include <gtest/gtest.h>

#include "runtime/task/parse.h"
#include "tests/gpu/gpu.h"
#include "tests/unit/device/interpreted_formulas.h"

namespace hiera {
namespace {

class GpuInterpreterTest : public testing::TestWithParam<FormulaGroup> {};

TEST_P(GpuInterpreterTest, AgreesWithTheReference) {
  const std::string why = gpu::WhyNone();
  if (!why.empty()) GTEST_SKIP() << why;
  gpu::UsePrimary();
  const std::unique_ptr<Device> device = *MakeCudaDevice("cuda:0");
  CUstream stream = nullptr;
  gpu::Check(gpu::Cuda().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  const auto make = [&](const Task& task) -> Result<std::unique_ptr<Executable>> {
    Result<std::unique_ptr<Executable>> made = device->Interpret(task);
    if (!made.ok()) return made;
    return std::unique_ptr<Executable>(
        std::make_unique<gpu::OnDevice>(*std::move(made), task, 256, stream));
  };
  int formulas = 0;
  GetParam().visit(FormulaVisit([&](const std::string& text, InterpretedCase::Fill fill) {
    const Result<Task> task = ParseTask(text);
    ASSERT_TRUE(task.ok()) << text << "\n" << task.status().message();
    EXPECT_EQ(InterpretedCase(*task, 17, fill).Check(make, 2), "") << text;
    ++formulas;
  }));
  printf("%s: %d formulas\n", GetParam().name, formulas);
  EXPECT_GT(formulas, 2);
}

INSTANTIATE_TEST_SUITE_P(Groups, GpuInterpreterTest, testing::ValuesIn(FormulaGroups()),
                         [](const auto& group) { return std::string(group.param.name); });

}  // namespace
}  // namespace hiera
