#include "policies/kernel/cuda_stencil_policy.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace hiera {
namespace {

constexpr std::string_view kFamily = "stencil";
constexpr int kOfOneBlock = 3;  // of the first round's, so that blocks of several shapes are met

std::set<std::string> TriedNames(const Evidence& evidence) {
  std::set<std::string> names;
  for (const Trial& trial : evidence.trials) {
    if (trial.candidate.family == kFamily) names.insert(trial.candidate.name);
  }
  return names;
}

// What a task needs before its options matter; "" or the reason against it.
std::string Refusal(const Evidence& evidence) {
  if (!evidence.machine.IsGpu()) return "sweeps are CUDA code; this is not a GPU";
  if (!evidence.machine.has_nvrtc) return "no NVRTC on this machine";
  return "";
}

std::string ReasonFor(const StencilTask& stencil, const CudaSweepOptions& options) {
  std::string reason = std::to_string(options.neighbours) + " cells a thread";
  if (options.neighbours == 1 && stencil.alignment < 16) {
    reason += ", for the contract promises no alignment";
  }
  reason += ", " + std::to_string(options.march) + " planes walked in registers";
  if (options.ahead > 0) reason += ", " + std::to_string(options.ahead) + " asked for ahead";
  return reason;
}

// Adds the candidate of these options unless it was tried. A task that can't be written so is
// passed over; the last reason is kept.
void Add(const StencilTask& stencil, const Evidence& evidence, const CudaSweepOptions& options,
         const std::string& reason, std::set<std::string>* tried, Proposal* proposal) {
  if (!tried->insert(PlanName(options)).second) return;
  Result<CudaSource> source = WriteCudaSweep(stencil, options);
  if (!source.ok()) {
    proposal->refusal = source.status().message();
    return;
  }
  if (source->workspace_bytes > stencil.workspace_limit) {
    proposal->refusal = "a run of several steps needs " + std::to_string(source->workspace_bytes) +
                        " bytes of workspace, more than the contract's " +
                        std::to_string(stencil.workspace_limit);
    return;
  }
  Candidate candidate;
  candidate.space = Space::kKernel;
  candidate.family = kFamily;
  candidate.name = PlanName(options);
  candidate.reason = reason;
  candidate.compiler = Candidate::Compiler::kNvrtc;
  candidate.source = std::move(source->text);
  candidate.plan = {CudaPlanText(source->plan), source->workspace_bytes, 0};
  candidate.predicted_ns = PredictSweepNs(stencil, evidence.machine, options);
  proposal->candidates.push_back(std::move(candidate));
}

void Finish(const std::string& otherwise, Proposal* proposal) {
  if (!proposal->candidates.empty()) {
    proposal->refusal.clear();
  } else if (proposal->refusal.empty()) {
    proposal->refusal = otherwise;
  }
}

}  // namespace

Proposal CudaStencilPolicy::Propose(const Task& task, const Evidence& evidence,
                                    const Budget& budget) const {
  const std::string refusal = Refusal(evidence);
  if (!refusal.empty()) return {{}, refusal};
  Result<StencilTask> stencil = MapStencil(task);
  if (!stencil.ok()) return {{}, stencil.status().message()};
  const std::vector<CudaSweepOptions> all = EnumerateSweeps(*stencil, evidence.machine);
  Proposal proposal;
  if (all.empty()) {
    const Result<CudaSource> plain = WriteCudaSweep(*stencil, {});
    return {{}, plain.ok() ? "no block suits this grid" : plain.status().message()};
  }
  std::set<std::string> tried = TriedNames(evidence);
  std::map<std::pair<int, int>, int> of_block;
  for (const CudaSweepOptions& options : all) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    if (++of_block[{options.threads_x, options.threads_y}] > kOfOneBlock) continue;
    Add(*stencil, evidence, options, ReasonFor(*stencil, options), &tried, &proposal);
  }
  Finish("every sweep of the first round was tried", &proposal);
  return proposal;
}

Proposal CudaStencilPolicy::Refine(const Task& task, const Evidence& evidence,
                                   const Budget& budget) const {
  const std::string refusal = Refusal(evidence);
  if (!refusal.empty()) return {{}, refusal};
  Result<StencilTask> stencil = MapStencil(task);
  if (!stencil.ok()) return {{}, stencil.status().message()};
  std::vector<const Trial*> good;
  for (const Trial& trial : evidence.trials) {
    if (trial.candidate.family == kFamily && IsCorrect(trial.verdict) && trial.time_ns > 0) {
      good.push_back(&trial);
    }
  }
  std::stable_sort(good.begin(), good.end(),
                   [](const Trial* a, const Trial* b) { return a->time_ns < b->time_ns; });
  // Neighbours of the two best: of the second because the first may owe its place to noise.
  Proposal proposal;
  std::set<std::string> tried = TriedNames(evidence);
  for (size_t i = 0; i < good.size() && i < 2; ++i) {
    const std::optional<CudaSweepOptions> best = SweepFromName(good[i]->candidate.name);
    if (!best) continue;
    for (const CudaSweepOptions& options : NeighbourSweeps(*stencil, *best)) {
      if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
      Add(*stencil, evidence, options, "neighbour of " + PlanName(*best), &tried, &proposal);
    }
  }
  Finish(
      good.empty() ? "no sweep has run correctly yet" : "every neighbour of the best two was tried",
      &proposal);
  return proposal;
}

}  // namespace hiera
