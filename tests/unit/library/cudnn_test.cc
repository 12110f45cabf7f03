// cuDNN's backend graphs, engines and launch, against a fictional library and driver.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/library/cuda/cudnn_executable.h"
#include "runtime/library/cuda/cudnn_problem.h"
#include "runtime/library/cuda/offers.h"
#include "runtime/task/parse.h"
#include "tests/unit/library/fictional_cudnn.h"
#include "tests/unit/library/fictional_gpu.h"

namespace hiera {
namespace {

Task Parsed(const std::string& ending, Arithmetic arithmetic = Arithmetic::kReassociate) {
  Result<Task> task = ParseTask(
      "tensor X: f32[2,3,8,8] outside zero; tensor W: f32[4,3,3,3]; tensor Y: f32[2,4,8,8]\n"
      "tensor d: f32[4]\n" +
      ending);
  EXPECT_TRUE(task.ok()) << task.status().message();
  task->contract.arithmetic = arithmetic;
  return *task;
}

const char kSum[] = "sum(c,r,s: X[n,c,y+r-1,x+s-1]*W[f,c,r,s])";

Task Fused(Arithmetic arithmetic = Arithmetic::kReassociate) {
  return Parsed("Y[n,f,y,x] = relu(" + std::string(kSum) + " + d[f])", arithmetic);
}

class CudnnTest : public testing::Test {
 protected:
  void SetUp() override {
    FictionalGpu::Reset();
    FictionalCudnn::last() = {};
  }
  void TearDown() override {
    EXPECT_EQ(FictionalCudnn::objects(), 0);
    EXPECT_EQ(FictionalGpu::Get().allocations.size(), 0U);
  }

  static std::vector<std::string> Names(const LibraryOffer& offer) {
    std::vector<std::string> names;
    for (const LibraryChoice& choice : offer.choices) names.push_back(choice.name);
    return names;
  }

  static LibraryOffer Offered(const Task& task, int64_t workspace_bytes = 1 << 20) {
    return OfferCudnn(task, FictionalCudnn::Functions(), workspace_bytes);
  }
};

using NameList = std::vector<std::string>;

TEST_F(CudnnTest, EveryEngineAndKnobThatCanBePlannedIsOfferedOnce) {
  const Task task = Fused();
  const LibraryOffer offer = Offered(task);
  // 0 with knob 2 at 2 can't be planned; 1 does not do the graph; 2 would round to TF32.
  EXPECT_EQ(Names(offer), (NameList{"engine=0 k2=1", "engine=3", "engine=0", "engine=0 k2=0"}));
  EXPECT_EQ(offer.choices[0].rank, 0);
  EXPECT_EQ(offer.choices[2].rank, 2);
  EXPECT_EQ(offer.choices[3].rank, -1);
  EXPECT_EQ(offer.choices[1].plan.workspace_bytes, 1 << 20);
  EXPECT_EQ(offer.choices[0].plan.text, "library " + CudnnGraphOf(task)->Text() + " engine=0 k2=1");
}

TEST_F(CudnnTest, TensorCoresForF32OnlyWhereTheContractAdmitsTf32) {
  const NameList names = Names(Offered(Fused(Arithmetic::kTf32)));
  EXPECT_EQ(names[1], "engine=2");
}

TEST_F(CudnnTest, AContractOfRepeatableBitsLeavesEnginesOut) {
  Task task = Fused();
  task.contract.deterministic = true;
  EXPECT_EQ(Names(Offered(task)), (NameList{"engine=0 k2=1", "engine=0", "engine=0 k2=0"}));
}

TEST_F(CudnnTest, AWorkspaceAboveTheBudgetIsNotOffered) {
  EXPECT_EQ(Names(Offered(Fused(), (1 << 20) - 1)),
            (NameList{"engine=0 k2=1", "engine=0", "engine=0 k2=0"}));
}

TEST_F(CudnnTest, EnginesThatCompileHaveATimeOfTheirOwn) {
  const auto problem =
      CudnnProblem::Make(FictionalCudnn::Functions(), nullptr, *CudnnGraphOf(Fused()));
  ASSERT_TRUE(problem.ok()) << problem.status().message();
  CudnnLimits limits;
  limits.compile_seconds = 0;
  for (const CudnnChoice& choice : (*problem)->Enumerate(limits)) {
    EXPECT_EQ(choice.engine.id, 0) << choice.engine.Text();
  }
  limits.seconds = 0;
  EXPECT_TRUE((*problem)->Enumerate(limits).empty());
  limits = {};
  limits.plans = 2;
  EXPECT_EQ((*problem)->Enumerate(limits).size(), 2U);
}

TEST_F(CudnnTest, TheEndingIsFusedThroughVirtualTensors) {
  { const LibraryOffer offer = Offered(Fused()); }
  EXPECT_EQ(FictionalCudnn::last().functions, (std::vector<int>{cudnn::kAdd, cudnn::kReluForward}));
  EXPECT_EQ(FictionalCudnn::last().virtual_tensors, 2);
  FictionalCudnn::last() = {};
  { const LibraryOffer offer = Offered(Parsed("Y[n,f,y,x] = " + std::string(kSum))); }
  EXPECT_TRUE(FictionalCudnn::last().functions.empty());
  EXPECT_EQ(FictionalCudnn::last().virtual_tensors, 0);
}

class CudnnRunTest : public CudnnTest {
 protected:
  hiera_status RunOn(const Executable& executable, uintptr_t stream) {
    void* pointers[] = {data_, data_ + 4, data_ + 8, data_ + 12};
    return executable.Run({pointers, nullptr, reinterpret_cast<void*>(stream)});
  }
  std::unique_ptr<ContextExecutable> Make(const std::optional<CudnnEngine>& engine,
                                          int64_t workspace_bytes) {
    return MakeCudnnConvolution(*CudnnGraphOf(Fused()), engine, workspace_bytes,
                                FictionalCudnn::Functions(), *handles_, FictionalGpu::Entries());
  }

