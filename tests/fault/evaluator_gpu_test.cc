// The cases of evaluator_gpu_cases.cc on the fictional GPU of tests/fake_cuda, which ctest shows to
// this program and all that it starts.
#include "tests/fault/evaluator_gpu_cases.h"

#include <gtest/gtest.h>

#include "tests/fault/evaluator_process.h"

namespace hiera {

std::string WhyNoGpu() { return {}; }
std::vector<std::string> GpuVariables() { return {}; }

namespace {

Candidate Copying() {
  Candidate candidate;
  candidate.compiler = Candidate::Compiler::kNvrtc;
  candidate.source =
      "extern \"C\" __global__ void k(const float* a, float* b) {"
      " if (threadIdx.x < 64) b[threadIdx.x] = a[threadIdx.x]; }";
  candidate.plan = {"cuda align 4\nlaunch k grid 1 1 1 block 64 1 1 args t0 t1", 0, 0};
  return candidate;
}
constexpr const char* kCopy = "tensor a: f32[64]\ntensor b: f32[64]\nb[i] = a[i]";

TEST(FictionalGpu, InExclusiveModeIsLeftToItsApplication) {
  Evaluator evaluator({"--device", "cuda"}, {"FAKE_CUDA_COMPUTE_MODE=3"});
  const JudgeReport report = evaluator.Judge(kCopy, Copying());
  EXPECT_EQ(report.verdict, Verdict::kUnloadable) << report.detail;
  EXPECT_NE(report.detail.find("exclusive mode"), std::string::npos) << report.detail;
}

TEST(FictionalGpu, WithoutACompilerIsMeasuredByItsUnits) {
  Evaluator evaluator({"--device", "cuda"}, {"HIERA_NVRTC=/nowhere/libnvrtc.so"});
  ASSERT_TRUE(evaluator.channel().Send(MachineRequest{}, 1000).ok());
  const auto machine = evaluator.Receive<MachineReport>();
  ASSERT_TRUE(machine);
  EXPECT_FALSE(machine->facts.has_nvrtc);
  EXPECT_EQ(machine->facts.architecture, "sm_90a");
  // 4 multiprocessors at 1 GHz with 128 units for f32 and 64 for f64, two operations each.
  EXPECT_DOUBLE_EQ(machine->facts.flops_f32, 1024e9);
  EXPECT_DOUBLE_EQ(machine->facts.flops_f64, 512e9);
  const JudgeReport report = evaluator.Judge(kCopy, Copying());
  EXPECT_EQ(report.verdict, Verdict::kBuildFailed) << report.detail;
  EXPECT_NE(report.detail.find("/nowhere/libnvrtc.so"), std::string::npos) << report.detail;
}

TEST(FictionalGpu, AGpuThatIsNotThereEndsTheEvaluator) {
  Evaluator evaluator({"--device", "cuda"}, {"FAKE_CUDA_DEVICES=0"});
  EXPECT_TRUE(evaluator.child().Wait(20'000));
  EXPECT_NE(evaluator.child().wait_status(), 0);
}

}  // namespace

}  // namespace hiera
