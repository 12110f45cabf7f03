// CudaStencilPolicy: grids swept on a GPU, for tasks whose formula reads tensors at constant
// offsets from the output's index. Refuses others with the reason.
#ifndef HIERA_POLICIES_KERNEL_CUDA_STENCIL_POLICY_H_
#define HIERA_POLICIES_KERNEL_CUDA_STENCIL_POLICY_H_

#include <string>

#include "policies/kernel/cuda_stencil.h"
#include "policies/policy.h"

namespace hiera {

// The policy "stencil", family "stencil".
class CudaStencilPolicy final : public Policy {
 public:
  std::string_view name() const override { return "stencil"; }
  Space space() const override { return Space::kKernel; }
  Proposal Propose(const Task& task, const Evidence& evidence, const Budget& budget) const override;
  Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const override;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_CUDA_STENCIL_POLICY_H_
