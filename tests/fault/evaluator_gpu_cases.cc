// The evaluator process on a GPU, real or fictional: honest candidates are accepted, and each of
// those that break, cheat or stray gets its verdict and costs the others nothing.
#include "tests/fault/evaluator_gpu_cases.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/framework/cuda_loops.h"
#include "policies/kernel/fused/cuda_row_writer.h"
#include "runtime/task/parse.h"
#include "tests/fault/evaluator_process.h"

namespace hiera {
namespace {

constexpr const char* kTask =
    "tensor a: f32[40,50]\ntensor b: f32[50]\ntensor c: f32[40,50]\nc[i,j] = 2.5*a[i,j] + b[j]";
constexpr const char* kPlan = "cuda align 4\nlaunch k grid 8 1 1 block 256 1 1 args t0 t1 t2";

// A kernel whose threads compute one element each, and then do what `body` says.
std::string Kernel(const std::string& body, const std::string& condition = "i < 2000",
                   const std::string& before = {}) {
  return before +
         "\nextern \"C\" __global__ void k(const float* a, const float* b, float* c) {\n"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
         "  if (" +
         condition + ") c[i] = 2.5f * a[i] + b[i % 50];\n  " + body + "\n}\n";
}

Candidate Of(const std::string& source, const std::string& plan = kPlan) {
  Candidate candidate;
  candidate.space = Space::kFramework;
  candidate.compiler = Candidate::Compiler::kNvrtc;
  candidate.source = source;
  candidate.plan = LaunchPlan{plan, 0, 0};
  return candidate;
}

Candidate Honest() { return Of(Kernel("")); }

class GpuEvaluator : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (WhyNoGpu().empty()) evaluator_ = new Evaluator({"--device", "cuda"}, GpuVariables());
  }
  static void TearDownTestSuite() {
    delete evaluator_;
    evaluator_ = nullptr;
  }
  void SetUp() override {
    if (evaluator_ == nullptr) GTEST_SKIP() << WhyNoGpu();
  }

  static JudgeReport Judge(const Candidate& candidate, const std::string& task = kTask) {
    return evaluator_->Judge(task, candidate);
  }
  static void ExpectAccepted(const JudgeReport& report) {
    EXPECT_TRUE(IsCorrect(report.verdict)) << VerdictName(report.verdict) << ": " << report.detail;
    EXPECT_TRUE(report.verified) << report.detail;
    EXPECT_GT(report.time_ns, 0);
  }

  // Between two honest ones in one request: it is rejected with that verdict and those words, and
  // they are judged as if it were not there. Each time under another contract, so that each has a
  // duty of its own.
  static void Expect(Verdict verdict, const std::string& words, const Candidate& candidate,
                     const std::string& contract = {}) {
    JudgeRequest request;
    request.id = ++id_;
    request.canonical =
        (contract.empty() ? "contract workspace = " + std::to_string(id_) : contract) + "\n" +
        kTask;
    request.incumbent.kind = Incumbent::Kind::kNone;
    request.measure_seconds = 0.01;
    request.full = true;
    request.candidates = {Honest(), candidate, Honest()};
    ASSERT_TRUE(evaluator_->channel().Send(request, 1000).ok());
    for (uint32_t i = 0; i < 3; ++i) {
      const auto report = evaluator_->Receive<JudgeReport>();
      ASSERT_TRUE(report) << "no report came";
      EXPECT_EQ(report->id, id_);
      EXPECT_EQ(report->candidate, i);
      if (i != 1) {
        ExpectAccepted(*report);
        continue;
      }
      EXPECT_EQ(VerdictName(report->verdict), VerdictName(verdict)) << report->detail;
      EXPECT_NE(report->detail.find(words), std::string::npos) << report->detail;
      EXPECT_FALSE(report->verified);
    }
  }

  static inline Evaluator* evaluator_ = nullptr;
  static inline uint64_t id_ = 1'000'000;
};

