// What the CUDA policies of generated code propose, in which order, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>

#include "policies/framework/cuda_loops_policy.h"
#include "policies/kernel/cuda_fused_policy.h"
#include "runtime/task/cuda_plan.h"
#include "runtime/task/parse.h"

namespace hiera::testing {
namespace {

Task Parsed(const std::string& text) {
  auto task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *std::move(task);
}

Evidence OnGpu() {
  Evidence evidence;
  evidence.machine.architecture = "sm_90a";
  evidence.machine.threads = 132;
  evidence.machine.has_nvrtc = true;
  return evidence;
}

std::vector<std::string> Names(const Proposal& proposal) {
  std::vector<std::string> names;
  for (const Candidate& candidate : proposal.candidates) names.push_back(candidate.name);
  return names;
}

// Every candidate is CUDA with a plan that fits the task.
void ExpectFit(const Task& task, const Proposal& proposal) {
  for (const Candidate& candidate : proposal.candidates) {
    EXPECT_EQ(candidate.compiler, Candidate::Compiler::kNvrtc);
    const auto plan = ParseCudaPlan(candidate.plan.text);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_TRUE(CheckCudaPlan(*plan, task, candidate.plan.workspace_bytes).ok());
    EXPECT_NE(candidate.source.find("extern \"C\" __global__"), std::string::npos);
  }
}

Trial Ran(const Candidate& candidate, double time_ns) {
  Trial trial;
  trial.candidate = candidate;
  trial.time_ns = time_ns;
  return trial;
}

constexpr const char* kSoftmax =
    "tensor x: f32[64,2048]; tensor y: f32[64,2048]\n"
    "m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j]-m[i]); y[i,j] = e[i,j] / sum(k: e[i,k])";

TEST(CudaFusedPolicy, ThreadsOfARowFollowItsLength) {
  const Task rows = Parsed(kSoftmax);
  const Proposal proposal = CudaFusedPolicy().Propose(rows, OnGpu(), {});
  ExpectFit(rows, proposal);
  // 2,048 elements in groups of four, two groups a thread.
  EXPECT_EQ(Names(proposal),
            (std::vector<std::string>{
                "threads=256 rows=1 neighbours=4", "threads=128 rows=1 neighbours=4",
                "threads=512 rows=1 neighbours=4", "threads=64 rows=1 neighbours=4"}));
  EXPECT_EQ(proposal.candidates[0].family, "rowwise");

  const Task narrow = Parsed("tensor x: f32[4096,64]; tensor y: f32[4096]\ny[i] = sum(j: x[i,j])");
  EXPECT_EQ(Names(CudaFusedPolicy().Propose(narrow, OnGpu(), {}))[0],
            "threads=32 rows=8 neighbours=4");
}

TEST(CudaFusedPolicy, RefinesAroundTheBest) {
  const Task task = Parsed(kSoftmax);
  Evidence evidence = OnGpu();
  const Proposal first = CudaFusedPolicy().Propose(task, evidence, {});
  EXPECT_EQ(CudaFusedPolicy().Refine(task, evidence, {}).refusal, "no fused rows have run yet");
  ASSERT_EQ(first.candidates.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    evidence.trials.push_back(Ran(first.candidates[i], i == 2 ? 50 : 100));
  }
  EXPECT_EQ(Names(CudaFusedPolicy().Refine(task, evidence, {})),
            (std::vector<std::string>{"threads=1024 rows=1 neighbours=4",
                                      "threads=512 rows=1 neighbours=2"}));
}

TEST(CudaFusedPolicy, RefusesWithTheReason) {
  const auto refusal = [](const std::string& text) {
    return CudaFusedPolicy().Propose(Parsed(text), OnGpu(), {}).refusal;
  };
  EXPECT_EQ(refusal("tensor A: f32[4,5]; tensor B: f32[5,6]; tensor C: f32[4,6]\n"
                    "C[i,j] = sum(k: A[i,k] * B[k,j])"),
            "a matrix product, not rows");
  Evidence bare = OnGpu();
  bare.machine.has_nvrtc = false;
  EXPECT_EQ(CudaFusedPolicy().Propose(Parsed(kSoftmax), bare, {}).refusal,
            "no NVRTC on this machine");
}

TEST(CudaLoopsPolicy, SharesOutReductionsOnlyWhereTheyMayBeReordered) {
  const std::string text = "tensor x: f32[64,2048]; tensor y: f32[64]";
  const std::string sum = "\ny[i] = sum(j: x[i,j])";
  const Task task = Parsed(text + sum);
  const Proposal proposal = CudaLoopsPolicy().Propose(task, OnGpu(), {});
  ExpectFit(task, proposal);
  EXPECT_EQ(Names(proposal)[0], "threads=128 together");

  const Proposal exact =
      CudaLoopsPolicy().Propose(Parsed(text + "; contract arithmetic=exact" + sum), OnGpu(), {});
  ASSERT_FALSE(exact.candidates.empty()) << exact.refusal;
  for (const std::string& name : Names(exact)) {
    EXPECT_EQ(name.find("together"), std::string::npos) << name;
  }
}

TEST(CudaLoopsPolicy, WhatComesOutAlikeIsProposedOnce) {
  const Task task = Parsed("tensor x: f32[100,100]; tensor y: f32[100,100]\ny[i,j] = 2*x[j,i]");
  const Proposal proposal = CudaLoopsPolicy().Propose(task, OnGpu(), {});
  ExpectFit(task, proposal);
  for (size_t a = 0; a < proposal.candidates.size(); ++a) {
    for (size_t b = a + 1; b < proposal.candidates.size(); ++b) {
      EXPECT_FALSE(proposal.candidates[a].source == proposal.candidates[b].source &&
                   proposal.candidates[a].plan == proposal.candidates[b].plan)
          << Names(proposal)[a] << " is " << Names(proposal)[b];
    }
  }
}

TEST(CudaLoopsPolicy, RefinesTilesAndNeverRepeats) {
  const Task task = Parsed("tensor x: f32[100,100]; tensor y: f32[100,100]\ny[i,j] = 2*x[j,i]");
  Evidence evidence = OnGpu();
  for (const Candidate& candidate : CudaLoopsPolicy().Propose(task, evidence, {}).candidates) {
    const bool tiles = candidate.name == "threads=256 tile=64 rows=4";
    evidence.trials.push_back(Ran(candidate, tiles ? 50 : 100));
  }
  EXPECT_EQ(
      Names(CudaLoopsPolicy().Refine(task, evidence, {.candidates = 9})),
      (std::vector<std::string>{"threads=512 tile=64 rows=4", "threads=128 tile=64 rows=4",
                                "threads=256 tile=64 rows=8", "threads=256 tile=64 rows=2",
                                "threads=256 tile=128 rows=4", "threads=256 tile=32 rows=4"}));
}

TEST(Policies, AreThoseOfTheMachine) {
  MachineFacts host, gpu = OnGpu().machine;
  EXPECT_EQ(&PoliciesFor(host), &HostPolicies());
  EXPECT_EQ(&PoliciesFor(gpu), &CudaPolicies());
}

}  // namespace
}  // namespace hiera::testing