  void TearDown() override {
    handles_.reset();
    CudnnTest::TearDown();
  }

  std::optional<HandlePool> handles_{
      std::in_place, "cudnnCreate",
      [](void** handle) { return FictionalCudnn::Functions().create(handle); },
      FictionalCudnn::Functions().destroy, FictionalGpu::Entries()};
  alignas(16) float data_[16] = {};
};

TEST_F(CudnnRunTest, ThePinnedEngineRunsOnTheCallersStream) {
  const auto run = Make(CudnnEngine{0, {{2, 1}}}, 0);
  ASSERT_TRUE(run->Prepare().ok());
  ASSERT_EQ(RunOn(*run, 7), HIERA_OK);
  const FictionalCudnn::Last& last = FictionalCudnn::last();
  EXPECT_EQ(last.engine, (CudnnEngine{0, {{2, 1}}}));
  EXPECT_EQ(last.stream, reinterpret_cast<void*>(7));
  EXPECT_EQ(last.pointers.at(CudnnProblem::kX), data_);
  EXPECT_EQ(last.pointers.at(CudnnProblem::kW), data_ + 4);
  EXPECT_EQ(last.pointers.at(CudnnProblem::kY), data_ + 8);
  EXPECT_EQ(last.pointers.at(CudnnProblem::kBias), data_ + 12);
}

TEST_F(CudnnRunTest, APackIsMadeOnceForTheSameAddresses) {
  const auto run = Make(CudnnEngine{3, {}}, 1 << 20);
  ASSERT_TRUE(run->Prepare().ok());
  for (int i = 0; i < 5; ++i) ASSERT_EQ(RunOn(*run, 7), HIERA_OK);
  EXPECT_EQ(FictionalCudnn::last().packs, 1);
  EXPECT_NE(FictionalCudnn::last().workspace, nullptr);
  void* const first = FictionalCudnn::last().workspace;
  ASSERT_EQ(RunOn(*run, 8), HIERA_OK);
  EXPECT_NE(FictionalCudnn::last().workspace, first) << "two streams share a workspace";
  FictionalGpu::Get().capturing = true;
  EXPECT_EQ(RunOn(*run, 7), HIERA_UNAVAILABLE);
}

TEST_F(CudnnRunTest, APlanThatAGraphHoldsOutlivesItsExecutable) {
  auto run = Make(CudnnEngine{0, {{2, 1}}}, 0);
  ASSERT_TRUE(run->Prepare().ok());
  FictionalGpu::Get().capturing = true;
  ASSERT_EQ(RunOn(*run, 1), HIERA_OK);
  run.reset();
  handles_.reset();
  EXPECT_EQ(FictionalCudnn::objects(), 1);
  FictionalCudnn::Functions().destroy_descriptor(FictionalCudnn::newest_plan());
}

TEST_F(CudnnRunTest, WithoutAnEngineTheFirstOfTheRankingThatFits) {
  const auto run = Make(std::nullopt, 0);
  ASSERT_TRUE(run->Prepare().ok());
  ASSERT_EQ(RunOn(*run, 1), HIERA_OK);
  EXPECT_EQ(FictionalCudnn::last().engine, (CudnnEngine{0, {{2, 1}}}));
}

TEST_F(CudnnRunTest, AThreadWithoutAContextRunsInTheFirstThatWasMadeReady) {
  const auto run = Make(CudnnEngine{0, {{2, 1}}}, 0);
  ASSERT_TRUE(run->Prepare().ok());
  FictionalGpu::Get().context = 0;
  EXPECT_EQ(RunOn(*run, 1), HIERA_OK);
  EXPECT_EQ(FictionalCudnn::last().runs, 1);
  EXPECT_EQ(FictionalGpu::Get().context, 0U) << "the context stays current";
  FictionalGpu::Get().context = 2;
  EXPECT_EQ(RunOn(*run, 1), HIERA_UNAVAILABLE);
  FictionalGpu::Get().context = 1;
}

TEST_F(CudnnRunTest, WhatCanNotBePlannedIsUnavailableWithItsStructure) {
  for (const CudnnEngine& engine :
       {CudnnEngine{1, {}}, CudnnEngine{0, {{2, 2}}}, CudnnEngine{3, {}}}) {
    const Status status = Make(engine, 0)->Prepare();
    EXPECT_EQ(status.code(), Code::kUnavailable);
  }
  const Status status = Make(CudnnEngine{0, {{2, 2}}}, 0)->Prepare();
  EXPECT_NE(status.message().find("engine=0 k2=2"), std::string::npos) << status.message();
}

}  // namespace
}  // namespace hiera
