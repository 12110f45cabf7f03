// Matrix products as calls of cuBLAS and cuBLASLt, and cuBLASLt's algorithms as text.
#include "runtime/task/cublas_call.h"

#include <gtest/gtest.h>

#include "runtime/task/lt_algorithm.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

using Routine = CublasCall::Routine;

Task Parsed(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *task;
}

std::string First(const Task& task, Routine routine = Routine::kLt) {
  const auto calls = CublasCallsOf(task, routine);
  return calls.ok() ? calls->front().Text() : "refused: " + calls.status().message();
}

TEST(CublasCallTest, ARowMajorProductIsThatOfTheTransposes) {
  EXPECT_EQ(First(Parsed("tensor A: f32[3,4]; tensor B: f32[4,5]; tensor C: f32[3,5]\n"
                         "C[i,j] = sum(k: A[i,k]*B[k,j])"),
                  Routine::kGemm),
            "cublas_gemm compute=f32 in=f32 out=f32 transa=n transb=n m=5 n=3 k=4 alpha=1 a=t1 "
            "lda=5 b=t0 ldb=4 beta=0 c=t2 ldc=5 align=4");
}

TEST(CublasCallTest, AColumnMajorProductIsItself) {
  EXPECT_EQ(First(Parsed("tensor A: f16[3,4] strides [1,8]; tensor B: f16[4,5] strides [5,1]\n"
                         "tensor C: f16[3,5] strides [1,3]; scalar alpha; scalar beta\n"
                         "C[i,j] = alpha*sum(k: A[i,k]*B[k,j]) + beta*C[i,j]")),
            "cublaslt compute=f32 in=f16 out=f16 transa=n transb=t m=3 n=5 k=4 alpha=s0 a=t0 lda=8 "
            "b=t1 ldb=5 beta=s1 c=t2 ldc=3 align=2");
}

TEST(CublasCallTest, EndingsOfRowMajorProducts) {
  Task task = Parsed(
      "tensor A: bf16[2,8,4]; tensor B: bf16[2,4,6]; tensor C: bf16[2,8,6]; tensor d: bf16[2,6]\n"
      "C[b,i,j] = relu(sum(k: A[b,i,k]*B[b,k,j]) + d[b,j])");
  task.contract.alignment = 16;
  EXPECT_EQ(First(task),
            "cublaslt compute=f32 in=bf16 out=bf16 transa=n transb=n m=6 n=8 k=4 alpha=1 a=t1 "
            "lda=6 b=t0 ldb=4 beta=0 c=t2 ldc=6 batch=2:24:32:48 bias=t3:6 then=relu align=16");
  EXPECT_EQ(First(task, Routine::kGemm), "refused: cublasGemmEx applies no bias and no activation");
}

TEST(CublasCallTest, ABiasAcrossTheRowsOrAnotherActivationIsRefused) {
  EXPECT_EQ(First(Parsed("tensor A: f32[8,4]; tensor B: f32[4,6]; tensor C: f32[8,6]\n"
                         "tensor d: f32[8]\nC[i,j] = sum(k: A[i,k]*B[k,j]) + d[i]")),
            "refused: cuBLASLt adds a dense bias along the contiguous side of C only");
  EXPECT_EQ(First(Parsed("tensor A: f32[8,4]; tensor B: f32[4,6]; tensor C: f32[8,6]\n"
                         "C[i,j] = gelu(sum(k: A[i,k]*B[k,j]))")),
            "refused: cuBLASLt applies no activation but relu exactly");
}

