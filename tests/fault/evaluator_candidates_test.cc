// The real evaluator process against candidates that cheat, break or misbehave, each in the way
// that somebody's tuner once fell for. Every one must get its verdict, and the honest candidate
// that follows must be judged as if nothing had happened.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/library/library.h"
#include "runtime/task/parse.h"
#include "tests/fault/evaluator_process.h"

namespace hiera {
namespace {

// c[i,j] = 2.5*a[i,j] + b[j], 40 x 50; names for the sources below.
constexpr const char* kPreamble = R"(
#define kRows 40
#define kColumns 50
static void Honest(const hiera_host_call* call) {
  const float* a = (const float*)call->tensors[0];
  const float* b = (const float*)call->tensors[1];
  float* c = (float*)call->tensors[2];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      c[i * kColumns + j] = 2.5f * a[i * kColumns + j] + b[j];
    }
  }
}
static inline float* A(const hiera_host_call* call) { return (float*)call->tensors[0]; }
static inline float* C(const hiera_host_call* call) { return (float*)call->tensors[2]; }
)";
constexpr const char* kTask =
    "tensor a: f32[40,50]\ntensor b: f32[50]\ntensor c: f32[40,50]\nc[i,j] = 2.5*a[i,j] + b[j]";

std::string Variant(const std::string& body, const std::string& before = {}) {
  return std::string(kPreamble) + before +
         "\nextern \"C\" void hiera_variant(const hiera_host_call* call) {\n" + body + "\n}\n";
}

class EvaluatorCandidates : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { evaluator_ = new Evaluator; }
  static void TearDownTestSuite() { delete evaluator_; }

  static Candidate Of(const std::string& source) {
    Candidate candidate;
    candidate.source = source;
    return candidate;
  }
  static JudgeReport Judge(const std::string& source) {
    return evaluator_->Judge(kTask, Of(source));
  }

  // The candidate is rejected with that verdict and those words, and does no harm.
  static void Expect(Verdict verdict, const std::string& words, const Candidate& candidate,
                     const std::string& task = kTask) {
    const JudgeReport report = evaluator_->Judge(task, candidate);
    EXPECT_EQ(VerdictName(report.verdict), VerdictName(verdict)) << report.detail;
    EXPECT_NE(report.detail.find(words), std::string::npos) << report.detail;
    EXPECT_FALSE(report.verified);
    const JudgeReport next = Judge(Variant("Honest(call);"));
    EXPECT_TRUE(IsCorrect(next.verdict)) << VerdictName(next.verdict) << ": " << next.detail;
    EXPECT_TRUE(next.verified);
  }
  static void Expect(Verdict verdict, const std::string& words, const std::string& source) {
    Expect(verdict, words, Of(source));
  }

  static inline Evaluator* evaluator_ = nullptr;
};

TEST_F(EvaluatorCandidates, HonestIsCorrectAndMeasured) {
  const JudgeReport report =
      evaluator_->Judge(kTask, Of(Variant("Honest(call);")), Incumbent{});  // the interpreter
  EXPECT_TRUE(IsCorrect(report.verdict)) << report.detail;
  EXPECT_TRUE(report.verified);
  EXPECT_GT(report.time_ns, 0);
  EXPECT_GT(report.baseline_ns, 0);
  EXPECT_LE(report.ratio_low, report.ratio);
  EXPECT_EQ(report.artifact_sha256.size(), 64u);
  EXPECT_TRUE(std::filesystem::exists(report.artifact_path));
}

