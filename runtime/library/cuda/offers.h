// What each library of the CUDA space offers for a task in the current context, as choices by
// structure. They take the library's functions as a table, so that a fictional library serves too.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_OFFERS_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_OFFERS_H_

#include <cstdint>
#include <string>

#include "runtime/library/cuda/cublas_abi.h"
#include "runtime/library/cuda/cudnn_abi.h"
#include "runtime/library/cuda/lt_enumerate.h"
#include "runtime/task/library_choice.h"
#include "runtime/task/task.h"

namespace hiera {

// How a plan says that the library itself is to choose.
inline constexpr std::string_view kRankingFirst = "ranking=first";

// Without requirements; a refusal where there is no choice.
LibraryOffer OfferLt(const Task& task, const lt::Functions& functions, const LtLimits& limits);
LibraryOffer OfferCudnn(const Task& task, const cudnn::Functions& functions,
                        int64_t workspace_bytes);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_OFFERS_H_
