// CblasPolicy: matrix products as calls of the machine's CBLAS library.
#ifndef HIERA_POLICIES_LIBRARY_CBLAS_POLICY_H_
#define HIERA_POLICIES_LIBRARY_CBLAS_POLICY_H_

#include <string_view>

#include "policies/policy.h"

namespace hiera {

class CblasPolicy : public Policy {
 public:
  std::string_view name() const override { return "cblas"; }
  Space space() const override { return Space::kLibrary; }
  Proposal Propose(const Task& task, const Evidence& evidence, const Budget& budget) const override;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_LIBRARY_CBLAS_POLICY_H_