TEST_F(EvaluatorCandidates, AFasterOneBeatsASlowVariantAndNotTheOtherWayRound) {
  const std::string slow = Variant("for (volatile int i = 0; i < 20; ++i) Honest(call);");
  const std::string fast = Variant("Honest(call);");
  const auto incumbent = [](const JudgeReport& report) {
    Incumbent variant;
    variant.kind = Incumbent::Kind::kVariant;
    variant.plan = LaunchPlan{"object", 0, 0};
    variant.artifact_path = report.artifact_path;
    return variant;
  };
  const JudgeReport slow_one = Judge(slow), fast_one = Judge(fast);
  ASSERT_TRUE(IsCorrect(slow_one.verdict)) << slow_one.detail;
  const JudgeReport win = evaluator_->Judge(kTask, Of(fast), incumbent(slow_one));
  EXPECT_EQ(win.verdict, Verdict::kFaster) << win.detail;
  EXPECT_GT(win.ratio_low, 5);
  const JudgeReport loss = evaluator_->Judge(kTask, Of(slow), incumbent(fast_one));
  EXPECT_EQ(loss.verdict, Verdict::kNotFaster) << loss.detail;
  EXPECT_LT(loss.ratio, 0.2);
  // Against itself nothing wins, unless the machine favours one of two copies of the same code for
  // a while; it does not do so time and again.
  JudgeReport tie;
  tie.verdict = Verdict::kFaster;
  for (int attempt = 0; attempt < 3 && tie.verdict != Verdict::kNotFaster; ++attempt) {
    tie = evaluator_->Judge(kTask, Of(fast), incumbent(fast_one));
  }
  EXPECT_EQ(tie.verdict, Verdict::kNotFaster) << tie.detail;
}

TEST_F(EvaluatorCandidates, WithoutAnIncumbentOnlyTheTimeIsTold) {
  const JudgeReport report = Judge(Variant("Honest(call);"));
  EXPECT_EQ(report.verdict, Verdict::kNotFaster) << report.detail;
  EXPECT_TRUE(report.verified);
  EXPECT_GT(report.time_ns, 0);
  EXPECT_EQ(report.baseline_ns, 0);
  EXPECT_EQ(report.ratio, 0);
}

// Takes 40 ms at least on any processor there is, by counting: a candidate can't ask for the time.
constexpr const char* kSpin =
    "static void Spin() { for (volatile long i = 0; i < 50000000; ++i) {} }\n"
    "static int calls;";

TEST_F(EvaluatorCandidates, TheHopelessAreGivenUpAfterTheFirstTrial) {
  JudgeRequest request;
  request.canonical = kTask;
  request.incumbent.kind = Incumbent::Kind::kNone;
  // The third call, were there one, would be wrong.
  request.candidates = {
      Of(Variant("Spin(); Honest(call); if (++calls > 2) C(call)[5] += 1;", kSpin))};
  request.give_up_ns = 1e6;
  const JudgeReport report = evaluator_->Judge(request);
  EXPECT_EQ(report.verdict, Verdict::kNotFaster) << report.detail;
  EXPECT_NE(report.detail.find("given up: a run took"), std::string::npos) << report.detail;
  EXPECT_NE(report.detail.find("the incumbent takes 1 ms"), std::string::npos) << report.detail;
  EXPECT_FALSE(report.verified);
  EXPECT_GT(report.time_ns, 18e6);
  EXPECT_DOUBLE_EQ(report.ratio, 1e6 / report.time_ns);
  EXPECT_DOUBLE_EQ(report.ratio_low, report.ratio);

  // The interpreter's own time is as good.
  request.give_up_ns = 0;
  request.incumbent.kind = Incumbent::Kind::kInterpreter;
  EXPECT_NE(evaluator_->Judge(request).detail.find("given up"), std::string::npos);

  // What takes less than several times as long is judged to its end.
  request.give_up_ns = 1e9;
  const JudgeReport heard = evaluator_->Judge(request);
  EXPECT_EQ(heard.verdict, Verdict::kWrong) << heard.detail;
}

TEST_F(EvaluatorCandidates, WrongIsToldBeforeHopeless) {
  JudgeRequest request;
  request.canonical = kTask;
  request.candidates = {Of(Variant("Spin(); Honest(call); C(call)[5] += 1;", kSpin))};
  request.give_up_ns = 1000;
  const JudgeReport report = evaluator_->Judge(request);
  EXPECT_EQ(report.verdict, Verdict::kWrong) << report.detail;
}

