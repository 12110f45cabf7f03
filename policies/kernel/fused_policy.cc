#include "policies/kernel/fused_policy.h"

#include <algorithm>

#include "policies/kernel/fused/fused_program.h"
#include "policies/kernel/fused/row_writer.h"

namespace hiera {
namespace {

constexpr int64_t kWorthCutting = 32768;  // elements of a row that are worth several threads

// One way of writing and compiling a row program.
struct Form {
  RowOptions options;
  Candidate::Compiler compiler = Candidate::Compiler::kGcc;

  std::string Name() const {
    std::string name = compiler == Candidate::Compiler::kGcc ? "gcc" : "clang";
    name += " vector=" + std::to_string(options.vector_bytes);
    name += " unroll=" + std::to_string(options.unroll);
    if (options.split_rows) name += " split";
    return name;
  }
};

Candidate MakeCandidate(const RowProgram& program, const Form& form, GeneratedSource source,
                        const MachineFacts& machine) {
  Candidate candidate;
  candidate.space = Space::kKernel;
  candidate.family = FusedFamily(program);
  candidate.name = form.Name();
  candidate.reason = std::to_string(program.passes) + (program.passes == 1 ? " pass" : " passes") +
                     " over " + std::to_string(program.OuterCount()) + " rows of " +
                     std::to_string(program.RowCount()) + ", statements fused";
  candidate.source = std::move(source.text);
  candidate.compiler = form.compiler;
  candidate.flags = {"-fno-math-errno", "-fno-trapping-math", "-lm"};
  if (form.compiler == Candidate::Compiler::kGcc) candidate.flags.push_back("-Wno-psabi");
  candidate.plan.workspace_bytes = source.workspace_bytes;
  candidate.plan.threads = source.parallel ? machine.threads : 1;
  return candidate;
}

Proposal Write(const Task& task, const RowProgram& program, const Evidence& evidence,
               const Budget& budget, const std::vector<Form>& forms) {
  Proposal proposal;
  for (const Form& form : forms) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    if (WasTried(evidence, FusedFamily(program), form.Name())) continue;
    GeneratedSource source = WriteRows(task, program, form.options);
    if (source.workspace_bytes > task.contract.workspace_bytes) continue;
    Candidate candidate = MakeCandidate(program, form, std::move(source), evidence.machine);
    const bool known = std::any_of(
        proposal.candidates.begin(), proposal.candidates.end(), [&](const Candidate& other) {
          return other.source == candidate.source && other.compiler == candidate.compiler;
        });
    if (!known) proposal.candidates.push_back(std::move(candidate));
  }
  if (proposal.candidates.empty()) {
    proposal.refusal = "every form of fused rows was tried, or needs more workspace than admitted";
  }
  return proposal;
}

}  // namespace

Proposal FusedPolicy::Propose(const Task& task, const Evidence& evidence,
                              const Budget& budget) const {
  const Result<RowProgram> program = MakeFusedProgram(task);
  if (!program.ok()) return {{}, program.status().message()};
  RowOptions options;
  options.vector_bytes = evidence.machine.vector_bytes;
  options.split_rows =
      program->OuterCount() < 2 * evidence.machine.threads && program->RowCount() >= kWorthCutting;
  std::vector<Form> forms;
  for (const int unroll : {4, 2}) {
    options.unroll = unroll;
    if (evidence.machine.has_gcc) forms.push_back({options, Candidate::Compiler::kGcc});
    if (evidence.machine.has_clang) forms.push_back({options, Candidate::Compiler::kClang});
  }
  if (forms.empty()) return {{}, "no C++ compiler on this machine"};
  return Write(task, *program, evidence, budget, forms);
}

// Other depths of unrolling and the other way of sharing rows out, beside the best so far.
Proposal FusedPolicy::Refine(const Task& task, const Evidence& evidence,
                             const Budget& budget) const {
  const Result<RowProgram> program = MakeFusedProgram(task);
  if (!program.ok()) return {{}, program.status().message()};
  const Trial* best = BestTrial(evidence, FusedFamily(*program));
  if (best == nullptr) return {{}, "no fused rows have run yet"};
  const bool split = best->candidate.name.find(" split") != std::string::npos;
  std::vector<Form> forms;
  for (const int unroll : {8, 1}) {
    RowOptions options;
    options.vector_bytes = evidence.machine.vector_bytes;
    options.unroll = unroll;
    options.split_rows = split;
    forms.push_back({options, best->candidate.compiler});
  }
  if (program->RowCount() >= kWorthCutting) {
    RowOptions options;
    options.vector_bytes = evidence.machine.vector_bytes;
    options.split_rows = !split;
    forms.push_back({options, best->candidate.compiler});
  }
  return Write(task, *program, evidence, budget, forms);
}

}  // namespace hiera
