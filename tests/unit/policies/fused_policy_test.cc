// What the fused policy proposes and refuses, and what a fused row looks like.
#include "policies/kernel/fused_policy.h"

#include <gtest/gtest.h>

#include "policies/kernel/fused/row_program.h"
#include "runtime/task/parse.h"

namespace hiera::testing {
namespace {

Task Parsed(const std::string& text) {
  auto task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *std::move(task);
}

Evidence OnMachine(int threads) {
  Evidence evidence;
  evidence.machine.threads = threads;
  evidence.machine.vector_bytes = 32;
  return evidence;
}

std::string Refusal(const std::string& text) {
  return FusedPolicy().Propose(Parsed(text), OnMachine(4), {}).refusal;
}

TEST(FusedPolicy, RefusesWhatIsNotMadeOfRows) {
  EXPECT_EQ(Refusal("tensor u: f32[9] outside zero; tensor v: f32[9]\nv[i] = u[i-1]"),
            "reads outside a tensor");
  EXPECT_EQ(Refusal("tensor x: f32[4,9]; tensor y: f32[4,9]\ny[i,j] = cumsum(j: x[i,j])"),
            "has a scan");
  EXPECT_EQ(Refusal("tensor A: f32[4,5]; tensor B: f32[5,6]; tensor C: f32[4,6]\n"
                    "C[i,j] = sum(k: A[i,k] * B[k,j])"),
            "a matrix product, not rows");
  EXPECT_EQ(Refusal("tensor x: f32[9,40]; tensor y: f32[40]\ny[j] = sum(i: x[i,j])"),
            "the elements of a row lie 40 apart in memory");
  EXPECT_EQ(Refusal("tensor x: f32[4,4]; tensor y: f32[4,4]\ny[i,j] = x[i,j] + x[j,i]"),
            "reads a tensor and its transpose");
  EXPECT_EQ(Refusal("tensor x: f32[4,9]; tensor y: f32[4]; contract arithmetic=exact\n"
                    "y[i] = sum(j: x[i,j])"),
            "exact arithmetic: sums in vectors change the order");
}

TEST(FusedPolicy, AdmitsOrderFreeReductionsUnderExactArithmetic) {
  EXPECT_EQ(Refusal("tensor x: f32[4,9]; tensor y: f32[4]; contract arithmetic=exact\n"
                    "y[i] = max(j: x[i,j])"),
            "");
}

TEST(FusedPolicy, CutsRowsWhereThereAreFewerThanThreads) {
  const std::string row = "tensor y: f32[]\ny = sum(i: x[i])";
  const Proposal cut =
      FusedPolicy().Propose(Parsed("tensor x: f32[1000000];" + row), OnMachine(4), {});
  ASSERT_FALSE(cut.candidates.empty()) << cut.refusal;
  EXPECT_EQ(cut.candidates[0].name, "gcc vector=32 unroll=4 split");
  EXPECT_EQ(cut.candidates[0].family, "rowwise");
  EXPECT_EQ(cut.candidates[0].plan.threads, 4);
  EXPECT_GT(cut.candidates[0].plan.workspace_bytes, 0);
  const Proposal whole =
      FusedPolicy().Propose(Parsed("tensor x: f32[1000];" + row), OnMachine(4), {});
  ASSERT_FALSE(whole.candidates.empty()) << whole.refusal;
  EXPECT_EQ(whole.candidates[0].name, "gcc vector=32 unroll=4");
  EXPECT_EQ(whole.candidates[0].plan.threads, 1);
}

TEST(FusedPolicy, NeverProposesWhatWasTried) {
  const Task task = Parsed("tensor x: f32[64,512]; tensor y: f32[64]\ny[i] = sum(j: x[i,j])");
  Evidence evidence = OnMachine(2);
  for (int round = 0; round < 2; ++round) {
    const Proposal proposal = round == 0 ? FusedPolicy().Propose(task, evidence, {})
                                         : FusedPolicy().Refine(task, evidence, {});
    ASSERT_FALSE(proposal.candidates.empty()) << proposal.refusal;
    for (const Candidate& candidate : proposal.candidates) {
      for (const Trial& trial : evidence.trials) {
        EXPECT_NE(trial.candidate.name, candidate.name);
      }
    }
    for (const Candidate& candidate : proposal.candidates) {
      Trial trial;
      trial.candidate = candidate;
      trial.time_ns = 1;
      evidence.trials.push_back(trial);
    }
  }
  EXPECT_FALSE(FusedPolicy().Propose(task, evidence, {}).refusal.empty());
}

TEST(RowProgram, FusesTheStatementsOfSoftmaxIntoThreePasses) {
  const auto program =
      MakeRowProgram(Parsed("tensor x: f32[6,45]; tensor y: f32[6,45]\n"
                            "m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j] - m[i])\n"
                            "y[i,j] = e[i,j] / sum(k: e[i,k])"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  EXPECT_EQ(program->passes, 3);
  EXPECT_EQ(program->values.size(), 6u);  // x, max, x - max, exp, sum, quotient
  EXPECT_EQ(program->OuterCount(), 6);
  EXPECT_EQ(program->RowCount(), 45);
}

TEST(RowProgram, JoinsAxesThatLieInOrder) {
  const auto program = MakeRowProgram(
      Parsed("tensor x: f32[2,3,4,5]; tensor y: f32[2,3,4,5]\ny[a,b,c,d] = x[a,b,c,d] * 2"));
  ASSERT_TRUE(program.ok()) << program.status().message();
  ASSERT_EQ(program->axes.size(), 1u);
  EXPECT_EQ(program->RowCount(), 120);
}

}  // namespace
}  // namespace hiera::testing