TEST_F(EvaluatorCandidates, ARequestEndsWithItsTime) {
  JudgeRequest request;
  request.canonical = kTask;
  request.incumbent.kind = Incumbent::Kind::kNone;
  request.candidates = {Of(Variant("Spin(); Honest(call);", kSpin))};
  ASSERT_TRUE(IsCorrect(evaluator_->Judge(request).verdict));  // built, whatever that takes
  request.seconds = 0.2;  // six calls come before it is even timed
  const JudgeReport report = evaluator_->Judge(request);
  EXPECT_EQ(report.verdict, Verdict::kTimedOut) << report.detail;
  EXPECT_NE(report.detail.find("time ran out"), std::string::npos) << report.detail;
  EXPECT_FALSE(report.verified);
}

TEST_F(EvaluatorCandidates, DoesNotCompile) {
  Expect(Verdict::kBuildFailed, "no_such_name", Variant("no_such_name();"));
}

TEST_F(EvaluatorCandidates, AsksForAFlagThatBreaksNaN) {
  Candidate candidate = Of(Variant("Honest(call);"));
  candidate.flags = {"-ffast-math"};
  Expect(Verdict::kBuildFailed, "-ffast-math", candidate);
}

TEST_F(EvaluatorCandidates, HasNoEntryPoint) {
  Expect(Verdict::kUnloadable, "hiera_variant", "extern \"C\" void another_name() {}");
}

TEST_F(EvaluatorCandidates, Segfaults) {
  Expect(Verdict::kCrashed, "signal 11", Variant("Honest(call); *(volatile int*)8 = 1;"));
}

TEST_F(EvaluatorCandidates, NeverFinishes) {
  Expect(Verdict::kTimedOut, "did not finish", Variant("for (;;) asm volatile(\"\");"));
}

TEST_F(EvaluatorCandidates, WritesOneElementBeforeTheOutput) {
  Expect(Verdict::kMisbehaved, "4 bytes before the start of c",
         Variant("Honest(call); C(call)[-1] = 0;"));
}

TEST_F(EvaluatorCandidates, WritesOneElementBehindTheOutput) {
  Expect(Verdict::kMisbehaved, "the end of c", Variant("Honest(call); C(call)[2000] = 0;"));
}

TEST_F(EvaluatorCandidates, ReadsBehindAnInput) {
  Expect(Verdict::kMisbehaved, "behind the end of a",
         Variant("Honest(call); float s = 0; for (int i = 0; i < 4000; ++i) s += A(call)[i];"
                 "asm volatile(\"\" : : \"x\"(s));"));
}

TEST_F(EvaluatorCandidates, WritesAnInputEvenWithItsOwnValue) {
  Expect(Verdict::kMisbehaved, "into a, which is an input",
         Variant("Honest(call); volatile float* a = A(call); a[3] = a[3];"));
}

TEST_F(EvaluatorCandidates, LeavesHalfUnwritten) {
  Expect(Verdict::kWrong, "was not written",
         Variant("float keep[1000]; for (int i = 0; i < 1000; ++i) keep[i] = C(call)[1000 + i];"
                 "Honest(call);"
                 "for (int i = 0; i < 1000; ++i) C(call)[1000 + i] = keep[i];"));
}

TEST_F(EvaluatorCandidates, WritesAConstant) {
  Expect(Verdict::kWrong, "should be", Variant("for (int i = 0; i < 2000; ++i) C(call)[i] = 0;"));
}

TEST_F(EvaluatorCandidates, IsRightOnTheFirstCallOnly) {
  Expect(Verdict::kWrong, "should be",
         Variant("Honest(call); if (calls++ > 0) C(call)[77] += 1;", "static int calls;"));
}

TEST_F(EvaluatorCandidates, IsRightUntilItIsTimed) {
  Expect(Verdict::kWrong, "timed",
         Variant("Honest(call); if (calls++ > 50) C(call)[77] += 1;", "static int calls;"));
}

// Same address, new content.
TEST_F(EvaluatorCandidates, RemembersResultsByPointer) {
  Expect(Verdict::kWrong, "was not written",
         Variant("if (last == call->tensors[0]) return; last = call->tensors[0]; Honest(call);",
                 "static void* last;"));
}

