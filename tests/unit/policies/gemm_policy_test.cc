// What the GEMM policy proposes, refuses and refines, from fictional evidence.
#include "policies/kernel/gemm/gemm_policy.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "policies/kernel/gemm/problem.h"
#include "policies/kernel/gemm/search.h"
#include "policies/kernel/gemm/source.h"
#include "policies/kernel/gemm/tuning.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

Task Parsed(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *task;
}

std::string Product(int m, int n, int k, const std::string& dtype = "f32") {
  const auto tensor = [&](const char* name, int rows, int cols) {
    return std::string("tensor ") + name + ": " + dtype + "[" + std::to_string(rows) + "," +
           std::to_string(cols) + "]\n";
  };
  return tensor("A", m, k) + tensor("B", k, n) + tensor("C", m, n) +
         "C[i,j] = sum(k: A[i,k]*B[k,j])\n";
}

// Two cores with 256-bit vectors at 3.2 GHz.
Evidence Machine() {
  Evidence evidence;
  evidence.machine.threads = 2;
  evidence.machine.copy_gbps = 20;
  evidence.machine.flops_f32 = 205e9;
  evidence.machine.flops_f64 = 102e9;
  evidence.machine.has_clang = true;
  return evidence;
}

std::set<std::string> Names(const Proposal& proposal) {
  std::set<std::string> names;
  for (const Candidate& c : proposal.candidates) names.insert(c.name);
  return names;
}

TEST(GemmPolicyTest, RefusesWithAReason) {
  const auto refusal = [](const std::string& text) {
    const Proposal proposal = GemmPolicy().Propose(Parsed(text), Machine(), {});
    EXPECT_TRUE(proposal.candidates.empty());
    return proposal.refusal;
  };
  EXPECT_EQ(refusal("tensor x: f32[4]; tensor y: f32[4]; y[i] = exp(x[i])"),
            "not a matrix product");
  EXPECT_EQ(refusal(Product(8, 8, 8) + "contract arithmetic=exact"),
            "exact arithmetic admits neither fused multiply-add nor another order");
  EXPECT_EQ(refusal(Product(8, 8, 8) + "contract accumulate=f64"),
            "sums are kept in f64, which is not the operands' type");
  EXPECT_EQ(refusal(Product(4096, 4096, 4096)),
            "large in every dimension: a library's own kernels are at their peak");
  EXPECT_EQ(refusal("tensor A: f32[4,6]; tensor B: f32[6,5]; tensor C: f32[4,5] strides [20,2]\n"
                    "C[i,j] = sum(k: A[i,k]*B[k,j])"),
            "C has a unit stride along neither rows nor columns");
  EXPECT_EQ(refusal(Product(0, 8, 8)), "an extent is zero: there is nothing to multiply");
}

TEST(GemmPolicyTest, KeepsToTheBudget) {
  const Task task = Parsed(Product(24, 24, 24));
  Budget budget;
  budget.candidates = 5;
  EXPECT_EQ(GemmPolicy().Propose(task, Machine(), budget).candidates.size(), 5u);
  budget.candidates = 100;
  budget.seconds = 3;  // five at 0.6 seconds each
  EXPECT_EQ(GemmPolicy().Propose(task, Machine(), budget).candidates.size(), 5u);
}

TEST(GemmPolicyTest, CandidatesAreDistinctAndUseTheCompilersThereAre) {
  Evidence evidence = Machine();
  const Task task = Parsed(Product(17, 17, 17, "f64"));
  Proposal proposal = GemmPolicy().Propose(task, evidence, {});
  EXPECT_EQ(Names(proposal).size(), proposal.candidates.size());
  std::set<Candidate::Compiler> compilers;
  for (const Candidate& c : proposal.candidates) compilers.insert(c.compiler);
  EXPECT_EQ(compilers.size(), 2u);
  evidence.machine.has_gcc = false;
  for (const Candidate& c : GemmPolicy().Propose(task, evidence, {}).candidates) {
    EXPECT_EQ(c.compiler, Candidate::Compiler::kClang) << c.name;
  }
}

// The register tile must fit: sums, a row of B and an element of A in 16 registers. A column of
// up to 16 rows may keep B in memory.
TEST(GemmPolicyTest, TheFirstProposalsFillTheRegistersWithoutSpilling) {
  for (int n : {8, 16, 24, 32}) {
    const Proposal proposal = GemmPolicy().Propose(Parsed(Product(n, n, n)), Machine(), {});
    ASSERT_FALSE(proposal.candidates.empty());
    const auto tuning = gemm::Tuning::Parse(proposal.candidates[0].name);
    ASSERT_TRUE(tuning.has_value()) << proposal.candidates[0].name;
    EXPECT_LE(tuning->rows * tuning->vecs + tuning->vecs + 1, n == 8 ? 18 : 16);
    EXPECT_GE(tuning->rows * tuning->vecs, 8);
    EXPECT_EQ(tuning->width, 8);
    EXPECT_EQ(tuning->lanes, 1) << "waking a thread takes longer than the product";
  }
}

TEST(GemmPolicyTest, LongProductsAreSpreadOverTheThreads) {
  const Proposal skinny = GemmPolicy().Propose(Parsed(Product(4, 6144, 2048)), Machine(), {});
  ASSERT_FALSE(skinny.candidates.empty());
  EXPECT_EQ(gemm::Tuning::Parse(skinny.candidates[0].name)->lanes, 2);
  // Few results and a long sum: the sum itself is cut.
  bool split = false;
  for (const Candidate& c :
       GemmPolicy().Propose(Parsed(Product(4, 4, 200000)), Machine(), {}).candidates) {
    split |= gemm::Tuning::Parse(c.name)->split > 1;
  }
  EXPECT_TRUE(split);
}

