#include "policies/kernel/gemm/gemm_policy.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policies/kernel/gemm/problem.h"
#include "policies/kernel/gemm/search.h"
#include "policies/kernel/gemm/source.h"

namespace hiera {
namespace {

// A product that is large in every dimension keeps any tuned library busy at its peak; a template
// without the library's assembly would only cost time to try.
constexpr int64_t kLargeExtent = 768;

// Seconds that building and judging one candidate takes, roughly; a budget is spent accordingly.
constexpr double kSecondsEach = 0.6;

int Affordable(const Budget& budget) {
  const int by_time = static_cast<int>(budget.seconds / kSecondsEach);
  return std::clamp(by_time, 1, std::max(budget.candidates, 1));
}

Candidate MakeCandidate(const gemm::Problem& problem, const gemm::Ranked& ranked,
                        std::string reason) {
  Candidate c;
  c.space = Space::kKernel;
  c.family = "gemm";
  c.name = ranked.tuning.Name();
  c.reason = std::move(reason);
  c.source = gemm::CandidateSource(problem, ranked.tuning);
  c.compiler = ranked.tuning.compiler;
  c.flags = {"-ffp-contract=fast"};
  c.plan.workspace_bytes = gemm::WorkspaceBytes(problem, ranked.tuning);
  c.plan.threads = ranked.tuning.lanes;
  c.predicted_ns = ranked.predicted_ns;
  return c;
}

std::string Microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g us", ns / 1000);
  return text;
}

Proposal Refused(std::string reason) { return {{}, std::move(reason)}; }

}  // namespace

Proposal GemmPolicy::Propose(const Task& task, const Evidence& evidence,
                             const Budget& budget) const {
  const Result<gemm::Problem> problem = gemm::ProblemOf(task);
  if (!problem.ok()) return Refused(problem.status().message());
  if (std::min({problem->rows, problem->cols, problem->depth}) > kLargeExtent) {
    return Refused("large in every dimension: a library's own kernels are at their peak");
  }
  Proposal proposal;
  for (const gemm::Ranked& ranked :
       gemm::FirstTunings(*problem, evidence.machine, Affordable(budget))) {
    proposal.candidates.push_back(
        MakeCandidate(*problem, ranked, "model: " + Microseconds(ranked.predicted_ns)));
  }
  if (proposal.candidates.empty()) proposal.refusal = "no tuning fits the contract's workspace";
  return proposal;
}

Proposal GemmPolicy::Refine(const Task& task, const Evidence& evidence,
                            const Budget& budget) const {
  const Result<gemm::Problem> problem = gemm::ProblemOf(task);
  if (!problem.ok()) return Refused(problem.status().message());
  std::set<std::string> tried;
  std::vector<const Trial*> good;
  for (const Trial& trial : evidence.trials) {
    if (trial.candidate.family != name()) continue;
    tried.insert(trial.candidate.name);
    if (IsCorrect(trial.verdict) && trial.ratio > 0) good.push_back(&trial);
  }
  std::stable_sort(good.begin(), good.end(),
                   [](const Trial* a, const Trial* b) { return a->ratio > b->ratio; });
  if (good.size() > 2) good.resize(2);
  const int most = Affordable(budget);
  Proposal proposal;
  for (const Trial* trial : good) {
    const auto center = gemm::Tuning::Parse(trial->candidate.name);
    if (!center) continue;
    for (const gemm::Ranked& next : gemm::Neighbours(*problem, *center, evidence.machine)) {
      if (static_cast<int>(proposal.candidates.size()) >= most) break;
      if (!tried.insert(next.tuning.Name()).second) continue;
      proposal.candidates.push_back(
          MakeCandidate(*problem, next, "next to " + trial->candidate.name));
    }
  }
  if (proposal.candidates.empty()) {
    proposal.refusal = good.empty() ? "no tuning was correct" : "every neighbour has been tried";
  }
  return proposal;
}

}  // namespace hiera
