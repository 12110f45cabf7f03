#include "policies/library/cblas_policy.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/task/cblas_call.h"

namespace hiera {

Proposal CblasPolicy::Propose(const Task& task, const Evidence& evidence,
                              const Budget& budget) const {
  const Result<std::vector<CblasCall>> calls = CblasCallsOf(task);
  if (!calls.ok()) return {{}, calls.status().message()};
  if (evidence.machine.blas.empty()) return {{}, "no CBLAS library was found on this machine"};
  Proposal proposal;
  for (const CblasCall& call : *calls) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    const std::string text = call.Text();
    Candidate c;
    c.space = Space::kLibrary;
    c.family = "cblas";
    c.name = text.substr(0, text.find(' '));  // the routine: each appears once
    c.reason = "what a program that links " + evidence.machine.blas_what + " would call";
    c.plan = {"library " + text, 0, 0};
    c.requirements = {{evidence.machine.blas_what, evidence.machine.blas}};
    proposal.candidates.push_back(std::move(c));
  }
  if (proposal.candidates.empty()) proposal.refusal = "the budget admits no candidate";
  return proposal;
}

}  // namespace hiera