TEST_F(GpuEvaluator, MeasuresTheMachine) {
  ASSERT_TRUE(evaluator_->channel().Send(MachineRequest{}, 1000).ok());
  const auto report = evaluator_->Receive<MachineReport>();
  ASSERT_TRUE(report);
  const MachineFacts& facts = report->facts;
  EXPECT_EQ(facts.architecture.substr(0, 3), "sm_");
  EXPECT_TRUE(facts.has_nvrtc);
  EXPECT_FALSE(facts.has_gcc);
  EXPECT_GE(facts.threads, 1);
  EXPECT_GT(facts.copy_gbps, 0);
  EXPECT_GT(facts.flops_f32, 0);
  EXPECT_GT(facts.flops_f64, 0);
  EXPECT_GT(facts.memory_bytes, facts.l3_bytes);
  EXPECT_GE(facts.shared_bytes, 48 << 10);
  EXPECT_NE(report->fingerprint.find("device=cuda"), std::string::npos) << report->fingerprint;
}

TEST_F(GpuEvaluator, HonestIsAcceptedAndMeasured) {
  const JudgeReport report = Judge(Honest());
  ExpectAccepted(report);
  EXPECT_EQ(report.baseline_ns, 0);
  EXPECT_EQ(report.artifact_sha256.size(), 64u);
  EXPECT_TRUE(std::filesystem::exists(report.artifact_path));
  EXPECT_EQ(std::filesystem::path(report.artifact_path).extension(), ".cubin");
}

TEST_F(GpuEvaluator, WhatWasBuiltIsBuiltOnce) {
  ExpectAccepted(Judge(Honest()));
  EXPECT_EQ(Judge(Honest()).build_seconds, 0);
}

TEST_F(GpuEvaluator, AFasterOneBeatsASlowVariantAndTheInterpreter) {
  // The same work, thirty times over.
  const Candidate slow =
      Of(Kernel("for (volatile int n = 0; n < 3000; n = n + 1) {"
                "  if (i < 2000) c[i] = 2.5f * a[i] + b[i % 50]; }"));
  const JudgeReport slow_one = Judge(slow);
  ExpectAccepted(slow_one);
  Incumbent incumbent;
  incumbent.kind = Incumbent::Kind::kVariant;
  incumbent.plan = slow.plan;
  incumbent.artifact_path = slow_one.artifact_path;
  const JudgeReport win = evaluator_->Judge(kTask, Honest(), incumbent);
  EXPECT_EQ(win.verdict, Verdict::kFaster) << win.detail;
  EXPECT_GT(win.ratio_low, 2);
  EXPECT_GT(win.baseline_ns, win.time_ns);

  const JudgeReport loss = evaluator_->Judge(kTask, slow, Incumbent{});  // the interpreter
  EXPECT_TRUE(IsCorrect(loss.verdict)) << loss.detail;
  EXPECT_GT(loss.baseline_ns, 0);
}

TEST_F(GpuEvaluator, IsMeasuredInAGraphToo) {
  JudgeRequest request;
  request.canonical = kTask;
  request.incumbent.kind = Incumbent::Kind::kNone;
  request.candidates = {Honest()};
  request.graph = true;
  ExpectAccepted(evaluator_->Judge(request));
  // No capture can hold a workspace that two replays would share.
  request.candidates[0].plan.workspace_bytes = 64;
  const JudgeReport report = evaluator_->Judge(request);
  EXPECT_EQ(report.verdict, Verdict::kUnloadable) << report.detail;
  EXPECT_NE(report.detail.find("captured"), std::string::npos) << report.detail;
  ExpectAccepted(Judge(Honest()));
}

TEST_F(GpuEvaluator, ATensorUpdatedInPlaceKeepsItsMeaning) {
  const std::string task = "tensor x: f32[300]\ntensor y: f32[300]\nscalar s\ny[i] = x[i] + s*y[i]";
  const Candidate candidate =
      Of("extern \"C\" __global__ void k(const float* x, float* y, float s) {"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;"
         "  if (i < 300) y[i] = x[i] + s * y[i]; }",
         "cuda align 4\nlaunch k grid 2 1 1 block 256 1 1 args t0 t1 s0:f32");
  ExpectAccepted(Judge(candidate, task));
}

