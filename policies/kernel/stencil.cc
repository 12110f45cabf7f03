#include "policies/kernel/stencil.h"

#include <algorithm>
#include <set>
#include <utility>

#include "policies/kernel/stencil_text.h"
#include "stencil_templates.h"

namespace hiera {
namespace {

constexpr size_t kFusePerRound = 2;  // plans of one fuse depth in the first round

std::string PlanText(const StencilTask& stencil, const StencilPlan& plan) {
  std::string text =
      "struct Plan {\n  static constexpr long kExtent[] = " + ListText(stencil.extent) +
      ", kBegin[] = " + ListText(stencil.begin) + ", kEnd[] = " + ListText(stencil.end) +
      ";\n  static constexpr SourceShape kSource[] = {";
  for (const StencilTask::Source& source : stencil.sources) {
    text += "\n      {" + std::to_string(source.tensor) + ", " + StencilRuleText(source.rule) +
            ", " + ListText(source.extent) + ", " + ListText(source.stride) + "},";
  }
  std::vector<int> scalars = stencil.scalars;
  if (scalars.empty()) scalars.push_back(0);  // an array has at least one entry
  text += "};\n  static constexpr int kScalar[] = " + ListText(scalars) +
          ", kOutput = " + std::to_string(stencil.output) +
          ";\n  static constexpr long kStride[] = " + ListText(stencil.stride) +
          ", kSteps = " + std::to_string(stencil.steps) + ", kFuse = " + std::to_string(plan.fuse) +
          ", kTile[] = " + ListText(plan.tile) +
          ";\n  static constexpr int kSlots = " + std::to_string(plan.slots) +
          ", kUnroll = " + std::to_string(plan.unroll) +
          ", kPrefetch = " + std::to_string(plan.prefetch) + ";\n};\n";
  return text;
}

std::set<std::string> TriedNames(const Evidence& evidence) {
  std::set<std::string> names;
  for (const Trial& trial : evidence.trials) {
    if (trial.candidate.family == "stencil") names.insert(trial.candidate.name);
  }
  return names;
}

std::string WhyFuse(const StencilPlan& plan, const StencilTask& stencil) {
  if (stencil.steps == 1) return "one sweep, blocked for the caches";
  if (plan.fuse == 1) return "one step a pass: what fusing has to beat";
  return std::to_string(plan.fuse) + " steps a pass: the grid crosses memory " +
         std::to_string((stencil.steps + plan.fuse - 1) / plan.fuse) + " times instead of " +
         std::to_string(stencil.steps);
}

}  // namespace

std::string StencilTemplates() {
  std::string text;
  for (std::string_view part :
       {embedded::stencil_pack_cc, embedded::stencil_row_cc, embedded::stencil_layout_cc,
        embedded::stencil_unit_cc, embedded::stencil_sweep_cc}) {
    text += part;
  }
  return text;
}

// The types are local to the text, so that nothing of the templates is shared between two objects
// of one process.
std::string StencilInstance(const StencilTask& stencil, const StencilPlan& plan,
                            const std::string& entry) {
  return "\nnamespace hiera_stencil {\nnamespace {\nnamespace for_" + entry + " {\n" +
         StencilCellText(stencil) + PlanText(stencil, plan) +
         "static_assert(Layout<Cell, Plan>::kWorkspaceBytes == " +
         std::to_string(StencilWorkspaceBytes(stencil, plan)) + ");\n}  // namespace for_" + entry +
         "\n}  // namespace\n}  // namespace hiera_stencil\n\n" +
         "extern \"C\" __attribute__((visibility(\"default\"))) void " + entry +
         "(const hiera_host_call* call) {\n  using namespace hiera_stencil::for_" + entry +
         ";\n  hiera_stencil::RunTask<Cell, Plan>(call);\n}\n";
}

Candidate MakeStencilCandidate(const StencilTask& stencil, const StencilPlan& plan,
                               std::string reason, double predicted_ns) {
  Candidate candidate;
  candidate.space = Space::kKernel;
  candidate.family = "stencil";
  candidate.name = PlanName(plan);
  candidate.reason = std::move(reason);
  candidate.compiler = plan.compiler;
  candidate.flags = {"-fno-math-errno"};
  candidate.plan.workspace_bytes = StencilWorkspaceBytes(stencil, plan);
  candidate.plan.threads = plan.slots;
  candidate.predicted_ns = predicted_ns;
  candidate.source = StencilTemplates() + StencilInstance(stencil, plan, "hiera_variant");
  return candidate;
}

Proposal StencilPolicy::Propose(const Task& task, const Evidence& evidence,
                                const Budget& budget) const {
  Result<StencilTask> stencil = MapStencil(task);
  if (!stencil.ok()) return {{}, stencil.status().message()};
  if (!evidence.machine.has_gcc && !evidence.machine.has_clang) {
    return {{}, "no C++ compiler on this machine"};
  }
  const std::vector<StencilPlan> plans = EnumeratePlans(*stencil, evidence.machine);
  if (plans.empty()) {
    return {{},
            "a run of several steps needs a grid of workspace, more than the contract's " +
                std::to_string(stencil->workspace_limit) + " bytes"};
  }
  // The best of each fuse depth, so that the depth is settled before the rest is refined.
  Proposal proposal;
  const std::set<std::string> tried = TriedNames(evidence);
  std::vector<size_t> of_depth(64, 0);
  for (const StencilPlan& plan : plans) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    const size_t limit = stencil->steps == 1 ? plans.size() : kFusePerRound;
    if (tried.contains(PlanName(plan)) || ++of_depth[plan.fuse] > limit) continue;
    proposal.candidates.push_back(MakeStencilCandidate(
        *stencil, plan, WhyFuse(plan, *stencil), PredictNs(*stencil, evidence.machine, plan)));
  }
  if (proposal.candidates.empty()) proposal.refusal = "every plan of the first round was tried";
  return proposal;
}

Proposal StencilPolicy::Refine(const Task& task, const Evidence& evidence,
                               const Budget& budget) const {
  Result<StencilTask> stencil = MapStencil(task);
  if (!stencil.ok()) return {{}, stencil.status().message()};
  std::vector<const Trial*> good;
  for (const Trial& trial : evidence.trials) {
    if (trial.candidate.family == "stencil" && IsCorrect(trial.verdict) && trial.time_ns > 0) {
      good.push_back(&trial);
    }
  }
  std::stable_sort(good.begin(), good.end(),
                   [](const Trial* a, const Trial* b) { return a->time_ns < b->time_ns; });
  // Neighbours of the two best: of the second because the first may owe its place to noise.
  Proposal proposal;
  std::set<std::string> tried = TriedNames(evidence);
  for (size_t i = 0; i < good.size() && i < 2; ++i) {
    const std::optional<StencilPlan> best = PlanFromName(good[i]->candidate.name);
    if (!best) continue;
    for (const StencilPlan& plan : NeighbourPlans(*stencil, evidence.machine, *best)) {
      if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
      if (!tried.insert(PlanName(plan)).second) continue;
      proposal.candidates.push_back(
          MakeStencilCandidate(*stencil, plan, "neighbour of " + PlanName(*best),
                               PredictNs(*stencil, evidence.machine, plan)));
    }
  }
  if (proposal.candidates.empty()) {
    proposal.refusal = good.empty() ? "no stencil candidate has run correctly yet"
                                    : "every neighbour of the best two was tried";
  }
  return proposal;
}

}  // namespace hiera
