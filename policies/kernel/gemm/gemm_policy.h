// GemmPolicy: kernels from the GEMM templates for products and batches of products of f32 and f64,
// small and skinny ones above all.
#ifndef HIERA_POLICIES_KERNEL_GEMM_GEMM_POLICY_H_
#define HIERA_POLICIES_KERNEL_GEMM_GEMM_POLICY_H_

#include <string_view>

#include "policies/policy.h"

namespace hiera {

class GemmPolicy : public Policy {
 public:
  std::string_view name() const override { return "gemm"; }
  Space space() const override { return Space::kKernel; }
  Proposal Propose(const Task& task, const Evidence& evidence, const Budget& budget) const override;
  // Neighbours of the two fastest correct trials.
  Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const override;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_GEMM_GEMM_POLICY_H_