// What the policies generate, for each kind of formula.
TEST_F(GpuEvaluator, GeneratedCodeIsAccepted) {
  const char* const tasks[] = {
      "tensor x: f32[33,70]\ntensor y: f32[33,70]\ny[i,j] = gelu(x[i,j]) + 1",
      "tensor x: f32[20,130]\ntensor y: f32[20,130]\nm[i] = max(j: x[i,j])\n"
      "e[i,j] = exp(x[i,j] - m[i])\ny[i,j] = e[i,j] / sum(k: e[i,k])",
      "tensor u: f32[30,40] outside keep\ntensor v: f32[30,40]\n"
      "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])",
  };
  for (const char* const text : tasks) {
    const auto task = ParseTask(text);
    ASSERT_TRUE(task.ok()) << task.status().message();
    std::vector<Result<CudaSource>> sources = {WriteCudaLoops(*task, {}),
                                               WriteCudaLoops(*task, {.threads = 128, .tile = 32})};
    const auto program = MakeRowProgram(*task);
    if (program.ok()) sources.push_back(WriteCudaRows(*task, *program, {128, 1, 1}));
    for (const auto& source : sources) {
      if (!source.ok()) continue;
      Candidate candidate = Of(source->text, CudaPlanText(source->plan));
      candidate.plan.workspace_bytes = source->workspace_bytes;
      ExpectAccepted(Judge(candidate, text));
    }
    EXPECT_TRUE(sources[0].ok()) << sources[0].status().message();
  }
}

TEST_F(GpuEvaluator, StraysToAnIllegalAddress) {
  Expect(Verdict::kCrashed, "CUDA_ERROR_ILLEGAL_ADDRESS",
         Of(Kernel("if (i == 0) *(volatile float*)16 = 1;")));
}

TEST_F(GpuEvaluator, NeverFinishes) {
  Expect(Verdict::kTimedOut, "did not finish",
         Of(Kernel("volatile int n = 0; if (i == 0) { while (true) n = n + 1; }")));
}

TEST_F(GpuEvaluator, WritesOneElementBeforeTheOutput) {
  Expect(Verdict::kMisbehaved, "4 bytes before the start of c",
         Of(Kernel("if (i == 0) c[-1] = 0;")));
}

TEST_F(GpuEvaluator, WritesOneElementBehindTheOutput) {
  Expect(Verdict::kMisbehaved, "the end of c", Of(Kernel("if (i == 0) c[2000] = 0;")));
}

TEST_F(GpuEvaluator, WritesFarBehindTheOutput) {
  Expect(Verdict::kMisbehaved, "behind the end of c", Of(Kernel("if (i == 0) c[9000] = 0;")));
}

TEST_F(GpuEvaluator, WritesBesideAnInput) {
  Expect(Verdict::kMisbehaved, "behind the end of b",
         Of(Kernel("if (i == 0) ((float*)b)[50] = 0;")));
}

TEST_F(GpuEvaluator, WritesAnInput) {
  Expect(Verdict::kMisbehaved, "into a, which is an input, at byte 12",
         Of(Kernel("if (i == 3) ((float*)a)[3] = 1e9f;")));
}

TEST_F(GpuEvaluator, LeavesHalfUnwritten) {
  Expect(Verdict::kWrong, "was not written", Of(Kernel("", "i < 1000")));
}

TEST_F(GpuEvaluator, IsWrongInTheLastColumn) {
  Expect(Verdict::kWrong, "c[0,49]", Of(Kernel("if (i < 2000 && i % 50 == 49) c[i] *= 1.01f;")));
}

// What lies there is a NaN, which no multiplication makes harmless.
TEST_F(GpuEvaluator, ReadsBehindAnInput) {
  Expect(Verdict::kWrong, "c[39,49]", Of(Kernel("if (i == 1999) c[i] += 0.f * a[2000];")));
  Expect(Verdict::kWrong, "c[0,0]", Of(Kernel("if (i == 0) c[i] += 0.f * b[-1];")));
}

TEST_F(GpuEvaluator, IsRightUntilItIsTimed) {
  Expect(Verdict::kWrong, "timed",
         Of(Kernel("if (i == 77) { calls = calls + 1; if (calls > 20) c[77] += 1; }", "i < 2000",
                   "__device__ int calls;")));
}

TEST_F(GpuEvaluator, DoesNotCompile) {
  Expect(Verdict::kBuildFailed, "no_such_name", Of(Kernel("no_such_name();")));
}

TEST_F(GpuEvaluator, AsksForAnOptionThatReadsFiles) {
  Candidate candidate = Honest();
  candidate.flags = {"--include-path=/etc"};
  Expect(Verdict::kBuildFailed, "--include-path", candidate);
}

