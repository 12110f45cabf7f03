// StencilPlan: what is tuned of a stencil candidate, and the analytic model that orders plans
// before anything is measured. Plain values; pure functions.
#ifndef HIERA_POLICIES_KERNEL_STENCIL_PLAN_H_
#define HIERA_POLICIES_KERNEL_STENCIL_PLAN_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/kernel/stencil_task.h"
#include "runtime/task/candidate.h"

namespace hiera {

struct StencilPlan {
  int64_t fuse = 1;                      // steps per pass
  std::array<int64_t, 3> tile{1, 1, 1};  // block of the output that one thread streams through
  int slots = 1;                         // threads
  int unroll = 1;                        // registers that are computed at once: 1, 2 or 4
  int prefetch = 0;  // slabs that memory is asked for ahead of their use; 0: left to the hardware
  Candidate::Compiler compiler = Candidate::Compiler::kGcc;

  friend bool operator==(const StencilPlan&, const StencilPlan&) = default;
};

// "fuse=8 tile=2048x1x4096 slots=2 unroll=1 prefetch=0 gcc", and back; empty where it is no such
// name.
std::string PlanName(const StencilPlan& plan);
std::optional<StencilPlan> PlanFromName(std::string_view name);

// What the template's Layout asks for: rings of intermediate slabs and grids between passes.
int64_t StencilWorkspaceBytes(const StencilTask& stencil, const StencilPlan& plan);

// Predicted nanoseconds of one run, all steps. The model: a pass moves the grid's bytes at the
// measured copy rate, and computes each level at what the load ports, the arithmetic units and the
// cache that its rings fit into allow; fused levels and memory traffic overlap in part.
double PredictNs(const StencilTask& stencil, const MachineFacts& machine, const StencilPlan& plan);

// Plans worth trying that fit the task's workspace limit, best first by PredictNs. Never empty
// unless even one step at a time needs more workspace than allowed.
std::vector<StencilPlan> EnumeratePlans(const StencilTask& stencil, const MachineFacts& machine);

// Plans that differ from `plan` in one parameter.
std::vector<StencilPlan> NeighbourPlans(const StencilTask& stencil, const MachineFacts& machine,
                                        const StencilPlan& plan);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_STENCIL_PLAN_H_
