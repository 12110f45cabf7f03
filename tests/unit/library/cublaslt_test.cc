// cuBLASLt's enumeration and launch, against a fictional library and driver.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "runtime/library/cuda/cublas_executables.h"
#include "runtime/library/cuda/lt_enumerate.h"
#include "runtime/library/cuda/offers.h"
#include "runtime/task/parse.h"
#include "tests/unit/library/fictional_gpu.h"
#include "tests/unit/library/fictional_lt.h"

namespace hiera {
namespace {

using Floats = std::vector<float>;

Task Parsed(const std::string& text, int64_t alignment = 16) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  task->contract.alignment = alignment;
  return *task;
}

CublasCall CallOf(const Task& task) {
  const auto calls = CublasCallsOf(task, CublasCall::Routine::kLt);
  EXPECT_TRUE(calls.ok()) << calls.status().message();
  return calls->front();
}

const char kProduct[] =
    "tensor A: f32[3,128]; tensor B: f32[128,2]; tensor C: f32[3,2]\n"
    "C[i,j] = sum(k: A[i,k]*B[k,j])";

class CublasLtTest : public testing::Test {
 protected:
  void SetUp() override {
    FictionalGpu::Reset();
    FictionalLt::last() = {};
  }
  void TearDown() override {
    EXPECT_EQ(FictionalLt::handles(), 0);
    EXPECT_EQ(FictionalLt::objects(), 0);
    EXPECT_EQ(FictionalGpu::Get().allocations.size(), 0U);
  }

  static LtEnumeration Enumerated(const Task& task, const LtLimits& limits = {}) {
    const auto problem = LtProblem::Make(FictionalLt::Functions(), nullptr, CallOf(task));
    EXPECT_TRUE(problem.ok());
    return EnumerateLt(**problem, limits);
  }

