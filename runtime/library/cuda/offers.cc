#include "runtime/library/cuda/offers.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "runtime/library/cuda/cudnn_problem.h"
#include "runtime/library/cuda/lt_problem.h"
#include "runtime/library/library.h"
#include "runtime/task/cublas_call.h"

namespace hiera {
namespace {

// The library's handle for the time of an enumeration.
template <typename F>
class Handle {
 public:
  explicit Handle(const F& functions) : f_(functions), status_(f_.create(&handle_)) {}
  ~Handle() {
    if (status_ == 0) f_.destroy(handle_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  void* get() const { return handle_; }
  int status() const { return status_; }

 private:
  const F& f_;
  void* handle_ = nullptr;
  int status_;
};

// Ranked ones first; a task that can be said in two ways has each of them in its own place.
void Order(LibraryOffer* offer) {
  std::stable_sort(offer->choices.begin(), offer->choices.end(),
                   [](const LibraryChoice& a, const LibraryChoice& b) {
                     return (a.rank >= 0) > (b.rank >= 0) ||
                            (a.rank >= 0 && b.rank >= 0 && a.rank < b.rank);
                   });
  if (offer->choices.empty() && offer->refusal.empty()) {
    offer->refusal = offer->family + " offers nothing for this task within its contract";
  }
}

}  // namespace

LibraryOffer OfferLt(const Task& task, const lt::Functions& functions, const LtLimits& limits) {
  LibraryOffer offer;
  offer.family = "cublaslt";
  const Result<std::vector<CublasCall>> calls = CublasCallsOf(task, CublasCall::Routine::kLt);
  if (!calls.ok()) {
    offer.refusal = calls.status().message();
    return offer;
  }
  const Handle<lt::Functions> handle(functions);
  if (handle.status() != 0) {
    offer.refusal = "cublasLtCreate fails with status " + std::to_string(handle.status());
    return offer;
  }
  for (size_t i = 0; i < calls->size(); ++i) {
    const CublasCall& call = (*calls)[i];
    const auto problem = LtProblem::Make(functions, handle.get(), call);
    if (!problem.ok()) {
      offer.refusal = problem.status().message();
      continue;
    }
    const std::string prefix = std::string(kLibraryPlan) + call.Text() + " ";
    const std::string variant = calls->size() > 1 ? "call " + std::to_string(i) + " " : "";
    int32_t rank = 0;
    for (const LtChoice& found : EnumerateLt(**problem, limits).choices) {
      LibraryChoice choice;
      choice.plan.text = prefix + found.algorithm.Text();
      choice.plan.workspace_bytes = static_cast<int64_t>(found.workspace_bytes);
      choice.name = variant + found.algorithm.Name();
      choice.rank = found.ranked ? rank++ : -1;
      choice.waves = found.waves;
      offer.choices.push_back(std::move(choice));
    }
  }
  Order(&offer);
  return offer;
}

LibraryOffer OfferCudnn(const Task& task, const cudnn::Functions& functions,
                        int64_t workspace_bytes) {
  LibraryOffer offer;
  offer.family = "cudnn";
  const Result<CudnnGraph> graph = CudnnGraphOf(task);
  if (!graph.ok()) {
    offer.refusal = graph.status().message();
    return offer;
  }
  const Handle<cudnn::Functions> handle(functions);
  if (handle.status() != 0) {
    offer.refusal = "cudnnCreate fails with status " + std::to_string(handle.status());
    return offer;
  }
  const auto problem = CudnnProblem::Make(functions, handle.get(), *graph);
  if (!problem.ok()) {
    offer.refusal = problem.status().message();
    return offer;
  }
  CudnnLimits limits;
  limits.workspace_bytes = workspace_bytes;
  const std::string prefix = std::string(kLibraryPlan) + graph->Text() + " ";
  int32_t rank = 0;
  for (const CudnnChoice& found : (*problem)->Enumerate(limits)) {
    LibraryChoice choice;
    choice.name = found.engine.Text();
    choice.plan.text = prefix + choice.name;
    choice.plan.workspace_bytes = found.workspace_bytes;
    choice.rank = found.ranked ? rank++ : -1;
    offer.choices.push_back(std::move(choice));
  }
  Order(&offer);
  return offer;
}

}  // namespace hiera
