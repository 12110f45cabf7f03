// CudaLoopsPolicy: plain CUDA for any task, as FrameworkPolicy is plain loops on the host.
#ifndef HIERA_POLICIES_FRAMEWORK_CUDA_LOOPS_POLICY_H_
#define HIERA_POLICIES_FRAMEWORK_CUDA_LOOPS_POLICY_H_

#include "policies/framework/cuda_loops.h"
#include "policies/policy.h"

namespace hiera {

// The policy "framework", family "loops".
class CudaLoopsPolicy final : public Policy {
 public:
  std::string_view name() const override { return "framework"; }
  Space space() const override { return Space::kFramework; }
  Proposal Propose(const Task& task, const Evidence& evidence, const Budget& budget) const override;
  Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const override;
};

// A candidate of generated CUDA; space, family, name and reason are left to the policy.
Candidate CudaCandidate(CudaSource source);

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_CUDA_LOOPS_POLICY_H_
