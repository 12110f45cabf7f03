// What generated loops look like, and how the policy that proposes them decides.
#include <gtest/gtest.h>

#include "policies/framework/framework_policy.h"
#include "policies/framework/loops.h"
#include "runtime/task/parse.h"

namespace hiera::testing {
namespace {

// The body of the first statement's function.
std::string FirstStatement(const std::string& formula, int64_t block = 0) {
  const auto task = ParseTask(formula);
  EXPECT_TRUE(task.ok()) << task.status().message();
  const auto source = WriteLoops(*task, {.block = block});
  EXPECT_TRUE(source.ok()) << source.status().message();
  const size_t head = source->text.find("static void statement_0");
  const size_t begin = source->text.find("{\n", head) + 2;
  return source->text.substr(begin, source->text.find("\n}\n", begin) + 3 - begin);
}

TEST(LoopsText, HoistsRowReductionsOutOfTheRow) {
  EXPECT_EQ(FirstStatement("tensor x: f16[8,64]; tensor y: f32[8,64]\n"
                           "y[i,j] = x[i,j] / sum(k: abs(x[i,k]))"),
            R"(  for (long i0 = begin; i0 < end; ++i0) {
    real r3 = 0;
    for (long i2 = 0; i2 < 64; ++i2) {
      r3 += fn::abs(fn::widen(t0[64 * i0 + i2]));
    }
    for (long i1 = 0; i1 < 64; ++i1) {
      t1[64 * i0 + i1] = fn::widen(t0[64 * i0 + i1]) / r3;
    }
  }
}
)");
}

TEST(LoopsText, ChecksReadsAtTheEdgesAlone) {
  EXPECT_EQ(FirstStatement("tensor u: f64[20,30] outside zero; tensor v: f64[20,30]\n"
                           "v[i,j] = u[i-1,j] + u[i,j+2]"),
            R"(  for (long i0 = begin; i0 < end; ++i0) {
    const auto edge = [=](long i1) __attribute__((noinline)) {
      const real v0 = fn::inside(i0 - 1, 20) ? t0[(i0 - 1) * 30 + i1] : 0.0;
      const real v1 = fn::inside(i1 + 2, 30) ? t0[i0 * 30 + (i1 + 2)] : 0.0;
      t1[30 * i0 + i1] = v0 + v1;
    };
    const bool inside = i0 - 1 >= 0;
    const long first = !inside ? 30 : 0;
    const long last = !inside ? 30 : 28;
    for (long i1 = 0; i1 < first; ++i1) edge(i1);
    for (long i1 = first; i1 < last; ++i1) {
      t1[30 * i0 + i1] = t0[30 * i0 + i1 - 30] + t0[30 * i0 + i1 + 2];
    }
    for (long i1 = last; i1 < 30; ++i1) edge(i1);
  }
}
)");
}

TEST(LoopsText, SumsABlockOfOutputsSideBySide) {
  const std::string text = FirstStatement(
      "tensor A: f32[8,32]; tensor B: f32[32,128]; tensor C: f32[8,128]\n"
      "C[i,j] = sum(k: A[i,k] * B[k,j])",
      64);
  EXPECT_NE(text.find(R"(      for (long i2 = 0; i2 < 32; ++i2) {
        for (long lane = 0; lane < lanes; ++lane) {)"),
            std::string::npos)
      << text;
}

Evidence OnMachine(bool gcc, bool clang) {
  Evidence evidence;
  evidence.machine.threads = 4;
  evidence.machine.has_gcc = gcc;
  evidence.machine.has_clang = clang;
  return evidence;
}

std::vector<std::string> Names(const Proposal& proposal) {
  std::vector<std::string> names;
  for (const Candidate& candidate : proposal.candidates) names.push_back(candidate.name);
  return names;
}

Task Parsed(const std::string& text) {
  auto task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *std::move(task);
}

TEST(FrameworkPolicy, PutsTheFormThatReadsInOrderFirst) {
  const Task columns = Parsed("tensor x: f32[64,512]; tensor y: f32[512]\ny[j] = sum(i: x[i,j])");
  EXPECT_EQ(Names(FrameworkPolicy().Propose(columns, OnMachine(true, true), {})),
            (std::vector<std::string>{"gcc block=64", "gcc reassociated", "clang block=64",
                                      "clang reassociated"}));
  const Task rows = Parsed("tensor x: f32[64,512]; tensor y: f32[64]\ny[i] = sum(j: x[i,j])");
  EXPECT_EQ(Names(FrameworkPolicy().Propose(rows, OnMachine(true, false), {})),
            (std::vector<std::string>{"gcc reassociated", "gcc block=64"}));
}

TEST(FrameworkPolicy, LeavesSumsInOrderUnderExactArithmetic) {
  const Task exact = Parsed(
      "tensor x: f32[64,512]; tensor y: f32[64]; contract arithmetic=exact\n"
      "y[i] = sum(j: x[i,j])");
  for (const Candidate& candidate :
       FrameworkPolicy().Propose(exact, OnMachine(true, true), {}).candidates) {
    for (const std::string& flag : candidate.flags) EXPECT_NE(flag, "-fassociative-math");
  }
}

TEST(FrameworkPolicy, RefusesMoreWorkspaceThanTheContractAdmits) {
  const Task task = Parsed(
      "tensor x: f32[64,512]; tensor y: f32[64,512]; contract workspace=1000\n"
      "e[i,j] = exp(x[i,j]); y[i,j] = e[i,j] / sum(k: e[i,k])");
  EXPECT_EQ(FrameworkPolicy().Propose(task, OnMachine(true, false), {}).refusal,
            "needs 131072 bytes of workspace for locals and steps, the contract admits 1000");
}

TEST(FrameworkPolicy, RefinesTheBlockOfTheBestTrialOnly) {
  const Task task = Parsed("tensor x: f32[64,512]; tensor y: f32[512]\ny[j] = sum(i: x[i,j])");
  Evidence evidence = OnMachine(true, false);
  for (const Candidate& candidate : FrameworkPolicy().Propose(task, evidence, {}).candidates) {
    Trial trial;
    trial.candidate = candidate;
    trial.verdict = Verdict::kFaster;
    trial.time_ns = candidate.name == "gcc block=64" ? 10 : 20;
    evidence.trials.push_back(trial);
  }
  EXPECT_EQ(Names(FrameworkPolicy().Refine(task, evidence, {.candidates = 2})),
            (std::vector<std::string>{"gcc block=32", "gcc block=128"}));
  evidence.trials[1].time_ns = 5;
  EXPECT_EQ(FrameworkPolicy().Refine(task, evidence, {}).refusal,
            "the best plain loop has no block to vary");
}

}  // namespace
}  // namespace hiera::testing
