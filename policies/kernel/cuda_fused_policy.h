// CudaFusedPolicy: pointwise and row-wise formulas as one CUDA kernel that reads and writes every
// row once. Refuses what is not made of rows, with the reason.
#ifndef HIERA_POLICIES_KERNEL_CUDA_FUSED_POLICY_H_
#define HIERA_POLICIES_KERNEL_CUDA_FUSED_POLICY_H_

#include "policies/policy.h"

namespace hiera {

// The policy "fused", families "pointwise" and "rowwise".
class CudaFusedPolicy final : public Policy {
 public:
  std::string_view name() const override { return "fused"; }
  Space space() const override { return Space::kKernel; }
  Proposal Propose(const Task& task, const Evidence& evidence, const Budget& budget) const override;
  Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const override;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_CUDA_FUSED_POLICY_H_
