// Which of a library's thousands of choices are tried, in which order; with fictional offers.
#include "policies/library/cuda_library_policy.h"

#include <gtest/gtest.h>

#include <set>

#include "policies/library/lt_model.h"
#include "runtime/task/cublas_call.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr uint32_t kTile128x128 = 20, kTile64x64 = 15, kTile256x128 = 24, kTile8x8 = 1;

Task Product(int m, int n, int k) {
  const auto s = [](int value) { return std::to_string(value); };
  Result<Task> task =
      ParseTask("tensor A: f32[" + s(m) + "," + s(k) + "]; tensor B: f32[" + s(k) + "," + s(n) +
                "]; tensor C: f32[" + s(m) + "," + s(n) + "]\nC[i,j] = sum(k: A[i,k]*B[k,j])");
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *task;
}

CublasCall CallOf(const Task& task) {
  return CublasCallsOf(task, CublasCall::Routine::kLt)->front();
}

LtAlgorithm Algorithm(int id, uint32_t tile, int split = 1) {
  LtAlgorithm a;
  a.id = id;
  a.tile = tile;
  a.split_k = split;
  a.reduction = split > 1 ? kLtReduceComputeType : kLtReduceNone;
  return a;
}

LibraryChoice Choice(const Task& task, const LtAlgorithm& algorithm, int rank = -1) {
  LibraryChoice choice;
  choice.plan.text = "library " + CallOf(task).Text() + " " + algorithm.Text();
  choice.name = algorithm.Name();
  choice.rank = rank;
  return choice;
}

Evidence With(LibraryOffer offer) {
  Evidence evidence;
  evidence.machine.threads = 132;
  evidence.machine.copy_gbps = 4270;
  evidence.floor_ns = 10'000;
  evidence.offers = {std::move(offer)};
  return evidence;
}

LibraryOffer Offer(std::vector<LibraryChoice> choices) {
  return {"cublaslt", {{"library libcublasLt.so.13", "build-id 1"}}, std::move(choices), ""};
}

std::vector<std::string> Names(const Proposal& proposal) {
  std::vector<std::string> names;
  for (const Candidate& c : proposal.candidates) names.push_back(c.name);
  return names;
}

TEST(LtModelTest, TilesThatHangOverTheEdgeAreCounted) {
  const Task task = Product(130, 128, 64);
  const CublasCall call = CallOf(task);  // m = 128, n = 130
  const LtModel model{call, 132, 1000, 0};
  EXPECT_DOUBLE_EQ(model.Coverage(Algorithm(1, kTile128x128)), 256.0 / 130);
  EXPECT_DOUBLE_EQ(model.Coverage(Algorithm(1, kTile64x64)), 192.0 / 130);
  EXPECT_DOUBLE_EQ(model.Coverage(Algorithm(1, 0)), 1);
}

TEST(LtModelTest, TheLastWaveIsCounted) {
  const Task task = Product(1024, 1024, 1024);
  const CublasCall call = CallOf(task);
  const LtModel model{call, 60, 1000, 0};
  EXPECT_DOUBLE_EQ(model.Fullness(Algorithm(1, kTile128x128), 0), 64.0 / 120);  // 64 blocks on 60
  EXPECT_DOUBLE_EQ(model.Fullness(Algorithm(1, kTile128x128, 2), 0), 128.0 / 180);
  EXPECT_DOUBLE_EQ(model.Fullness(Algorithm(1, kTile128x128), 1.5), 0.75);  // as the library says
}