TEST_F(EvaluatorCandidates, IsWrongInTheLastColumn) {
  Expect(Verdict::kWrong, "c[0,49]",
         Variant("Honest(call); for (int i = 0; i < 40; ++i) C(call)[i * 50 + 49] *= 1.01f;"));
}

TEST_F(EvaluatorCandidates, DropsNaN) {
  Expect(Verdict::kWrong, "special inputs",
         Variant("Honest(call);"
                 "for (int i = 0; i < 2000; ++i) if (C(call)[i] != C(call)[i]) C(call)[i] = 0;"));
}

TEST_F(EvaluatorCandidates, RoundsToHalfPrecision) {
  Expect(Verdict::kWrong, "should be",
         Variant("Honest(call);"
                 "for (int i = 0; i < 2000; ++i) C(call)[i] = (float)(_Float16)C(call)[i];"));
}

TEST_F(EvaluatorCandidates, OpensASocket) {
  Expect(Verdict::kMisbehaved, "socket",
         Variant("Honest(call); socket(2, 1, 0);", "extern \"C\" int socket(int, int, int);"));
}

TEST_F(EvaluatorCandidates, Forks) {
  Expect(Verdict::kMisbehaved, "clone",
         Variant("Honest(call); fork();", "extern \"C\" int fork(void);"));
}

TEST_F(EvaluatorCandidates, ExecutesAProgramWhileLoading) {
  Expect(Verdict::kMisbehaved, "execve while loading",
         Variant("Honest(call);",
                 "extern \"C\" int execl(const char*, const char*, ...);"
                 "__attribute__((constructor)) static void Act() {"
                 "  execl(\"/bin/true\", \"true\", (char*)0);"
                 "}"));
}

TEST_F(EvaluatorCandidates, WritesAFileWhileLoading) {
  Expect(Verdict::kMisbehaved, "openat while loading",
         Variant("Honest(call);",
                 "extern \"C\" int open(const char*, int, ...);"
                 "__attribute__((constructor)) static void Act() {"
                 "  open(\"/tmp/hiera-escaped\", 0101, 0600);"
                 "}"));
  EXPECT_FALSE(std::filesystem::exists("/tmp/hiera-escaped"));
}

// Its thread would write after the call has returned; it gets no thread, and nothing is written.
TEST_F(EvaluatorCandidates, WorksInAThreadOfItsOwn) {
  const JudgeReport report =
      Judge(Variant("unsigned long thread; copy = *call;"
                    "pthread_create(&thread, 0, Late, &copy);",
                    "extern \"C\" int pthread_create(unsigned long*, const void*, "
                    "void* (*)(void*), void*);"
                    "static hiera_host_call copy;"
                    "static void* Late(void* c) { Honest((hiera_host_call*)c); return 0; }"));
  EXPECT_FALSE(IsCorrect(report.verdict)) << report.detail;
}

TEST_F(EvaluatorCandidates, ExitsTheProcess) {
  Expect(Verdict::kCrashed, "exited with status 0",
         Variant("Honest(call); _exit(0);", "extern \"C\" void _exit(int);"));
}

TEST_F(EvaluatorCandidates, Sleeps) {
  Expect(Verdict::kMisbehaved, "nanosleep",
         Variant("Honest(call); usleep(1000);", "extern \"C\" int usleep(unsigned);"));
}

TEST_F(EvaluatorCandidates, TakesAllMemory) {
  Expect(Verdict::kTimedOut, "did not finish",
         Variant("Honest(call);"
                 "for (;;) { volatile char* p = (volatile char*)malloc(1 << 24);"
                 "  asm volatile(\"\" : \"+r\"(p));"
                 "  if (p) for (int i = 0; i < 1 << 24; i += 4096) p[i] = 1; }",
                 "extern \"C\" void* malloc(unsigned long);"));
}