TEST_F(GpuEvaluator, HasAPlanWithoutItsKernel) {
  Expect(Verdict::kUnloadable, "kernel other",
         Of(Kernel(""), "cuda align 4\nlaunch other grid 8 1 1 block 256 1 1 args t0 t1 t2"));
}

TEST_F(GpuEvaluator, HasAPlanWithTooFewArguments) {
  Expect(Verdict::kUnloadable, "more parameters",
         Of(Kernel(""), "cuda align 4\nlaunch k grid 8 1 1 block 256 1 1 args t0 t1"));
}

TEST_F(GpuEvaluator, WantsBetterAlignmentThanPromised) {
  Expect(Verdict::kUnloadable, "aligned to 16 bytes",
         Of(Kernel(""), "cuda align 16\nlaunch k grid 8 1 1 block 256 1 1 args t0 t1 t2"));
}

TEST_F(GpuEvaluator, IsNotRepeatable) {
  Expect(Verdict::kMisbehaved, "differs between two runs",
         Of(Kernel("if (i == 7) { calls = calls + 1; if (calls % 2 == 1) *(int*)(c + 7) ^= 1; }",
                   "i < 2000", "__device__ int calls;")),
         "contract deterministic = 1");
}

// With a workspace `w` of 64 bytes.
Candidate WithWorkspace(const std::string& body) {
  Candidate candidate =
      Of("extern \"C\" __global__ void k(const float* a, const float* b, float* c, float* w) {"
         "  const int i = blockIdx.x * blockDim.x + threadIdx.x;"
         "  if (i < 2000) c[i] = 2.5f * a[i] + b[i % 50];" +
             body + "}",
         "cuda align 4\nlaunch k grid 8 1 1 block 256 1 1 args t0 t1 t2 w+0");
  candidate.plan.workspace_bytes = 64;
  return candidate;
}

TEST_F(GpuEvaluator, UsesItsWorkspace) {
  ExpectAccepted(Judge(WithWorkspace("if (i < 16) w[i] = a[i];")));
}

TEST_F(GpuEvaluator, WritesBesideItsWorkspace) {
  Expect(Verdict::kMisbehaved, "behind the end of the workspace",
         WithWorkspace("if (i == 0) w[16] = 0;"));
  Expect(Verdict::kMisbehaved, "4 bytes before the start of the workspace",
         WithWorkspace("if (i == 0) w[-1] = 0;"));
}

TEST_F(GpuEvaluator, TakesItsWorkspaceForZeroed) {
  Expect(Verdict::kWrong, "c[0,5]", WithWorkspace("if (i == 5) c[5] += w[3];"));
}

TEST_F(GpuEvaluator, AsksForMoreWorkspaceThanTheContractAdmits) {
  Candidate candidate = WithWorkspace("");
  Expect(Verdict::kUnloadable, "the contract admits 32", candidate, "contract workspace = 32");
}

TEST_F(GpuEvaluator, RefusesWhatDoesNotFitTheDevicesMemory) {
  Evaluator small({"--device", "cuda", "--device-memory", "100000"}, GpuVariables());
  const JudgeReport report = small.Judge(kTask, Honest());
  EXPECT_EQ(report.verdict, Verdict::kUnloadable) << report.detail;
  EXPECT_NE(report.detail.find("of the device's memory"), std::string::npos) << report.detail;
}

// In little memory one arena serves all trials.
TEST_F(GpuEvaluator, JudgesInLittleDeviceMemoryToo) {
  Evaluator small({"--device", "cuda", "--device-memory", "500000"}, GpuVariables());
  const JudgeReport report = small.Judge(kTask, Honest());
  EXPECT_TRUE(IsCorrect(report.verdict)) << report.detail;
  EXPECT_TRUE(report.verified);
}

TEST_F(GpuEvaluator, EndsWithItsPlannerInTheMiddleOfARequest) {
  Evaluator evaluator({"--device", "cuda"}, GpuVariables());
  JudgeRequest request;
  request.canonical = kTask;
  request.candidates = {Of(Kernel("volatile int n = 0; if (i == 0) { while (true) n = n + 1; }"))};
  ASSERT_TRUE(evaluator.channel().Send(request, 1000).ok());
  evaluator.channel().Close();
  EXPECT_TRUE(evaluator.child().Wait(10'000));
}

}  // namespace
}  // namespace hiera
