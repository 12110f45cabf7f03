// The stencil policy: sweeps over grids with tiling, threads and fused time steps, for tasks whose
// formula reads tensors at constant offsets from the output's index.
#ifndef HIERA_POLICIES_KERNEL_STENCIL_H_
#define HIERA_POLICIES_KERNEL_STENCIL_H_

#include <string>
#include <vector>

#include "policies/kernel/stencil_plan.h"
#include "policies/policy.h"

namespace hiera {

class StencilPolicy final : public Policy {
 public:
  std::string_view name() const override { return "stencil"; }
  Space space() const override { return Space::kKernel; }
  Proposal Propose(const Task& task, const Evidence& evidence, const Budget& budget) const override;
  Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const override;
};

// The templates' text, and one instantiation: the formula's functor, the plan, and a function with
// C linkage named `entry` that runs a hiera_host_call.
std::string StencilTemplates();
std::string StencilInstance(const StencilTask& stencil, const StencilPlan& plan,
                            const std::string& entry);

// A whole candidate for one plan.
Candidate MakeStencilCandidate(const StencilTask& stencil, const StencilPlan& plan,
                               std::string reason, double predicted_ns);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_STENCIL_H_
