// The stencil policy on fictional machines: what it refuses and why, how it orders plans, and what
// measured trials make it try next.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "policies/kernel/stencil.h"
#include "policies/kernel/stencil_cell.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr char kGrid[] = "tensor u: f32[4096, 4096] outside keep\ntensor v: f32[4096, 4096]\n";
constexpr char kStar[] =
    "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])\n";

Task Parse(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message() << "\n" << text;
  return task.ok() ? *task : Task{};
}

Evidence TwoCores() {
  Evidence evidence;
  evidence.machine.threads = 2;
  evidence.machine.l1_bytes = 32 << 10;
  evidence.machine.l2_bytes = 512 << 10;
  evidence.machine.l3_bytes = 16 << 20;
  evidence.machine.copy_gbps = 24;
  evidence.machine.flops_f32 = 2 * 3.2e9 * 32;
  evidence.machine.flops_f64 = 2 * 3.2e9 * 16;
  evidence.machine.has_clang = true;
  return evidence;
}

Proposal Propose(const std::string& text) {
  return StencilPolicy().Propose(Parse(text), TwoCores(), {});
}

TEST(StencilPolicy, RefusesWithTheReason) {
  const std::string tensors = "tensor u: f32[64, 64] outside zero\ntensor v: f32[64, 64]\n";
  const struct {
    std::string text, reason;
  } refused[] = {
      {tensors + "v[i,j] = 2*u[i,j]", "no read is at a distance"},
      {tensors + "v[i,j] = exp(u[i-1,j])", "a transcendental function"},
      {tensors + "v[i,j] = u[j,i] + u[j,i-1]", "not the output's plus a constant"},
      {tensors + "v[i,j] = u[2*i,j] + u[i,j-1]", "not the output's plus a constant"},
      {tensors + "v[i,j] = u[i-1,j] + u[i-80,j]", "at a distance of -80"},
      {tensors + "v[i,j] = sum(k<3: u[i,j+k-1])", "not the output's plus a constant"},
      {"tensor u: f32[64, 64] outside zero\ntensor w: f32[64, 64]\ntensor v: f32[64, 64]\n"
       "w[i,j] = u[i-1,j]; v[i,j] = w[i,j] + u[i,j-1]",
       "has 2 statements"},
      {"tensor u: f16[64] outside zero\ntensor v: f16[64]\nv[i] = u[i-1] + u[i+1]", "is f16"},
      {"tensor u: f32[64, 64] strides [128, 2] outside zero\ntensor v: f32[64, 64]\n"
       "v[i,j] = u[i-1,j] + u[i,j+1]",
       "not contiguous"},
      {"tensor u: f32[8, 8, 8, 8] outside zero\ntensor v: f32[8, 8, 8, 8]\n"
       "v[i,j,k,l] = u[i-1,j,k,l] + u[i,j-1,k,l] + u[i,j,k-1,l] + u[i,j,k,l-1]",
       "covers three"},
      {"tensor u: f32[64] outside keep\ntensor v: f32[64]\nv[i] = select(u[i] < 0, u[i-1], u[i+1])",
       "a select decides whether \"u\", whose rule is keep, is read"},
  };
  for (const auto& [text, reason] : refused) {
    const Proposal proposal = Propose(text);
    EXPECT_TRUE(proposal.candidates.empty()) << text;
    EXPECT_NE(proposal.refusal.find(reason), std::string::npos)
        << text << "\nrefused with: " << proposal.refusal;
  }
}

TEST(StencilPolicy, BringsGridsToThreeDimensions) {
  // Column-major: the axis of stride 1 becomes the row.
  const Task columns = Parse(
      "tensor u: f64[30, 20] strides [1, 32] outside clamp\n"
      "tensor v: f64[30, 20] strides [1, 40]\nv[i,j] = u[i-2,j] + u[i,j+1]");
  Result<StencilTask> stencil = MapStencil(columns);
  ASSERT_TRUE(stencil.ok()) << stencil.status().message();
  EXPECT_EQ(stencil->extent, (std::array<int64_t, 3>{20, 1, 30}));
  EXPECT_EQ(stencil->low, (std::array<int64_t, 3>{0, 0, 2}));
  EXPECT_EQ(stencil->high, (std::array<int64_t, 3>{1, 0, 0}));
  EXPECT_EQ(stencil->stride[0], 40);
  EXPECT_EQ(stencil->sources[0].stride[0], 32);

  // Axes of a batch that nothing reads across are merged.
  const Task batch = Parse(
      "tensor u: f32[4, 5, 16, 24] outside wrap\ntensor v: f32[4, 5, 16, 24]\n"
      "v[a,b,i,j] = u[a,b,i-1,j] + u[a,b,i,j+1]");
  stencil = MapStencil(batch);
  ASSERT_TRUE(stencil.ok()) << stencil.status().message();
  EXPECT_EQ(stencil->extent, (std::array<int64_t, 3>{20, 16, 24}));
}

