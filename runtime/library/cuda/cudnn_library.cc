#include "runtime/library/cuda/cudnn_library.h"

#include "runtime/base/environment.h"
#include "runtime/library/cuda/shared_library.h"

namespace hiera {
namespace {

constexpr size_t kOldest = 90000;
constexpr size_t kNext = 100000;

Result<CudnnLibrary> OpenCudnn() {
  LibraryNames names;
  names.stem = "libcudnn.so";
  names.configured = GetEnvironment().cudnn_path;
  names.variable = "HIERA_CUDNN";
  names.sonames = {"libcudnn.so.9"};
  const Result<SharedLibrary> opened = SharedLibrary::Open(names);
  if (!opened.ok()) return opened.status();
  CudnnLibrary library;
  cudnn::Functions& f = library.functions;
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnGetVersion", &f.version));
  library.version = f.version();
  if (library.version < kOldest || library.version >= kNext) {
    return Unavailable(opened->path() + " is version " + std::to_string(library.version) +
                       ", cuDNN 9 is needed");
  }
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnCreate", &f.create));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnDestroy", &f.destroy));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnSetStream", &f.set_stream));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnBackendCreateDescriptor", &f.create_descriptor));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnBackendDestroyDescriptor", &f.destroy_descriptor));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnBackendFinalize", &f.finalize));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnBackendSetAttribute", &f.set));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnBackendGetAttribute", &f.get));
  HIERA_RETURN_IF_ERROR(opened->Get("cudnnBackendExecute", &f.execute));
  library.path = opened->path();
  const std::string version = std::to_string(library.version);
  library.requirement = opened->RequirementAt(reinterpret_cast<const void*>(f.version), version);
  library.requirement.identity += ", version " + version;
  return library;
}

}  // namespace

Result<const CudnnLibrary*> CudnnLibrary::Open() {
  // Never destroyed: operators may run until the process ends.
  static const auto& opened = *new Result<CudnnLibrary>(OpenCudnn());
  if (!opened.ok()) return opened.status();
  return &*opened;
}

}  // namespace hiera
