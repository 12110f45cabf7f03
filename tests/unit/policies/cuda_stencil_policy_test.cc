// The policy of CUDA sweeps and its model, with a fictional GPU and fictional evidence.
#include "policies/kernel/cuda_stencil_policy.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "runtime/task/cuda_plan.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr const char* kPlane =
    "tensor u: f32[8192,8192] outside keep\ntensor v: f32[8192,8192]\n"
    "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])\n";
constexpr const char* kCube =
    "tensor u: f32[512,512,512] outside keep\ntensor v: f32[512,512,512]\n"
    "v[i,j,k] = 0.4*u[i,j,k] + 0.1*(u[i-1,j,k] + u[i+1,j,k] + u[i,j-1,k] + u[i,j+1,k] + "
    "u[i,j,k-1] + u[i,j,k+1])\n";
constexpr const char* kAligned = "contract align=16\n";

Evidence Gpu() {
  Evidence evidence;
  evidence.machine.threads = 132;
  evidence.machine.l3_bytes = 50 << 20;
  evidence.machine.copy_gbps = 4200;
  evidence.machine.architecture = "sm_90a";
  evidence.machine.has_nvrtc = true;
  return evidence;
}

Task Parse(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message() << "\n" << text;
  return task.ok() ? *std::move(task) : Task{};
}

Proposal Propose(const std::string& text, const Evidence& evidence = Gpu(),
                 const Budget& budget = {}) {
  return CudaStencilPolicy().Propose(Parse(text), evidence, budget);
}

TEST(CudaStencilPolicy, ProposesKernelsThatCanBeLaunched) {
  for (const std::string& text : {std::string(kPlane) + kAligned, std::string(kCube) + kAligned,
                                  std::string(kPlane), std::string(kCube) + "steps 6 (u = v)\n"}) {
    const Proposal proposal = Propose(text);
    ASSERT_FALSE(proposal.candidates.empty()) << proposal.refusal;
    EXPECT_LE(proposal.candidates.size(), 16u);
    std::set<std::string> names;
    std::map<std::pair<int, int>, int> blocks;
    double last = 0;
    for (const Candidate& candidate : proposal.candidates) {
      EXPECT_TRUE(names.insert(candidate.name).second) << candidate.name;
      EXPECT_EQ(candidate.family, "stencil");
      EXPECT_EQ(candidate.space, Space::kKernel);
      EXPECT_EQ(candidate.compiler, Candidate::Compiler::kNvrtc);
      EXPECT_TRUE(candidate.flags.empty());
      EXPECT_GE(candidate.predicted_ns, last) << "not best first: " << candidate.name;
      last = candidate.predicted_ns;
      const auto options = SweepFromName(candidate.name);
      ASSERT_TRUE(options.has_value()) << candidate.name;
      EXPECT_EQ(PlanName(*options), candidate.name);
      ++blocks[{options->threads_x, options->threads_y}];
      const auto plan = ParseCudaPlan(candidate.plan.text);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      const Status fits = CheckCudaPlan(*plan, Parse(text), candidate.plan.workspace_bytes);
      EXPECT_TRUE(fits.ok()) << fits.message();
      EXPECT_NE(candidate.source.find("__global__"), std::string::npos);
    }
    EXPECT_GE(blocks.size(), 3u) << "blocks of several shapes";
  }
}

// Sixteen bytes a thread where they are promised, and no access wider than an element where they
// are not.
TEST(CudaStencilPolicy, KeepsToThePromisedAlignment) {
  const Proposal promised = Propose(std::string(kCube) + kAligned);
  ASSERT_FALSE(promised.candidates.empty());
  EXPECT_EQ(SweepFromName(promised.candidates[0].name)->neighbours, 4);
  EXPECT_EQ(ParseCudaPlan(promised.candidates[0].plan.text)->alignment, 16);
  const Proposal bare = Propose(kCube);
  ASSERT_FALSE(bare.candidates.empty());
  for (const Candidate& candidate : bare.candidates) {
    EXPECT_EQ(SweepFromName(candidate.name)->neighbours, 1) << candidate.name;
    EXPECT_EQ(ParseCudaPlan(candidate.plan.text)->alignment, 1);
  }
}

// The model's first choices at what a copy takes: enough threads to fill the GPU, and at least
// 20 KB under way in each multiprocessor.
TEST(CudaStencilPolicy, TheModelFillsTheGpu) {
  for (const std::string& text : {std::string(kPlane) + kAligned, std::string(kCube) + kAligned}) {
    const auto stencil = MapStencil(Parse(text));
    ASSERT_TRUE(stencil.ok());
    const MachineFacts machine = Gpu().machine;
    const std::vector<CudaSweepOptions> all = EnumerateSweeps(*stencil, machine);
    ASSERT_GT(all.size(), 20u);
    const auto plan = WriteCudaSweep(*stencil, all[0])->plan;
    EXPECT_GE(plan.steps[0].grid[0], 2 * 132);
    // A walk of one plane reads three for each; it is predicted to take longer.
    CudaSweepOptions single = all[0];
    single.march = 1;
    single.ahead = 0;
    EXPECT_GT(PredictSweepNs(*stencil, machine, single), PredictSweepNs(*stencil, machine, all[0]));
    // A faster memory is predicted to help.
    MachineFacts slower = machine;
    slower.copy_gbps = 2100;
    EXPECT_GT(PredictSweepNs(*stencil, slower, all[0]),
              1.5 * PredictSweepNs(*stencil, machine, all[0]));
  }
}

