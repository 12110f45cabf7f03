// BlasLibrary: the CBLAS library of this process, opened at run time. The one that the application
// has already loaded comes first, then HIERA_BLAS, then libopenblas.so.0. Only OpenBLAS is taken:
// the library's identity must say which code runs, and its integers must be 32 bits wide. Its
// thread count is left as the application has it.
//
// Opened once, at the first call of Open(), and never closed. Immutable; any thread.
#ifndef HIERA_RUNTIME_LIBRARY_BLAS_LIBRARY_H_
#define HIERA_RUNTIME_LIBRARY_BLAS_LIBRARY_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/task/variant.h"

namespace hiera {

// The CBLAS functions that are called. Enumerations are passed as the integers that CBLAS fixes.
struct CblasFunctions {
  void (*sgemm)(int order, int transa, int transb, int m, int n, int k, float alpha, const float* a,
                int lda, const float* b, int ldb, float beta, float* c, int ldc) = nullptr;
  void (*dgemm)(int order, int transa, int transb, int m, int n, int k, double alpha,
                const double* a, int lda, const double* b, int ldb, double beta, double* c,
                int ldc) = nullptr;
  void (*sgemv)(int order, int trans, int m, int n, float alpha, const float* a, int lda,
                const float* x, int incx, float beta, float* y, int incy) = nullptr;
  void (*dgemv)(int order, int trans, int m, int n, double alpha, const double* a, int lda,
                const double* x, int incx, double beta, double* y, int incy) = nullptr;
};

class BlasLibrary {
 public:
  // Errors: kUnavailable, naming every place that was looked at and why it did not serve. May block
  // on the file system at the first call.
  static Result<const BlasLibrary*> Open();

  // Opens without the process-wide memory, for tests. `path` empty: as Open() looks; otherwise that
  // file and nothing else. The library itself stays loaded.
  static Result<std::unique_ptr<const BlasLibrary>> OpenAt(const std::string& path);

  const CblasFunctions& functions() const { return functions_; }
  const std::string& path() const { return path_; }      // of the file that holds the code
  const std::string& config() const { return config_; }  // what the library says of itself
  // {"library libopenblas.so.0", "build-id 3f2a..."}. A file without a build-id is named by its
  // size and the library's own description.
  const Requirement& requirement() const { return requirement_; }

 private:
  BlasLibrary() = default;
  CblasFunctions functions_;
  std::string path_;
  std::string config_;
  Requirement requirement_;
};

// Identity of the loaded object that holds `address`, from its ELF notes in memory: the build-id as
// hexadecimal digits, "" where it has none.
std::string BuildIdAt(const void* address);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_BLAS_LIBRARY_H_
