#include "policies/library/cblas_policy.h"

#include <gtest/gtest.h>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

Task Parsed(const char* text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *task;
}

Evidence WithBlas() {
  Evidence evidence;
  evidence.machine.blas = "build-id 0123";
  evidence.machine.blas_what = "library libopenblas.so.0";
  return evidence;
}

constexpr char kProduct[] =
    "tensor A: f32[4,6]; tensor B: f32[6,5]; tensor C: f32[4,5]\n"
    "C[i,j] = sum(k: A[i,k]*B[k,j])";

TEST(CblasPolicyTest, SaysTheCallByStructure) {
  const Proposal proposal = CblasPolicy().Propose(Parsed(kProduct), WithBlas(), {});
  ASSERT_EQ(proposal.candidates.size(), 1u) << proposal.refusal;
  const Candidate& c = proposal.candidates[0];
  EXPECT_EQ(c.space, Space::kLibrary);
  EXPECT_EQ(c.name, "cblas_sgemm");
  EXPECT_EQ(c.plan.text,
            "library cblas_sgemm order=row transa=n transb=n m=4 n=5 k=6 alpha=1 a=t0 lda=6 b=t1 "
            "ldb=5 beta=0 c=t2 ldc=5");
  ASSERT_EQ(c.requirements.size(), 1u);
  EXPECT_EQ(c.requirements[0], (Requirement{"library libopenblas.so.0", "build-id 0123"}));
  EXPECT_EQ(c.source, "");
}

TEST(CblasPolicyTest, AVectorIsOfferedAsBothRoutines) {
  const Proposal proposal =
      CblasPolicy().Propose(Parsed("tensor A: f64[4,6]; tensor x: f64[6]; tensor y: f64[4]\n"
                                   "y[i] = sum(k: A[i,k]*x[k])"),
                            WithBlas(), {});
  ASSERT_EQ(proposal.candidates.size(), 2u) << proposal.refusal;
  EXPECT_EQ(proposal.candidates[0].name, "cblas_dgemv");
  EXPECT_EQ(proposal.candidates[1].name, "cblas_dgemm");
}

TEST(CblasPolicyTest, RefusesWithAReason) {
  const auto refusal = [](const char* text, const Evidence& evidence) {
    return CblasPolicy().Propose(Parsed(text), evidence, {}).refusal;
  };
  EXPECT_EQ(refusal(kProduct, Evidence()), "no CBLAS library was found on this machine");
  EXPECT_EQ(refusal("tensor x: f32[4]; tensor y: f32[4]; y[i] = exp(x[i])", WithBlas()),
            "not a matrix product");
  EXPECT_EQ(refusal("tensor A: f16[4,6]; tensor B: f16[6,5]; tensor C: f16[4,5]\n"
                    "C[i,j] = sum(k: A[i,k]*B[k,j])",
                    WithBlas()),
            "the sums are kept in f32, a library keeps them in f16");
  EXPECT_EQ(refusal("tensor A: f32[4,6]; tensor B: f32[6,5]; tensor C: f32[4,5] strides [20,2]\n"
                    "C[i,j] = sum(k: A[i,k]*B[k,j])",
                    WithBlas()),
            "no leading dimension describes operand C: one of its strides must be 1 and the other "
            "span the rows");
}

}  // namespace
}  // namespace hiera