TEST(StencilPolicy, KeepsTheCellsWhoseReadsLeaveTheGrid) {
  Result<StencilTask> stencil =
      MapStencil(Parse("tensor u: f32[32, 48] outside keep\ntensor v: f32[32, 48]\n"
                       "v[i,j] = u[i-2,j] + u[i+1,j] + u[i,j+3]"));
  ASSERT_TRUE(stencil.ok()) << stencil.status().message();
  EXPECT_EQ(stencil->begin, (std::array<int64_t, 3>{2, 0, 0}));
  EXPECT_EQ(stencil->end, (std::array<int64_t, 3>{31, 1, 45}));
  EXPECT_TRUE(stencil->keeps());
}

TEST(StencilPolicy, FusesAWrappedStateOnlyWithFieldsThatFollowIt) {
  const std::string tensors = "tensor u: f32[64, 64] outside wrap\ntensor v: f32[64, 64]\n";
  const std::string steps = "\nsteps 6 (u = v)";
  const auto max_fuse = [&](const std::string& field, const std::string& read) {
    Result<StencilTask> stencil = MapStencil(
        Parse(tensors + "tensor k: f32[64, 64]" + field + "\nv[i,j] = u[i-1,j] * " + read + steps));
    EXPECT_TRUE(stencil.ok()) << stencil.status().message();
    return stencil.ok() ? stencil->max_fuse : -1;
  };
  EXPECT_EQ(max_fuse("", "k[i,j]"), 6);
  EXPECT_EQ(max_fuse(" outside wrap", "k[i+1,j]"), 6);
  EXPECT_EQ(max_fuse(" outside zero", "k[i+1,j]"), 1);
  EXPECT_EQ(max_fuse(" outside keep", "k[i+1,j]"), 1);
}

TEST(StencilPolicy, FusesManyStepsFirstAndTriesEachDepth) {
  const Proposal proposal = Propose(std::string(kGrid) + kStar + "steps 16 (u = v)");
  ASSERT_FALSE(proposal.candidates.empty()) << proposal.refusal;
  std::set<int64_t> depths;
  double last = 0;
  for (const Candidate& candidate : proposal.candidates) {
    const std::optional<StencilPlan> plan = PlanFromName(candidate.name);
    ASSERT_TRUE(plan.has_value()) << candidate.name;
    EXPECT_EQ(PlanName(*plan), candidate.name);
    EXPECT_LE(plan->fuse, 16);
    EXPECT_GE(candidate.predicted_ns, last) << "not best first: " << candidate.name;
    last = candidate.predicted_ns;
    depths.insert(plan->fuse);
  }
  EXPECT_GE(PlanFromName(proposal.candidates[0].name)->fuse, 4);
  EXPECT_GE(depths.size(), 4u);
}

TEST(StencilPolicy, GivesEveryThreadWork) {
  const std::string shapes[] = {"[1000000]", "[4096, 4096]", "[64, 100, 200]", "[3, 50000]"};
  const std::string formulas[] = {"v[i] = u[i-1] + u[i+1]", "v[i,j] = u[i-1,j] + u[i,j+1]",
                                  "v[i,j,k] = u[i-1,j,k] + u[i,j-1,k] + u[i,j,k+1]",
                                  "v[i,j] = u[i-1,j] + u[i,j+1]"};
  for (size_t i = 0; i < std::size(shapes); ++i) {
    const Proposal proposal = Propose("tensor u: f32" + shapes[i] + " outside zero\ntensor v: f32" +
                                      shapes[i] + "\n" + formulas[i]);
    ASSERT_FALSE(proposal.candidates.empty()) << proposal.refusal;
    EXPECT_EQ(PlanFromName(proposal.candidates[0].name)->slots, 2)
        << shapes[i] << ": " << proposal.candidates[0].name;
  }
}

