#include "runtime/library/cuda/cublas_library.h"

#include "runtime/base/environment.h"
#include "runtime/library/cuda/shared_library.h"

namespace hiera {
namespace {

constexpr size_t kOldestLt = 120000;

Result<CublasLibrary> OpenCublas() {
  LibraryNames names;
  names.stem = "libcublas.so";
  names.configured = GetEnvironment().cublas_path;
  names.variable = "HIERA_CUBLAS";
  names.sonames = {"libcublas.so.13", "libcublas.so.12"};
  const Result<SharedLibrary> opened = SharedLibrary::Open(names);
  if (!opened.ok()) return opened.status();
  CublasLibrary library;
  cublas::Functions& f = library.functions;
  HIERA_RETURN_IF_ERROR(opened->Get("cublasCreate_v2", &f.create));
  HIERA_RETURN_IF_ERROR(opened->Get("cublasDestroy_v2", &f.destroy));
  HIERA_RETURN_IF_ERROR(opened->Get("cublasSetStream_v2", &f.set_stream));
  HIERA_RETURN_IF_ERROR(opened->Get("cublasSetMathMode", &f.set_math_mode));
  HIERA_RETURN_IF_ERROR(opened->Get("cublasGemmEx", &f.gemm));
  HIERA_RETURN_IF_ERROR(opened->Get("cublasGemmStridedBatchedEx", &f.gemm_batched));
  library.path = opened->path();
  library.requirement = opened->RequirementAt(reinterpret_cast<const void*>(f.gemm), "");
  return library;
}

Status FindLt(const SharedLibrary& from, lt::Functions* f) {
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtGetVersion", &f->version));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtCreate", &f->create));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtDestroy", &f->destroy));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulDescCreate", &f->desc_create));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulDescDestroy", &f->desc_destroy));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulDescSetAttribute", &f->desc_set));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatrixLayoutCreate", &f->layout_create));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatrixLayoutDestroy", &f->layout_destroy));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatrixLayoutSetAttribute", &f->layout_set));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulPreferenceCreate", &f->preference_create));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulPreferenceDestroy", &f->preference_destroy));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulPreferenceSetAttribute", &f->preference_set));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulAlgoGetHeuristic", &f->heuristic));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulAlgoGetIds", &f->algo_ids));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulAlgoInit", &f->algo_init));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulAlgoCheck", &f->algo_check));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulAlgoCapGetAttribute", &f->cap_get));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulAlgoConfigSetAttribute", &f->config_set));
  HIERA_RETURN_IF_ERROR(from.Get("cublasLtMatmulAlgoConfigGetAttribute", &f->config_get));
  return from.Get("cublasLtMatmul", &f->matmul);
}

Result<CublasLtLibrary> OpenLt() {
  LibraryNames names;
  names.stem = "libcublasLt.so";
  names.configured = GetEnvironment().cublaslt_path;
  names.variable = "HIERA_CUBLASLT";
  names.sonames = {"libcublasLt.so.13", "libcublasLt.so.12"};
  const Result<SharedLibrary> opened = SharedLibrary::Open(names);
  if (!opened.ok()) return opened.status();
  CublasLtLibrary library;
  HIERA_RETURN_IF_ERROR(FindLt(*opened, &library.functions));
  library.version = library.functions.version();
  if (library.version < kOldestLt) {
    return Unavailable(opened->path() + " is version " + std::to_string(library.version) +
                       ", cuBLASLt 12.0 or later is needed");
  }
  library.path = opened->path();
  library.requirement = opened->RequirementAt(
      reinterpret_cast<const void*>(library.functions.matmul), std::to_string(library.version));
  return library;
}

}  // namespace

Result<const CublasLibrary*> CublasLibrary::Open() {
  // Never destroyed: operators may run until the process ends.
  static const auto& opened = *new Result<CublasLibrary>(OpenCublas());
  if (!opened.ok()) return opened.status();
  return &*opened;
}

Result<const CublasLtLibrary*> CublasLtLibrary::Open() {
  static const auto& opened = *new Result<CublasLtLibrary>(OpenLt());
  if (!opened.ok()) return opened.status();
  return &*opened;
}

}  // namespace hiera