  static std::set<LtAlgorithm> Set(const LtEnumeration& found) {
    std::set<LtAlgorithm> set;
    for (const LtChoice& choice : found.choices) set.insert(choice.algorithm);
    EXPECT_EQ(set.size(), found.choices.size()) << "a structure stands twice";
    return set;
  }
};

LtAlgorithm Algorithm(int id, uint32_t tile, uint32_t stages, uint16_t cluster) {
  LtAlgorithm a;
  a.id = id;
  a.tile = tile;
  a.stages = stages;
  a.cluster = cluster;
  return a;
}

TEST_F(CublasLtTest, EnumeratesWhatTheLibraryTakesRankedFirst) {
  const LtEnumeration found = Enumerated(Parsed(kProduct));
  EXPECT_TRUE(found.complete);
  ASSERT_GE(found.choices.size(), 2U);
  // 9 rounds to TF32 and is left out of the ranking, too.
  EXPECT_EQ(found.choices[0].algorithm, Algorithm(66, 20, 36, 3));
  EXPECT_TRUE(found.choices[0].ranked);
  EXPECT_EQ(found.choices[1].algorithm, Algorithm(7, 20, 0, 0));
  EXPECT_FALSE(found.choices[2].ranked);
  const std::set<LtAlgorithm> set = Set(found);
  for (const LtAlgorithm& a : set) EXPECT_TRUE(a.id == 7 || a.id == 66) << a.Text();
  EXPECT_TRUE(set.count(Algorithm(7, 15, 0, 0)));
  for (const uint32_t tile : {18U, 20U}) {
    for (const uint16_t cluster : {0, 3, 6}) {
      EXPECT_TRUE(set.count(Algorithm(66, tile, 36, cluster))) << tile << " " << cluster;
    }
  }
  // k = 128: parts of 32 at least, so 2, 3 and 4 of them, in three schemes, on two tiles.
  const auto splits =
      std::count_if(set.begin(), set.end(), [](const LtAlgorithm& a) { return a.split_k > 1; });
  EXPECT_EQ(splits, 3 * 3 * 2);
  EXPECT_EQ(std::count_if(set.begin(), set.end(), [](const auto& a) { return a.custom == 2; }),
            3);  // two bases, and the one ranked with its cluster
}

TEST_F(CublasLtTest, OneAlignmentClassLowerLosesTheAlgorithmsThatNeedIt) {
  for (const LtAlgorithm& a : Set(Enumerated(Parsed(kProduct, 0)))) EXPECT_EQ(a.id, 7);
}

TEST_F(CublasLtTest, Tf32OnlyWhereTheContractAdmitsIt) {
  Task task = Parsed(kProduct);
  task.contract.arithmetic = Arithmetic::kTf32;
  const auto calls = CublasCallsOf(task, CublasCall::Routine::kLt);
  ASSERT_EQ(calls->size(), 2U);
  EXPECT_TRUE((*calls)[0].tf32);
  EXPECT_FALSE((*calls)[1].tf32);
  EXPECT_TRUE(Set(Enumerated(task)).count(Algorithm(9, 20, 0, 0)));
}

TEST_F(CublasLtTest, PartialSumsOfF16OutputsStayWide) {
  const Task task = Parsed(
      "tensor A: f16[3,128]; tensor B: f16[128,2]; tensor C: f16[3,2]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])");
  int splits = 0;
  for (const LtAlgorithm& a : Set(Enumerated(task))) {
    if (a.split_k == 1) continue;
    EXPECT_EQ(a.reduction, kLtReduceComputeType) << a.Text();
    ++splits;
  }
  EXPECT_EQ(splits, 3 * 2);
}

TEST_F(CublasLtTest, LimitsHold) {
  LtLimits limits;
  limits.workspace_bytes = 2 << 20;
  for (const LtChoice& choice : Enumerated(Parsed(kProduct), limits).choices) {
    EXPECT_LE(choice.workspace_bytes, size_t{2} << 20);
  }
  limits.checks = 3;
  const LtEnumeration cut = Enumerated(Parsed(kProduct), limits);
  EXPECT_FALSE(cut.complete);
  EXPECT_EQ(cut.checks, 3);
}

TEST_F(CublasLtTest, AnOfferSaysEveryChoiceByStructure) {
  const Task task = Parsed(kProduct);
  const LibraryOffer offer = OfferLt(task, FictionalLt::Functions(), {});
  EXPECT_EQ(offer.refusal, "");
  ASSERT_FALSE(offer.choices.empty());
  EXPECT_EQ(offer.choices[0].plan.text,
            "library " + CallOf(task).Text() + " " + Algorithm(66, 20, 36, 3).Text());
  EXPECT_EQ(offer.choices[0].rank, 0);
  EXPECT_EQ(offer.choices[0].name, "66 128x128 stages 128xauto cluster 2x1");
  std::set<std::string> names;
  for (const LibraryChoice& choice : offer.choices) names.insert(choice.name);
  EXPECT_EQ(names.size(), offer.choices.size());
  const LibraryOffer none = OfferLt(Parsed("tensor x: f32[4]; tensor y: f32[4]; y[i] = x[i]"),
                                    FictionalLt::Functions(), {});
  EXPECT_EQ(none.refusal, "not a matrix product");
}

// [1 2; 3 4; 5 6] [7 8 9; 10 11 12] = [27 30 33; 61 68 75; 95 106 117]
TEST_F(CublasLtTest, RunsTheAlgorithmThatThePlanPins) {
  const Task task = Parsed(
      "tensor A: f32[3,2]; tensor B: f32[2,3]; tensor C: f32[3,3]; tensor d: f32[3]\n"
      "scalar alpha\n"
      "C[i,j] = relu(alpha*sum(k: A[i,k]*B[k,j]) + d[j])",
      0);
  const auto run = MakeLtMatmul(CallOf(task), Algorithm(7, 15, 0, 0), 0, FictionalLt::Functions(),
                                FictionalGpu::Entries());
  ASSERT_TRUE(run->Prepare().ok());
  Floats a{1, 2, 3, 4, 5, 6}, b{7, 8, 9, 10, 11, 12}, c(9, -1), d{-60, 0, -100};
  const double scalars[] = {2};
  void* pointers[] = {a.data(), b.data(), c.data(), d.data()};
  const auto stream = reinterpret_cast<void*>(uintptr_t{5});
  ASSERT_EQ(run->Run({pointers, scalars, stream}), HIERA_OK);
  EXPECT_EQ(c, (Floats{0, 60, 0, 62, 136, 50, 130, 212, 134}));
  EXPECT_EQ(FictionalLt::last().algorithm, Algorithm(7, 15, 0, 0));
  EXPECT_EQ(FictionalLt::last().stream, stream);
  EXPECT_EQ(FictionalGpu::Get().allocate_calls, 0);
}

TEST_F(CublasLtTest, ABatchOfRowMajorMatrices) {
  // Matrix b of A is (b+1) times the identity; B is shared.
  const Task task = Parsed(
      "tensor A: f32[3,2,2]; tensor B: f32[2,2]; tensor C: f32[3,2,2]\n"
      "C[b,i,j] = sum(k: A[b,i,k]*B[k,j])",
      0);
  const auto run = MakeLtMatmul(CallOf(task), std::nullopt, 0, FictionalLt::Functions(),
                                FictionalGpu::Entries());
  const Status ready = run->Prepare();
  ASSERT_TRUE(ready.ok()) << ready.message();
  Floats a{1, 0, 0, 1, 2, 0, 0, 2, 3, 0, 0, 3}, b{1, 2, 3, 4}, c(12, -1);
  void* pointers[] = {a.data(), b.data(), c.data()};
  ASSERT_EQ(run->Run({pointers, nullptr, nullptr}), HIERA_OK);
  EXPECT_EQ(c, (Floats{1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12}));
  // The first of the ranking that keeps the contract.
  EXPECT_EQ(FictionalLt::last().algorithm, Algorithm(7, 20, 0, 0));
}

class SplitProduct : public CublasLtTest {
 protected:
  void SetUp() override {
    CublasLtTest::SetUp();
    split_ = Algorithm(7, 20, 0, 0);
    split_.split_k = 4;
    split_.reduction = kLtReduceComputeType;
    pointers_[0] = a_.data();
    pointers_[1] = b_.data();
    pointers_[2] = c_.data();
  }
  std::unique_ptr<ContextExecutable> Make(int64_t workspace_bytes) const {
    return MakeLtMatmul(CallOf(task_), split_, workspace_bytes, FictionalLt::Functions(),
                        FictionalGpu::Entries());
  }
  hiera_status RunOn(const Executable& executable, uintptr_t stream) {
    return executable.Run({pointers_, nullptr, reinterpret_cast<void*>(stream)});
  }

