// Calls of cuBLAS and cuBLASLt as executables: on the caller's stream, in the caller's current
// context. Everything a run needs is made by Prepare, ahead: handles, descriptors, the algorithm,
// workspaces. A run neither allocates on the device nor synchronises, so it can be captured, unless
// it needs a workspace: two replays at once would share it.
//
// Run answers HIERA_UNAVAILABLE, with nothing written, in a context that was not prepared, for
// addresses below the call's alignment, under capture with a workspace, and where every workspace
// belongs to another stream.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_EXECUTABLES_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_EXECUTABLES_H_

#include <memory>
#include <optional>

#include "runtime/device/device.h"
#include "runtime/library/cuda/cublas_abi.h"
#include "runtime/library/cuda/gpu_entries.h"
#include "runtime/library/cuda/handle_pool.h"
#include "runtime/task/cublas_call.h"
#include "runtime/task/lt_algorithm.h"

namespace hiera {

// An executable that is made ready for one context after another.
class ContextExecutable : public Executable {
 public:
  // Makes it ready in the context that is current in this thread, if it is not. Allocates on the
  // device and may block; never under capture of this thread's own making. Any thread. Errors:
  // kUnavailable, kOutOfMemory, kDeviceError.
  virtual Status Prepare() = 0;
};

// A handle of cuBLAS as MakeCublasGemm takes them.
HandlePool::Make CublasHandleMaker(const cublas::Functions& functions);

// cublasGemmEx or cublasGemmStridedBatchedEx with the library's own choice of the algorithm.
std::unique_ptr<ContextExecutable> MakeCublasGemm(const CublasCall& call,
                                                  const cublas::Functions& functions,
                                                  HandlePool& handles);

// cublasLtMatmul with that algorithm; without one, with the first of the library's ranking at the
// time of Prepare, and the first without a workspace where that can't be used. `workspace_bytes`:
// what the plan grants; an algorithm that needs more is kUnavailable.
std::unique_ptr<ContextExecutable> MakeLtMatmul(const CublasCall& call,
                                                const std::optional<LtAlgorithm>& algorithm,
                                                int64_t workspace_bytes,
                                                const lt::Functions& functions,
                                                const GpuEntries& gpu);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_EXECUTABLES_H_
