// The library space on CUDA: tasks as calls of cuBLAS, cuBLASLt and cuDNN, what those offer for a
// task on the device at hand, and their launch. Plans say a choice by structure:
//
//   library cublas_gemm CALL                   the library's default
//   library cublaslt CALL ranking=first        the first of its own ranking
//   library cublaslt CALL algo=66 tile=20 ...  an algorithm, pinned
//   library cudnn_conv GRAPH ranking=first
//   library cudnn_conv GRAPH engine=38 k2=1 ...
//
// Where the library chooses, the workspace is the least of the contract's, 32 MiB for cuBLASLt and
// 256 MiB for cuDNN, whatever the plan says.
//
// Thread safety: any thread. Functions that need a library open it at the first call and may block
// on the file system for tenths of a second then.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUDA_LIBRARY_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUDA_LIBRARY_H_

#include <memory>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/library/cuda/cublas_executables.h"
#include "runtime/task/library_choice.h"
#include "runtime/task/task.h"
#include "runtime/task/variant.h"

namespace hiera {

// Whether a plan's text is one of the forms above.
bool IsCudaLibraryPlan(std::string_view text);

// What an application would write first: the library's own choice, for every way to say the task.
// Needs no library. Errors: kUnsupported with the reason.
Result<std::vector<LaunchPlan>> CudaLibraryPlans(const Task& task);

// Makes a plan runnable, ready in the current context. The call or graph must be one of the task's,
// to the letter. Errors: kUnsupported (the task has no such call), kInvalidArgument (the text is
// none of its calls), kUnavailable (no library, no context, an algorithm that this library does not
// run), kOutOfMemory.
Result<std::unique_ptr<ContextExecutable>> LoadCudaLibraryPlan(const Task& task,
                                                               const LaunchPlan& plan);

// What a variant with that plan requires. Errors: kUnavailable.
Result<std::vector<Requirement>> CudaLibraryRequirements(std::string_view plan_text);

// Whether what a variant requires is what is here, for requirements whose `what` names a library of
// this space; kUnsupported for any other. Errors: kUnavailable, naming both identities.
Status CheckCudaRequirement(const Requirement& requirement);

// What every library offers for the task in the current context, within `workspace_bytes` and the
// contract's own limit. A library that offers nothing says why.
std::vector<LibraryOffer> EnumerateCudaLibraries(const Task& task, int64_t workspace_bytes);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUDA_LIBRARY_H_