TEST(CublasCallTest, TypesThatItHasAndHasNot) {
  EXPECT_EQ(First(Parsed("tensor A: f16[8,4]; tensor B: f16[4,6]; tensor C: f32[8,6]\n"
                         "C[i,j] = sum(k: A[i,k]*B[k,j])"))
                .substr(0, 40),
            "cublaslt compute=f32 in=f16 out=f32 tran");
  EXPECT_EQ(First(Parsed("tensor A: f16[8,4]; tensor B: bf16[4,6]; tensor C: f32[8,6]\n"
                         "C[i,j] = sum(k: A[i,k]*B[k,j])")),
            "refused: operands of different element types");
  Task wide = Parsed(
      "tensor A: f32[8,4]; tensor B: f32[4,6]; tensor C: f32[8,6]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])");
  wide.contract.accumulate = DType::kF64;
  EXPECT_EQ(First(wide), "refused: the sums are kept in f64, cuBLAS keeps those of f32 in f32");
  wide.contract.accumulate = DType::kF32;
  wide.contract.arithmetic = Arithmetic::kExact;
  EXPECT_EQ(First(wide), "refused: a library does not promise the order of exact arithmetic");
}

TEST(CublasCallTest, Tf32IsSaidOnlyWhereAdmittedAndThenFirst) {
  Task task = Parsed(
      "tensor A: f32[8,4]; tensor B: f32[4,6]; tensor C: f32[8,6]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])");
  EXPECT_EQ(CublasCallsOf(task, Routine::kGemm)->size(), 1U);
  task.contract.arithmetic = Arithmetic::kTf32;
  const auto calls = CublasCallsOf(task, Routine::kGemm);
  ASSERT_EQ(calls->size(), 2U);
  EXPECT_TRUE((*calls)[0].tf32);
  EXPECT_FALSE((*calls)[1].tf32);
}

TEST(CublasCallTest, EmptyMatricesAreForCublasAlone) {
  const Task task = Parsed(
      "tensor A: f32[8,0]; tensor B: f32[0,6]; tensor C: f32[8,6]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])");
  EXPECT_EQ(First(task, Routine::kGemm).substr(0, 11), "cublas_gemm");
  EXPECT_EQ(First(task), "refused: cuBLASLt refuses empty matrices");
}

TEST(LtAlgorithmTest, TextAndBack) {
  LtAlgorithm a{66, 20, 36, 4, kLtReduceComputeType, 1, 7, 2, 3};
  EXPECT_EQ(a.Text(),
            "algo=66 tile=20 stages=36 splitk=4 reduce=2 swizzle=1 custom=7 inner=2 cluster=3");
  const Result<LtAlgorithm> back = ParseLtAlgorithm(a.Text());
  ASSERT_TRUE(back.ok()) << back.status().message();
  EXPECT_EQ(*back, a);
  EXPECT_EQ(a.Name(),
            "66 128x128 stages 128xauto cluster 2x1 splitk 4 by sums swizzle 1 custom 7 inner 2");
}

TEST(LtAlgorithmTest, EveryFieldChangesTheText) {
  const LtAlgorithm base;
  const LtAlgorithm others[] = {
      {1, 0, 0, 1, 0, 0, 0, 0, 0}, {0, 1, 0, 1, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 0, 0, 0, 0, 0},
      {0, 0, 0, 2, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 0, 0, 0, 0}, {0, 0, 0, 1, 0, 1, 0, 0, 0},
      {0, 0, 0, 1, 0, 0, 1, 0, 0}, {0, 0, 0, 1, 0, 0, 0, 1, 0}, {0, 0, 0, 1, 0, 0, 0, 0, 1}};
  for (const LtAlgorithm& other : others) {
    EXPECT_NE(other.Text(), base.Text());
    EXPECT_EQ(*ParseLtAlgorithm(other.Text()), other);
  }
}

TEST(LtAlgorithmTest, AnythingElseIsRefused) {
  const std::string good = LtAlgorithm().Text();
  for (const std::string& bad :
       {std::string(), good + " ", good + " more=1", good.substr(0, good.size() - 1),
        "tile=0 " + good, std::string("algo=066") + good.substr(6),
        std::string("algo=99999999999") + good.substr(6)}) {
    const Result<LtAlgorithm> parsed = ParseLtAlgorithm(bad);
    EXPECT_FALSE(parsed.ok()) << bad;
  }
}

}  // namespace
}  // namespace hiera
