#include "policies/kernel/cuda_fused_policy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/framework/cuda_loops_policy.h"
#include "policies/kernel/fused/cuda_row_writer.h"
#include "policies/kernel/fused/fused_program.h"

namespace hiera {
namespace {

constexpr int kWarp = 32;
constexpr int kMostThreads = 1024;
// Groups of neighbours that a thread takes of a row: two loads in flight, few idle lanes.
constexpr double kGroupsAThread = 2;
constexpr int kWarpsABlock = 8;  // where a warp has a row to itself

std::string NameOf(const CudaRowOptions& options) {
  return "threads=" + std::to_string(options.threads) + " rows=" + std::to_string(options.rows) +
         " neighbours=" + std::to_string(options.neighbours);
}

std::optional<CudaRowOptions> OptionsOf(const std::string& name) {
  CudaRowOptions options;
  if (std::sscanf(name.c_str(), "threads=%d rows=%d neighbours=%d", &options.threads, &options.rows,
                  &options.neighbours) != 3) {
    return std::nullopt;
  }
  return options;
}

Proposal Write(const Task& task, const RowProgram& program, const Evidence& evidence,
               const Budget& budget, const std::vector<CudaRowOptions>& forms) {
  Proposal proposal;
  if (!evidence.machine.has_nvrtc) return {{}, "no NVRTC on this machine"};
  for (const CudaRowOptions& options : forms) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    if (WasTried(evidence, FusedFamily(program), NameOf(options))) continue;
    Result<CudaSource> source = WriteCudaRows(task, program, options);
    if (!source.ok()) return {{}, source.status().message()};
    Candidate candidate = CudaCandidate(*std::move(source));
    candidate.space = Space::kKernel;
    candidate.family = FusedFamily(program);
    candidate.name = NameOf(options);
    candidate.reason = std::to_string(program.passes) +
                       (program.passes == 1 ? " pass" : " passes") + " over " +
                       std::to_string(program.OuterCount()) + " rows of " +
                       std::to_string(program.RowCount()) + ", read and written once";
    proposal.candidates.push_back(std::move(candidate));
  }
  if (proposal.candidates.empty()) proposal.refusal = "every form of fused rows was tried";
  return proposal;
}

}  // namespace

Proposal CudaFusedPolicy::Propose(const Task& task, const Evidence& evidence,
                                  const Budget& budget) const {
  const Result<RowProgram> program = MakeFusedProgram(task);
  if (!program.ok()) return {{}, program.status().message()};
  const int widest = WidestNeighbours(task, *program);
  std::vector<CudaRowOptions> forms;
  if (!program->reduces()) {  // threads are numbered through all elements
    for (const int threads : {256, 512, 128}) forms.push_back({threads, 1, widest});
    if (widest > 1) forms.push_back({256, 1, widest / 2});
    return Write(task, *program, evidence, budget, forms);
  }
  forms.push_back({kWarp, kWarpsABlock, widest});
  for (int threads = 2 * kWarp; threads <= kMostThreads; threads *= 2) {
    forms.push_back({threads, 1, widest});
  }
  const double ideal = static_cast<double>(program->RowCount()) / (widest * kGroupsAThread);
  std::stable_sort(forms.begin(), forms.end(), [&](const auto& a, const auto& b) {
    return std::abs(std::log2(a.threads / ideal)) < std::abs(std::log2(b.threads / ideal));
  });
  forms.resize(4);  // what is farther off is reached by refining, if it is worth it
  return Write(task, *program, evidence, budget, forms);
}

// Threads and neighbours half and twice as many as the best.
Proposal CudaFusedPolicy::Refine(const Task& task, const Evidence& evidence,
                                 const Budget& budget) const {
  const Result<RowProgram> program = MakeFusedProgram(task);
  if (!program.ok()) return {{}, program.status().message()};
  const Trial* best = BestTrial(evidence, FusedFamily(*program));
  if (best == nullptr) return {{}, "no fused rows have run yet"};
  const auto options = OptionsOf(best->candidate.name);
  if (!options) return {{}, "the best fused rows have no name of ours"};
  std::vector<CudaRowOptions> forms;
  for (const int threads : {options->threads * 2, options->threads / 2}) {
    if (threads < kWarp || threads > kMostThreads) continue;
    const int rows = program->reduces() && threads == kWarp ? kWarpsABlock : 1;
    forms.push_back({threads, rows, options->neighbours});
  }
  if (options->threads == kWarp) {
    for (const int rows : {options->rows * 2, options->rows / 2}) {
      if (rows >= 1 && rows * kWarp <= kMostThreads) {
        forms.push_back({kWarp, rows, options->neighbours});
      }
    }
  }
  if (options->neighbours > 1) {
    forms.push_back({options->threads, options->rows, options->neighbours / 2});
  }
  return Write(task, *program, evidence, budget, forms);
}

}  // namespace hiera