TEST(CudaStencilPolicy, RefusesWithTheReason) {
  EXPECT_NE(Propose("tensor x: f32[64]\ntensor y: f32[64]\ny[i] = 2*x[i]")
                .refusal.find("no read is at a distance"),
            std::string::npos);
  Evidence evidence = Gpu();
  evidence.machine.has_nvrtc = false;
  EXPECT_NE(Propose(kPlane, evidence).refusal.find("NVRTC"), std::string::npos);
  evidence = {};
  EXPECT_NE(Propose(kPlane, evidence).refusal.find("not a GPU"), std::string::npos);
  EXPECT_NE(Propose(std::string(kPlane) + "steps 65 (u = v)\n").refusal.find("launches"),
            std::string::npos);
  EXPECT_NE(Propose(std::string(kPlane) + "steps 3 (u = v)\ncontract workspace=1000\n")
                .refusal.find("workspace"),
            std::string::npos);
}

// One buffer beside the output where every cell is written; two where kept cells of the output must
// stay as they are.
TEST(CudaStencilPolicy, StepsTakeTheWorkspaceThatTheyNeed) {
  constexpr int64_t kGrid = int64_t{8192} * 8192 * 4;
  std::string zero = kPlane;
  zero.replace(zero.find("keep"), 4, "zero");
  const auto bytes = [](const std::string& text) {
    const auto source = WriteCudaSweep(*MapStencil(Parse(text)), {});
    return source.ok() ? source->workspace_bytes : -1;
  };
  EXPECT_EQ(bytes(kPlane), 0);
  EXPECT_EQ(bytes(std::string(kPlane) + "steps 2 (u = v)\n"), kGrid);
  EXPECT_EQ(bytes(std::string(kPlane) + "steps 7 (u = v)\n"), 2 * kGrid);
  EXPECT_EQ(bytes(zero + "steps 7 (u = v)\n"), kGrid);
}

TEST(CudaStencilPolicy, RefinesTheBestTwo) {
  const Task task = Parse(std::string(kCube) + kAligned);
  const CudaStencilPolicy policy;
  Evidence evidence = Gpu();
  EXPECT_NE(policy.Refine(task, evidence, {}).refusal.find("has run correctly"), std::string::npos);
  const Proposal first = policy.Propose(task, evidence, {});
  ASSERT_GE(first.candidates.size(), 3u);
  std::set<std::string> tried;
  for (size_t i = 0; i < first.candidates.size(); ++i) {
    Trial trial;
    trial.candidate = first.candidates[i];
    trial.verdict = i == 1 ? Verdict::kFaster : i == 0 ? Verdict::kWrong : Verdict::kNotFaster;
    trial.time_ns = i == 1 ? 100 : 200 + static_cast<double>(i);
    tried.insert(trial.candidate.name);
    evidence.trials.push_back(trial);
  }
  const Proposal next = policy.Refine(task, evidence, {});
  ASSERT_FALSE(next.candidates.empty()) << next.refusal;
  const auto best = *SweepFromName(first.candidates[1].name);
  for (const Candidate& candidate : next.candidates) {
    EXPECT_EQ(tried.count(candidate.name), 0u) << candidate.name;
    EXPECT_TRUE(SweepFromName(candidate.name).has_value());
  }
  EXPECT_NE(next.candidates[0].reason.find(PlanName(best)), std::string::npos);
  // In the end nothing is left.
  for (int round = 0; round < 200; ++round) {
    const Proposal more = policy.Refine(task, evidence, {});
    if (more.candidates.empty()) {
      EXPECT_NE(more.refusal.find("best two"), std::string::npos) << more.refusal;
      return;
    }
    for (const Candidate& candidate : more.candidates) {
      Trial trial;
      trial.candidate = candidate;
      trial.time_ns = 300;
      evidence.trials.push_back(trial);
    }
  }
  FAIL() << "refining does not end";
}

// Also of the least that an option can be, and the most.
TEST(CudaStencilPolicy, NeighboursAreOptionsThatCanBeWritten) {
  for (const std::string& text : {std::string(kPlane), std::string(kCube) + kAligned}) {
    const auto stencil = MapStencil(Parse(text));
    ASSERT_TRUE(stencil.ok());
    for (const CudaSweepOptions& best :
         {CudaSweepOptions{1, 32, 1, 1, 0}, CudaSweepOptions{1, 1024, 1, 4096, 8}}) {
      const auto neighbours = NeighbourSweeps(*stencil, best);
      EXPECT_GE(neighbours.size(), 3u);
      for (const CudaSweepOptions& options : neighbours) {
        EXPECT_TRUE(WriteCudaSweep(*stencil, options).ok()) << PlanName(options);
      }
    }
  }
}

TEST(CudaStencilPolicy, NamesAreRead) {
  const CudaSweepOptions options{2, 64, 8, 32, 3, false};
  EXPECT_EQ(PlanName(options), "neighbours=2 threads=64x8 march=32 ahead=3 cached");
  EXPECT_EQ(SweepFromName(PlanName(options)), options);
  EXPECT_FALSE(SweepFromName("neighbours=2 threads=64x8 march=32 ahead=3").has_value());
  EXPECT_FALSE(SweepFromName("fuse=1 tile=1x1x1 slots=1 unroll=1 prefetch=0 gcc").has_value());
}

}  // namespace
}  // namespace hiera