TEST(GemmPolicyTest, TheContractsWorkspaceIsKept) {
  // B's rows are not contiguous, so that the outer tiles need a packed copy.
  const std::string text =
      "tensor A: f32[64,40]; tensor B: f32[48,40]; tensor C: f32[64,48]\n"
      "C[i,j] = sum(k: A[i,k]*B[j,k])\n";
  for (const Candidate& c : GemmPolicy().Propose(Parsed(text), Machine(), {}).candidates) {
    EXPECT_LE(c.plan.workspace_bytes, int64_t{1} << 30);
  }
  const Proposal none = GemmPolicy().Propose(Parsed(text + "contract workspace=0"), Machine(), {});
  for (const Candidate& c : none.candidates) EXPECT_EQ(c.plan.workspace_bytes, 0) << c.name;
  EXPECT_FALSE(none.candidates.empty()) << "inner tiles need no workspace";
}

TEST(GemmPolicyTest, RefineStaysNearTheBestAndRepeatsNothing) {
  const Task task = Parsed(Product(32, 32, 32));
  Evidence evidence = Machine();
  EXPECT_EQ(GemmPolicy().Refine(task, evidence, {}).refusal, "no tuning was correct");
  const Proposal first = GemmPolicy().Propose(task, evidence, {});
  for (size_t i = 0; i < first.candidates.size(); ++i) {
    Trial trial;
    trial.candidate = first.candidates[i];
    trial.verdict = i == 3 ? Verdict::kFaster : i == 5 ? Verdict::kWrong : Verdict::kNotFaster;
    trial.ratio = i == 3 ? 4 : i == 5 ? 9 : 0.5;
    evidence.trials.push_back(trial);
  }
  const Proposal second = GemmPolicy().Refine(task, evidence, {});
  ASSERT_FALSE(second.candidates.empty()) << second.refusal;
  const std::set<std::string> tried = Names(first);
  for (const Candidate& c : second.candidates) EXPECT_EQ(tried.count(c.name), 0u) << c.name;
  EXPECT_EQ(second.candidates[0].reason, "next to " + first.candidates[3].name);
  // A trial that was wrong is no centre, however fast.
  for (const Candidate& c : second.candidates) {
    EXPECT_NE(c.reason, "next to " + first.candidates[5].name);
  }
}

TEST(GemmProblemTest, ColumnMajorAndSharedOperandsAreSeenThrough) {
  // C[b,j,i] in memory is column-major C; A is shared and B runs on: one product of more rows.
  const Task task = Parsed(
      "tensor A: f32[8,6]; tensor B: f32[10,5,6]; tensor C: f32[10,5,8]\n"
      "C[b,j,i] = sum(k: A[i,k]*B[b,j,k])");
  const Result<gemm::Problem> problem = gemm::ProblemOf(task);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  EXPECT_EQ(problem->rows, 50);
  EXPECT_EQ(problem->cols, 8);
  EXPECT_EQ(problem->depth, 6);
  EXPECT_EQ(problem->matrices(), 1);
  EXPECT_EQ(problem->flops(), 2.0 * 50 * 8 * 6);
  EXPECT_EQ(problem->bytes(), 4.0 * (50 * 6 + 8 * 6 + 50 * 8));
}

TEST(GemmTuningTest, NamesReadBack) {
  gemm::Tuning t;
  EXPECT_EQ(t.Name(), "outer 4x2x8 u4 gcc");
  t.inner = true;
  t.rows = 3;
  t.vecs = 1;
  t.width = 16;
  t.unroll = 0;
  t.masked = true;
  t.mc = 96;
  t.nc = 1000;
  t.kc = 256;
  t.pack_a = t.pack_b = true;
  t.rows_first = false;
  t.split = 3;
  t.lanes = 12;
  t.compiler = Candidate::Compiler::kClang;
  EXPECT_EQ(t.Name(),
            "inner 3x1x16 mc96 nc1000 kc256 masked packa packb colsfirst split3 lanes12 clang");
  EXPECT_EQ(gemm::Tuning::Parse(t.Name()), t);
  EXPECT_EQ(gemm::Tuning::Parse("outer 4x2x8 u4 gcc"), gemm::Tuning());
  EXPECT_EQ(gemm::Tuning::Parse("loops"), std::nullopt);
  EXPECT_EQ(gemm::Tuning::Parse(""), std::nullopt);
  EXPECT_EQ(gemm::Tuning::Parse("outer 4x2 u4 gcc"), std::nullopt);
}

TEST(GemmSourceTest, FactorsAndEpiloguesAreSpelt) {
  const Task task = Parsed(
      "tensor A: f64[4,6]; tensor B: f64[6,5]; tensor C: f64[4,5]; tensor d: f64[5]\n"
      "scalar alpha; scalar beta\n"
      "C[i,j] = gelu(alpha*sum(k: A[i,k]*B[k,j]) + beta*C[i,j] + d[j])");
  const Result<gemm::Problem> problem = gemm::ProblemOf(task);
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  const std::string text = gemm::InstantiationSource(*problem, gemm::Tuning());
  EXPECT_NE(text.find("static_cast<T>(scalars[0])"), std::string::npos) << text;
  EXPECT_NE(text.find("static_cast<T>(scalars[1])"), std::string::npos);
  EXPECT_NE(text.find("return hiera_gemm::Gelu(x);"), std::string::npos);
  EXPECT_NE(text.find("kBiasRs = 0, kBiasCs = 1;"), std::string::npos);
  EXPECT_NE(text.find("typedef double T;"), std::string::npos);
}

}  // namespace
}  // namespace hiera