  const Task task_ = Parsed(kProduct, 0);
  LtAlgorithm split_;
  Floats a_ = Floats(3 * 128, 1), b_ = Floats(128 * 2, 1), c_ = Floats(6, -1);
  void* pointers_[3];
};

TEST_F(SplitProduct, EachStreamHasItsOwnWorkspaceMadeAhead) {
  const auto run = Make(4 << 20);
  ASSERT_TRUE(run->Prepare().ok());
  const int made = FictionalGpu::Get().allocate_calls;
  EXPECT_EQ(made, 8);
  std::set<void*> workspaces;
  for (uintptr_t stream = 0; stream < 8; ++stream) {
    ASSERT_EQ(RunOn(*run, stream), HIERA_OK);
    workspaces.insert(FictionalLt::last().workspace);
  }
  EXPECT_EQ(workspaces.size(), 8U);
  EXPECT_EQ(RunOn(*run, 99), HIERA_UNAVAILABLE) << "a ninth stream";
  ASSERT_EQ(RunOn(*run, 3), HIERA_OK);
  EXPECT_EQ(FictionalGpu::Get().allocate_calls, made);
  EXPECT_EQ(c_, Floats(6, 128));
}

TEST_F(SplitProduct, WorkspacesAreNotUsedUnderCapture) {
  const auto run = Make(4 << 20);
  ASSERT_TRUE(run->Prepare().ok());
  FictionalGpu::Get().capturing = true;
  EXPECT_EQ(RunOn(*run, 1), HIERA_UNAVAILABLE);
  EXPECT_EQ(FictionalLt::last().products, 0);
}

TEST_F(SplitProduct, TheLibrarysOwnChoiceHasASpareForWhereItsWorkspaceCanNotBeUsed) {
  const auto run = MakeLtMatmul(CallOf(task_), std::nullopt, 4 << 20, FictionalLt::Functions(),
                                FictionalGpu::Entries());
  ASSERT_TRUE(run->Prepare().ok());
  ASSERT_EQ(RunOn(*run, 1), HIERA_OK);
  EXPECT_EQ(FictionalLt::last().algorithm.split_k, 4);
  EXPECT_NE(FictionalLt::last().workspace, nullptr);
  FictionalGpu::Get().capturing = true;
  ASSERT_EQ(RunOn(*run, 1), HIERA_OK);
  EXPECT_EQ(FictionalLt::last().algorithm.split_k, 1);
  EXPECT_EQ(FictionalLt::last().workspace, nullptr);
  FictionalGpu::Get().capturing = false;
  for (uintptr_t stream = 2; stream < 9; ++stream) ASSERT_EQ(RunOn(*run, stream), HIERA_OK);
  EXPECT_EQ(FictionalLt::last().algorithm.split_k, 4);
  ASSERT_EQ(RunOn(*run, 99), HIERA_OK);
  EXPECT_EQ(FictionalLt::last().algorithm.split_k, 1) << "a ninth stream";
}

TEST_F(SplitProduct, AWorkspaceAboveThePlansIsRefused) {
  const Status status = Make((4 << 20) - 1)->Prepare();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("4194304"), std::string::npos) << status.message();
}

