// CudnnLibrary: cuDNN 9 in this process, opened at run time: the copy that the application has
// loaded, else HIERA_CUDNN, else libcudnn.so.9.
//
// Opened once, at the first call of Open(), and never closed. Immutable; any thread.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_LIBRARY_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_LIBRARY_H_

#include <string>

#include "runtime/base/status.h"
#include "runtime/library/cuda/cudnn_abi.h"
#include "runtime/task/variant.h"

namespace hiera {

struct CudnnLibrary {
  cudnn::Functions functions;
  size_t version = 0;  // 91400: 9.14.0
  std::string path;
  // The file that dispatches to cuDNN's parts. Those refuse to work beside parts of other versions,
  // so that its identity and the version stand for them all.
  Requirement requirement;

  // Errors: kUnavailable, naming what was tried, or a version that is not 9.
  static Result<const CudnnLibrary*> Open();
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_LIBRARY_H_
