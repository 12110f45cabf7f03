#include "runtime/library/cuda/gpu_entries.h"

#include "runtime/library/cuda/shared_library.h"

namespace hiera {
namespace {

Result<GpuEntries> Open() {
  LibraryNames names;
  names.stem = "libcuda.so";
  names.variable = "LD_LIBRARY_PATH";
  names.sonames = {"libcuda.so.1"};
  const Result<SharedLibrary> library = SharedLibrary::Open(names);
  if (!library.ok()) return library.status();
  GpuEntries gpu;
  HIERA_RETURN_IF_ERROR(library->Get("cuCtxGetId", &gpu.context_id));
  HIERA_RETURN_IF_ERROR(library->Get("cuMemAlloc_v2", &gpu.allocate));
  HIERA_RETURN_IF_ERROR(library->Get("cuMemFree_v2", &gpu.release));
  HIERA_RETURN_IF_ERROR(library->Get("cuStreamGetId", &gpu.stream_id));
  HIERA_RETURN_IF_ERROR(library->Get("cuStreamIsCapturing", &gpu.capturing));
  HIERA_RETURN_IF_ERROR(
      library->Get("cuThreadExchangeStreamCaptureMode", &gpu.exchange_capture_mode));
  return gpu;
}

}  // namespace

Result<const GpuEntries*> MachineGpuEntries() {
  // Never destroyed: operators may run until the process ends.
  static const auto& opened = *new Result<GpuEntries>(Open());
  if (!opened.ok()) return opened.status();
  return &*opened;
}

Result<uint64_t> CurrentContext(const GpuEntries& gpu) {
  unsigned long long id = 0;
  if (gpu.context_id(nullptr, &id) != 0) {
    return Unavailable("no CUDA context is current in this thread; make one current first");
  }
  return uint64_t{id};
}

}  // namespace hiera
