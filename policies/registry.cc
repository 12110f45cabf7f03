#include "policies/framework/cuda_loops_policy.h"
#include "policies/framework/framework_policy.h"
#include "policies/kernel/cuda_fused_policy.h"
#include "policies/kernel/cuda_stencil_policy.h"
#include "policies/kernel/fused_policy.h"
#include "policies/kernel/gemm/gemm_policy.h"
#include "policies/kernel/stencil.h"
#include "policies/library/cblas_policy.h"
#include "policies/library/cuda_library_policy.h"
#include "policies/policy.h"

namespace hiera {

const std::vector<const Policy*>& HostPolicies() {
  static const std::vector<const Policy*>& policies = *new std::vector<const Policy*>{
      new CblasPolicy, new GemmPolicy, new StencilPolicy, new FusedPolicy, &FrameworkPolicy(),
  };
  return policies;
}

const std::vector<const Policy*>& CudaPolicies() {
  static const std::vector<const Policy*>& policies = *new std::vector<const Policy*>{
      new CudaLibraryPolicy,
      new CudaStencilPolicy,
      new CudaFusedPolicy,
      new CudaLoopsPolicy,
  };
  return policies;
}

const std::vector<const Policy*>& PoliciesFor(const MachineFacts& machine) {
  return machine.IsGpu() ? CudaPolicies() : HostPolicies();
}

}  // namespace hiera
