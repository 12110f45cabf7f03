// CublasLibrary and CublasLtLibrary: NVIDIA's libraries for matrix products in this process, opened
// at run time: the copy that the application has loaded, else HIERA_CUBLAS or HIERA_CUBLASLT, else
// libcublas.so.13 and .12.
//
// Opened once, at the first call of Open(), and never closed. Immutable; any thread.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_LIBRARY_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_LIBRARY_H_

#include <string>

#include "runtime/base/status.h"
#include "runtime/library/cuda/cublas_abi.h"
#include "runtime/task/variant.h"

namespace hiera {

struct CublasLibrary {
  cublas::Functions functions;
  std::string path;
  Requirement requirement;

  // Errors: kUnavailable, naming what was tried.
  static Result<const CublasLibrary*> Open();
};

struct CublasLtLibrary {
  lt::Functions functions;
  size_t version = 0;  // 130100: 13.1.0
  std::string path;
  Requirement requirement;

  // Errors: kUnavailable, naming what was tried, or a version below 12.0.
  static Result<const CublasLtLibrary*> Open();
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_LIBRARY_H_
