#include "policies/framework/cuda_loops_policy.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

namespace hiera {
namespace {

constexpr std::string_view kFamily = "loops";
constexpr int kMostThreads = 1024;

std::string NameOf(const CudaLoopsOptions& options) {
  std::string name = "threads=" + std::to_string(options.threads);
  if (options.together) return name + " together";
  if (options.tile == 0) return name;
  return name + " tile=" + std::to_string(options.tile) + " rows=" + std::to_string(options.rows);
}

std::optional<CudaLoopsOptions> OptionsOf(const std::string& name) {
  CudaLoopsOptions options;
  const int read = std::sscanf(name.c_str(), "threads=%d tile=%d rows=%d", &options.threads,
                               &options.tile, &options.rows);
  if (read != 1 && read != 3) return std::nullopt;
  options.together = name.ends_with(" together");
  return options;
}

std::string ReasonFor(const CudaLoopsOptions& options) {
  if (options.together) return "reductions shared out over the threads of a block";
  if (options.tile == 0) return "one thread an element";
  return "one thread " + std::to_string(options.rows) + " elements, blocks of " +
         std::to_string(options.tile) + " by " +
         std::to_string(options.threads / options.tile * options.rows);
}

// Candidates for the forms that are new, in order; forms that come out alike are proposed once.
Proposal Write(const Task& task, const Evidence& evidence, const Budget& budget,
               const std::vector<CudaLoopsOptions>& forms) {
  Proposal proposal;
  if (!evidence.machine.has_nvrtc) return {{}, "no NVRTC on this machine"};
  for (const CudaLoopsOptions& options : forms) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    if (WasTried(evidence, kFamily, NameOf(options))) continue;
    Result<CudaSource> source = WriteCudaLoops(task, options);
    if (!source.ok()) return {{}, source.status().message()};
    if (source->workspace_bytes > task.contract.workspace_bytes) {
      return {{},
              "needs " + std::to_string(source->workspace_bytes) +
                  " bytes of workspace for locals and steps, the contract admits " +
                  std::to_string(task.contract.workspace_bytes)};
    }
    Candidate candidate = CudaCandidate(*std::move(source));
    candidate.space = Space::kFramework;
    candidate.family = kFamily;
    candidate.name = NameOf(options);
    candidate.reason = ReasonFor(options);
    const bool known = std::any_of(
        proposal.candidates.begin(), proposal.candidates.end(), [&](const Candidate& other) {
          return other.source == candidate.source && other.plan == candidate.plan;
        });
    if (!known) proposal.candidates.push_back(std::move(candidate));
  }
  if (proposal.candidates.empty()) proposal.refusal = "every form of plain CUDA was tried";
  return proposal;
}

}  // namespace

Candidate CudaCandidate(CudaSource source) {
  Candidate candidate;
  candidate.compiler = Candidate::Compiler::kNvrtc;
  candidate.source = std::move(source.text);
  candidate.plan = {CudaPlanText(source.plan), source.workspace_bytes, 0};
  return candidate;
}

Proposal CudaLoopsPolicy::Propose(const Task& task, const Evidence& evidence,
                                  const Budget& budget) const {
  std::vector<CudaLoopsOptions> forms;
  // Where nothing can be shared out `together` comes out as the plain form, and is dropped as that.
  if (task.contract.arithmetic != Arithmetic::kExact) {
    forms.push_back({.threads = 128, .together = true});
    forms.push_back({.threads = 32, .together = true});
  }
  forms.push_back({.threads = 256, .tile = 64, .rows = 4});
  forms.push_back({.threads = 256});
  forms.push_back({.threads = 256, .tile = 32});
  return Write(task, evidence, budget, forms);
}

// Blocks and rows half and twice as large as the best.
Proposal CudaLoopsPolicy::Refine(const Task& task, const Evidence& evidence,
                                 const Budget& budget) const {
  const Trial* best = BestTrial(evidence, kFamily);
  if (best == nullptr) return {{}, "no plain CUDA has run yet"};
  const auto options = OptionsOf(best->candidate.name);
  if (!options) return {{}, "the best plain CUDA has no name of ours"};
  std::vector<CudaLoopsOptions> forms;
  for (const int threads : {options->threads * 2, options->threads / 2}) {
    CudaLoopsOptions form = *options;
    form.threads = threads;
    if (threads >= std::max(32, form.tile) && threads <= kMostThreads) forms.push_back(form);
  }
  if (options->tile > 0) {
    for (const int rows : {options->rows * 2, options->rows / 2}) {
      CudaLoopsOptions form = *options;
      form.rows = rows;
      if (rows >= 1) forms.push_back(form);
    }
    for (const int tile : {options->tile * 2, options->tile / 2}) {
      CudaLoopsOptions form = *options;
      form.tile = tile;
      if (tile >= 32 && tile <= form.threads) forms.push_back(form);
    }
  }
  return Write(task, evidence, budget, forms);
}

}  // namespace hiera