TEST_F(EvaluatorCandidates, UnprotectsItsInputs) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's run time must be allowed what this candidate does";
#endif
  Expect(Verdict::kMisbehaved, "mprotect",
         Variant("Honest(call);"
                 "mprotect((void*)((unsigned long)A(call) & ~4095ul), 4096, 3);",
                 "extern \"C\" int mprotect(void*, unsigned long, int);"));
}

TEST_F(EvaluatorCandidates, ForgesAReport) {
  Expect(Verdict::kMisbehaved, "own socket",
         Variant("Honest(call);"
                 "struct { unsigned size; unsigned char rest[21]; } forged = {21, {0}};"
                 "forged.rest[8] = 1; send(3, &forged, 25, 0);",
                 "extern \"C\" long send(int, const void*, unsigned long, int);"));
}

TEST_F(EvaluatorCandidates, FlushesSubnormalsToZero) {
  Expect(Verdict::kMisbehaved, "floating-point environment",
         Variant("Honest(call); __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);"));
}

TEST_F(EvaluatorCandidates, WritesBehindItsWorkspace) {
  Candidate candidate = Of(Variant("Honest(call); ((char*)call->workspace)[1024] = 1;"));
  candidate.plan.workspace_bytes = 1000;
  Expect(Verdict::kMisbehaved, "behind the end of the workspace", candidate);
}

TEST_F(EvaluatorCandidates, TakesItsWorkspaceForZeroed) {
  Candidate candidate = Of(Variant("Honest(call); C(call)[5] += *(float*)call->workspace;"));
  candidate.plan.workspace_bytes = 64;
  Expect(Verdict::kWrong, "c[0,5]", candidate);
}

TEST_F(EvaluatorCandidates, IsNotRepeatable) {
  Expect(Verdict::kMisbehaved, "differs between two runs",
         Of(Variant("Honest(call);"
                    "int* c = (int*)C(call); if (calls++ & 1) c[7] ^= 1;",
                    "static int calls;")),
         std::string("contract deterministic = 1\n") + kTask);
}

TEST_F(EvaluatorCandidates, EvilOnAThreadOfThePool) {
  Expect(Verdict::kMisbehaved, "the end of c",
         Variant("Honest(call); call->parallel->run(call->parallel, 64, Body, C(call));",
                 "static void Body(void* c, long, long end, int) {"
                 "  if (end == 64) ((float*)c)[2000] = 0; }"));
}

TEST_F(EvaluatorCandidates, ATensorUpdatedInPlaceKeepsItsMeaning) {
  const std::string task = "tensor x: f32[300]\ntensor y: f32[300]\nscalar s\ny[i] = x[i] + s*y[i]";
  const std::string source =
      "extern \"C\" void hiera_variant(const hiera_host_call* call) {"
      "  const float* x = (const float*)call->tensors[0]; float* y = (float*)call->tensors[1];"
      "  const float s = (float)call->scalars[0];"
      "  for (int i = 0; i < 300; ++i) y[i] = x[i] + s * y[i]; }";
  const JudgeReport report = evaluator_->Judge(task, Of(source));
  EXPECT_TRUE(IsCorrect(report.verdict)) << report.detail;
}

TEST_F(EvaluatorCandidates, ALibraryCallIsJudgedToo) {
  const std::string text =
      "tensor A: f32[24,20]\ntensor B: f32[20,28]\ntensor C: f32[24,28]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])";
  if (!LibraryRequirement().ok()) GTEST_SKIP() << LibraryRequirement().status().message();
  auto plans = LibraryPlans(*ParseTask(text));
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  Candidate candidate;
  candidate.space = Space::kLibrary;
  candidate.plan = plans->front();
  const JudgeReport report = evaluator_->Judge(text, candidate);
  EXPECT_TRUE(IsCorrect(report.verdict)) << report.detail;
  candidate.plan.text = "library of nothing";
  EXPECT_EQ(evaluator_->Judge(text, candidate).verdict, Verdict::kUnloadable);
}