TEST(StencilPolicy, SweepsWholePlanesWhereTheThirdLevelHoldsThem) {
  const Task task = Parse(
      "tensor u: f32[256, 256, 256] outside keep\ntensor v: f32[256, 256, 256]\n"
      "v[i,j,k] = 0.4*u[i,j,k] + 0.1*(u[i-1,j,k] + u[i+1,j,k] + u[i,j-1,k] + u[i,j+1,k] + "
      "u[i,j,k-1] + u[i,j,k+1])");
  Evidence evidence = TwoCores();
  const auto first_rows = [&] {
    const Proposal proposal = StencilPolicy().Propose(task, evidence, {});
    return proposal.candidates.empty() ? 0 : PlanFromName(proposal.candidates[0].name)->tile[1];
  };
  EXPECT_EQ(first_rows(), 256);
  // Four planes of 256 KiB for each of two threads want 2 MiB; of one that holds 1 MiB, rows are
  // taken so few at a time that the second level holds them.
  evidence.machine.l3_bytes = 1 << 20;
  EXPECT_LE(first_rows() * 256 * 4 * 4, evidence.machine.l2_bytes);
}

TEST(StencilPolicy, RespectsTheWorkspaceLimit) {
  const std::string text = std::string(kGrid) + kStar + "steps 16 (u = v)\ncontract workspace=";
  for (const Candidate& candidate : Propose(text + "8000000").candidates) {
    // A grid has 64 MiB: only plans that need none between passes fit.
    EXPECT_LE(candidate.plan.workspace_bytes, 8000000) << candidate.name;
    EXPECT_EQ(PlanFromName(candidate.name)->fuse, 16) << candidate.name;
  }
  EXPECT_NE(Propose(text + "0").refusal.find("workspace"), std::string::npos);
}

TEST(StencilPolicy, RefinesTheBestMeasuredPlan) {
  const Task task = Parse(std::string(kGrid) + kStar + "steps 16 (u = v)");
  const StencilPolicy policy;
  Evidence evidence = TwoCores();
  Proposal first = policy.Propose(task, evidence, {});
  ASSERT_GE(first.candidates.size(), 3u);
  EXPECT_NE(policy.Refine(task, evidence, {}).refusal.find("has run correctly"), std::string::npos);
  std::set<std::string> tried;
  for (size_t i = 0; i < first.candidates.size(); ++i) {
    Trial trial;
    trial.candidate = first.candidates[i];
    // The last is the fastest, but one that is wrong does not count.
    trial.time_ns = 1000.0 - static_cast<double>(i);
    trial.verdict = Verdict::kFaster;
    tried.insert(trial.candidate.name);
    evidence.trials.push_back(trial);
  }
  evidence.trials[0].time_ns = 1;
  evidence.trials[0].verdict = Verdict::kWrong;
  const std::string best = first.candidates.back().name;
  const Proposal next = policy.Refine(task, evidence, {});
  ASSERT_FALSE(next.candidates.empty()) << next.refusal;
  EXPECT_NE(next.candidates[0].reason.find(best), std::string::npos);
  for (const Candidate& candidate : next.candidates) {
    EXPECT_FALSE(tried.contains(candidate.name)) << candidate.name;
  }
  EXPECT_TRUE(policy.Propose(task, evidence, {1000, 30}).candidates.empty() ||
              !tried.contains(policy.Propose(task, evidence, {1000, 30}).candidates[0].name));
}

TEST(StencilPolicy, HonoursTheArithmetic) {
  const std::string text = std::string(kGrid) + "v[i,j] = (u[i-1,j] + u[i+1,j]) / 3\n";
  const Proposal loose = Propose(text);
  const Proposal exact = Propose(text + "contract arithmetic=exact");
  ASSERT_FALSE(loose.candidates.empty());
  ASSERT_FALSE(exact.candidates.empty());
  EXPECT_NE(loose.candidates[0].source.find("* 0.33333334f)"), std::string::npos);
  EXPECT_NE(exact.candidates[0].source.find("/ 3.0f)"), std::string::npos);
}

TEST(StencilPolicy, LiteralsReadBackAsTheyWere) {
  EXPECT_EQ(RealLiteral(0.1, DType::kF32), "0.1f");
  EXPECT_EQ(RealLiteral(0.1, DType::kF64), "0.1");
  EXPECT_EQ(RealLiteral(-3, DType::kF64), "(-3.0)");
  EXPECT_EQ(RealLiteral(1e300, DType::kF32), "float(__builtin_inf())");
}

}  // namespace
}  // namespace hiera
