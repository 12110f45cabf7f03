#include "policies/policy.h"

namespace hiera {

Proposal Policy::Refine(const Task&, const Evidence&, const Budget&) const {
  return {{}, "nothing to refine"};
}

}  // namespace hiera