TEST_F(SplitProduct, WantOfMemoryIsAnErrorAndGivesBackWhatWasTaken) {
  FictionalGpu::Get().memory = 10 << 20;
  const Status status = Make(4 << 20)->Prepare();
  EXPECT_EQ(status.code(), Code::kOutOfMemory) << status.message();
}

TEST_F(SplitProduct, ContextsAreMadeReadyOneByOne) {
  const auto run = Make(4 << 20);
  ASSERT_TRUE(run->Prepare().ok());
  FictionalGpu::Get().context = 2;
  EXPECT_EQ(RunOn(*run, 1), HIERA_UNAVAILABLE);
  ASSERT_TRUE(run->Prepare().ok());
  ASSERT_TRUE(run->Prepare().ok());
  EXPECT_EQ(FictionalGpu::Get().allocate_calls, 16);
  EXPECT_EQ(RunOn(*run, 1), HIERA_OK);
  FictionalGpu::Get().context = 0;
  EXPECT_EQ(run->Prepare().code(), Code::kUnavailable);
  FictionalGpu::Get().context = 1;
}

TEST_F(SplitProduct, WorkspacesAreGivenBackInTheirContexts) {
  auto run = Make(4 << 20);
  ASSERT_TRUE(run->Prepare().ok());
  FictionalGpu::Get().context = 2;
  ASSERT_TRUE(run->Prepare().ok());
  EXPECT_EQ(FictionalGpu::Get().allocations.size(), 16U);
  FictionalGpu::Get().context = 0;  // none is current where it is destroyed
  run.reset();
  EXPECT_EQ(FictionalGpu::Get().allocations.size(), 0U);
  EXPECT_EQ(FictionalGpu::Get().context, 0U);
}

TEST_F(SplitProduct, AddressesBelowTheCallsAlignmentAreRefused) {
  const auto run = MakeLtMatmul(CallOf(Parsed(kProduct)), Algorithm(66, 20, 36, 0), 0,
                                FictionalLt::Functions(), FictionalGpu::Entries());
  ASSERT_TRUE(run->Prepare().ok());
  alignas(16) float a[3 * 128 + 1] = {};
  pointers_[0] = a + 1;
  EXPECT_EQ(RunOn(*run, 1), HIERA_UNAVAILABLE);
}

TEST_F(CublasLtTest, AnAlgorithmThatThisLibraryDoesNotRunIsUnavailable) {
  const auto run = MakeLtMatmul(CallOf(Parsed(kProduct)), Algorithm(7, 18, 0, 0), 0,
                                FictionalLt::Functions(), FictionalGpu::Entries());
  const Status status = run->Prepare();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_NE(status.message().find("tile=18"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace hiera
