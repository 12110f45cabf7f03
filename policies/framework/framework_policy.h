// FrameworkPolicy: plain compiled loops for any task. They are what other spaces are measured
// against, and the answer where no other space has one.
#ifndef HIERA_POLICIES_FRAMEWORK_FRAMEWORK_POLICY_H_
#define HIERA_POLICIES_FRAMEWORK_FRAMEWORK_POLICY_H_

#include "policies/policy.h"

namespace hiera {

// The policy "framework", family "loops". Lives as long as the program.
const Policy& FrameworkPolicy();

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_FRAMEWORK_POLICY_H_