TEST(LtModelTest, SplitsPayWhereBlocksAreFewAndNotWhereTheyAreMany) {
  const Task deep = Product(64, 64, 100'000);
  const CublasCall deep_call = CallOf(deep);
  const LtModel few{deep_call, 132, 14'000, 4270};
  EXPECT_LT(few.Predict(Algorithm(1, kTile64x64, 64), 0), few.Predict(Algorithm(1, kTile64x64), 0));
  const Task square = Product(8192, 8192, 512);
  const CublasCall square_call = CallOf(square);
  const LtModel many{square_call, 132, 1'300'000, 4270};
  EXPECT_GT(many.Predict(Algorithm(1, kTile128x128, 16), 0),
            many.Predict(Algorithm(1, kTile128x128), 0));
}

TEST(CudaLibraryPolicyTest, TheLibrarysOwnBestThenTheBestOfEachKind) {
  const Task task = Product(1024, 1024, 1024);
  LtAlgorithm clustered = Algorithm(7, kTile256x128);
  clustered.cluster = 3;
  const Evidence evidence = With(Offer({
      Choice(task, Algorithm(9, kTile64x64), 1),
      Choice(task, Algorithm(9, kTile128x128), 0),
      Choice(task, Algorithm(7, kTile8x8)),
      Choice(task, Algorithm(7, kTile256x128)),
      Choice(task, clustered),  // of the same kind as the former
      Choice(task, Algorithm(7, kTile128x128)),
  }));
  const Proposal proposal = CudaLibraryPolicy().Propose(task, evidence, {16, 30});
  const std::vector<std::string> names = Names(proposal);
  ASSERT_EQ(names.size(), 6U);
  EXPECT_EQ(names[0], "9 128x128");
  EXPECT_EQ(names[1], "9 64x64");
  EXPECT_EQ(names[4], "7 8x8");
  EXPECT_EQ(names[5], "7 256x128 cluster 2x1");
  EXPECT_EQ(proposal.candidates[0].family, "cublaslt");
  EXPECT_EQ(proposal.candidates[0].requirements, evidence.offers[0].requirements);
  EXPECT_EQ(proposal.candidates[0].reason, "number 1 of cublaslt's own ranking");
  EXPECT_EQ(proposal.candidates[0].space, Space::kLibrary);
}

TEST(CudaLibraryPolicyTest, TheBudgetHolds) {
  const Task task = Product(1024, 1024, 1024);
  std::vector<LibraryChoice> choices;
  for (int id = 0; id < 5000; ++id) choices.push_back(Choice(task, Algorithm(id, kTile64x64)));
  const Evidence evidence = With(Offer(std::move(choices)));
  EXPECT_EQ(CudaLibraryPolicy().Propose(task, evidence, {12, 30}).candidates.size(), 12U);
}

TEST(CudaLibraryPolicyTest, NeighboursOfTheBestAreRefined) {
  const Task task = Product(1024, 1024, 1024);
  LtAlgorithm clustered = Algorithm(7, kTile256x128);
  clustered.cluster = 3;
  Evidence evidence = With(Offer({
      Choice(task, Algorithm(9, kTile128x128), 0),
      Choice(task, Algorithm(7, kTile256x128)),
      Choice(task, Algorithm(30, kTile64x64)),
      Choice(task, Algorithm(7, kTile8x8)),
      Choice(task, clustered),
  }));
  const Proposal all = CudaLibraryPolicy().Propose(task, evidence, {16, 30});
  const auto named = [&](const std::string& name) {
    for (const Candidate& c : all.candidates) {
      if (c.name == name) return c;
    }
    ADD_FAILURE() << name << " is not proposed";
    return Candidate();
  };
  evidence.trials = {{named("9 128x128"), Verdict::kNotFaster, "", 2000, 1900, 0.95, 0.9},
                     {named("7 256x128"), Verdict::kFaster, "", 1000, 1900, 1.9, 1.8}};
  const Proposal next = CudaLibraryPolicy().Refine(task, evidence, {2, 30});
  const std::vector<std::string> names = Names(next);
  ASSERT_EQ(names.size(), 2U);
  EXPECT_EQ(names[0], "7 8x8");  // both differ in one attribute; predictions put tiles first
  EXPECT_EQ(names[1], "7 256x128 cluster 2x1");
  EXPECT_EQ(next.candidates[0].reason, "a neighbour of 7 256x128");
  for (const Candidate& c : next.candidates) {
    evidence.trials.push_back({c, Verdict::kWrong, "", 0, 0, 0, 0});
  }
  EXPECT_EQ(Names(CudaLibraryPolicy().Refine(task, evidence, {6, 30})),
            (std::vector<std::string>{"30 64x64"}));
}

TEST(CudaLibraryPolicyTest, EnginesInTheLibrarysOrder) {
  const Task task = Product(8, 8, 8);
  LibraryOffer offer{"cudnn", {}, {}, ""};
  for (const auto& [text, rank] : {std::pair<const char*, int>{"engine=4", -1},
                                   {"engine=2 k1=3", 0},
                                   {"engine=2 k1=4", -1},
                                   {"engine=2", 1}}) {
    offer.choices.push_back({{std::string("library cudnn_conv ") + text, 0, 0}, text, rank, 0});
  }
  Evidence evidence = With(std::move(offer));
  EXPECT_EQ(Names(CudaLibraryPolicy().Propose(task, evidence, {3, 30})),
            (std::vector<std::string>{"engine=2 k1=3", "engine=2", "engine=4"}));
  Candidate best;
  best.family = "cudnn";
  best.name = "engine=2 k1=3";
  best.plan.text = "library cudnn_conv engine=2 k1=3";
  evidence.trials = {{best, Verdict::kFaster, "", 1000, 1900, 1.9, 1.8}};
  EXPECT_EQ(Names(CudaLibraryPolicy().Refine(task, evidence, {1, 30})),
            (std::vector<std::string>{"engine=2"}));
}

TEST(CudaLibraryPolicyTest, ARefusalSaysWhatEachLibrarySaid) {
  const Task task = Product(8, 8, 8);
  Evidence evidence;
  evidence.offers = {{"cublaslt", {}, {}, "no layout"}, {"cudnn", {}, {}, "not a convolution"}};
  EXPECT_EQ(CudaLibraryPolicy().Propose(task, evidence, {8, 30}).refusal,
            "cublaslt: no layout; cudnn: not a convolution");
  evidence.offers_refusal = "no CUDA device can be used";
  EXPECT_EQ(CudaLibraryPolicy().Propose(task, evidence, {8, 30}).refusal,
            "no CUDA device can be used");
}

}  // namespace
}  // namespace hiera