TEST_F(EvaluatorCandidates, ATaskThatDoesNotParseIsAnsweredToo) {
  const JudgeReport report = evaluator_->Judge("c[i] = nonsense(", Of(Variant("Honest(call);")));
  EXPECT_EQ(report.verdict, Verdict::kUnloadable);
  EXPECT_NE(report.detail.find("line 1"), std::string::npos) << report.detail;
}

TEST_F(EvaluatorCandidates, SeveralAreReportedInOrder) {
  JudgeRequest request;
  request.id = 999;
  request.canonical = kTask;
  request.incumbent.kind = Incumbent::Kind::kNone;
  request.measure_seconds = 0.01;
  request.candidates = {Of(Variant("Honest(call);")), Of(Variant("*(volatile int*)8 = 1;")),
                        Of("broken"), Of(Variant("Honest(call);", "int other;"))};
  ASSERT_TRUE(evaluator_->channel().Send(request, 1000).ok());
  const bool correct[] = {true, false, false, true};
  for (uint32_t i = 0; i < 4; ++i) {
    auto report = evaluator_->Receive<JudgeReport>();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->id, 999u);
    EXPECT_EQ(report->candidate, i);
    EXPECT_EQ(IsCorrect(report->verdict), correct[i]) << i << ": " << report->detail;
    EXPECT_FALSE(report->verified);  // a first look
  }
}

TEST_F(EvaluatorCandidates, MeasuresTheMachine) {
  ASSERT_TRUE(evaluator_->channel().Send(MachineRequest{}, 1000).ok());
  auto report = evaluator_->Receive<MachineReport>();
  ASSERT_TRUE(report);
  EXPECT_GE(report->facts.threads, 1);
  EXPECT_GT(report->facts.copy_gbps, 0.1);
  EXPECT_GT(report->facts.flops_f32, 1.2 * report->facts.flops_f64);
  EXPECT_GT(report->facts.flops_f64, 1e8);
  EXPECT_TRUE(report->facts.has_gcc);
  EXPECT_NE(report->fingerprint.find("device=host"), std::string::npos);
}

// The task has 3 pages of inputs and 2 of outputs: two trials take 17 pages, three take 22. One
// candidate is right as long as it is given inputs that it has seen before.
TEST(EvaluatorProcess, JudgesInLittleMemoryToo) {
  Evaluator evaluator({"--memory", std::to_string(17 * 4096)});
  Candidate honest, remembering;
  honest.source = Variant("Honest(call);");
  const JudgeReport accepted = evaluator.Judge(kTask, honest);
  EXPECT_TRUE(IsCorrect(accepted.verdict)) << accepted.detail;
  EXPECT_TRUE(accepted.verified);
  remembering.source = Variant(
      "if (!known) { Honest(call); for (int i = 0; i < 2000; ++i) seen[i] = C(call)[i]; }"
      "known = 1; for (int i = 0; i < 2000; ++i) C(call)[i] = seen[i];",
      "static float seen[2000]; static int known;");
  const JudgeReport wrong = evaluator.Judge(kTask, remembering);
  EXPECT_EQ(wrong.verdict, Verdict::kWrong) << wrong.detail;
  EXPECT_NE(wrong.detail.find("after timing"), std::string::npos) << wrong.detail;

  Evaluator smaller({"--memory", std::to_string(17 * 4096 - 1)});
  const JudgeReport refused = smaller.Judge(kTask, honest);
  EXPECT_EQ(refused.verdict, Verdict::kUnloadable);
  EXPECT_NE(refused.detail.find("may be used"), std::string::npos) << refused.detail;
}

// It never outlives its planner, whatever it is doing.
TEST(EvaluatorProcess, EndsWithItsPlannerInTheMiddleOfARequest) {
  Evaluator evaluator;
  JudgeRequest request;
  request.canonical = kTask;
  Candidate candidate;
  candidate.source = Variant("for (;;) asm volatile(\"\");");
  request.candidates = {candidate};
  ASSERT_TRUE(evaluator.channel().Send(request, 1000).ok());
  evaluator.channel().Close();
  EXPECT_TRUE(evaluator.child().Wait(10'000));
}

}  // namespace
}  // namespace hiera
