// Convolutions of cuDNN's backend as executables; see cublas_executables.h for what a run promises.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_EXECUTABLE_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_EXECUTABLE_H_

#include <memory>
#include <optional>

#include "runtime/library/cuda/cublas_executables.h"
#include "runtime/library/cuda/cudnn_abi.h"
#include "runtime/library/cuda/gpu_entries.h"
#include "runtime/library/cuda/handle_pool.h"
#include "runtime/task/cudnn_graph.h"

namespace hiera {

// With that engine; without one, with the first of the library's ranking that can be planned at the
// time of Prepare, and the first without a workspace where the other can't be used.
std::unique_ptr<ContextExecutable> MakeCudnnConvolution(const CudnnGraph& graph,
                                                        const std::optional<CudnnEngine>& engine,
                                                        int64_t workspace_bytes,
                                                        const cudnn::Functions& functions,
                                                        HandlePool& handles, const GpuEntries& gpu);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_EXECUTABLE_H_
