// CudaLibraryPolicy: choices among what the device's libraries offer: cuBLAS's default, algorithms
// of cuBLASLt, engines of cuDNN. There are thousands for one product, and each costs a measurement:
// the first round takes the library's own best and, of the rest, the best by prediction of each
// kind (algorithm, tile, split); later rounds take the neighbours of what did well.
#ifndef HIERA_POLICIES_LIBRARY_CUDA_LIBRARY_POLICY_H_
#define HIERA_POLICIES_LIBRARY_CUDA_LIBRARY_POLICY_H_

#include <string_view>
#include <vector>

#include "policies/policy.h"

namespace hiera {

class CudaLibraryPolicy : public Policy {
 public:
  std::string_view name() const override { return "cuda library"; }
  Space space() const override { return Space::kLibrary; }
  bool NeedsOffers() const override { return true; }
  Proposal Propose(const Task& task, const Evidence& evidence, const Budget& budget) const override;
  Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const override;
};

// One offered choice in the order in which the first round would take it; predicted_ns 0: nothing
// is predicted. Every choice of the offer appears once. Errors of structure are skipped.
struct OrderedChoice {
  const LibraryChoice* choice = nullptr;
  double predicted_ns = 0;
};
std::vector<OrderedChoice> OrderOffer(const Task& task, const MachineFacts& machine,
                                      double floor_ns, const LibraryOffer& offer);

}  // namespace hiera

#endif  // HIERA_POLICIES_LIBRARY_CUDA_LIBRARY_POLICY_H_
