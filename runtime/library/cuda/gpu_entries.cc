#include "runtime/library/cuda/gpu_entries.h"

#include "runtime/base/environment.h"
#include "runtime/library/cuda/shared_library.h"

namespace hiera {
namespace {

constexpr int kComputeMode = 20;      // CU_DEVICE_ATTRIBUTE_COMPUTE_MODE
constexpr int kExclusiveProcess = 3;  // CU_COMPUTEMODE_EXCLUSIVE_PROCESS

Result<SharedLibrary> OpenDriver() {
  LibraryNames names;
  names.stem = "libcuda.so";
  names.configured = GetEnvironment().cuda_driver;
  names.variable = "HIERA_CUDA_DRIVER";
  names.sonames = {"libcuda.so.1"};
  return SharedLibrary::Open(names);
}

Result<GpuEntries> Open() {
  const Result<SharedLibrary> library = OpenDriver();
  if (!library.ok()) return library.status();
  GpuEntries gpu;
  HIERA_RETURN_IF_ERROR(library->Get("cuCtxGetId", &gpu.context_id));
  HIERA_RETURN_IF_ERROR(library->Get("cuCtxGetCurrent", &gpu.context));
  HIERA_RETURN_IF_ERROR(library->Get("cuCtxPushCurrent_v2", &gpu.push));
  HIERA_RETURN_IF_ERROR(library->Get("cuCtxPopCurrent_v2", &gpu.pop));
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

Status MakeDeviceCurrent() {
  const Result<SharedLibrary> library = OpenDriver();
  if (!library.ok()) return library.status();
  int (*init)(unsigned flags) = nullptr;
  int (*get)(int* device, int ordinal) = nullptr;
  int (*attribute)(int* value, int attribute, int device) = nullptr;
  int (*retain)(void** context, int device) = nullptr;
  int (*set_current)(void* context) = nullptr;
  HIERA_RETURN_IF_ERROR(library->Get("cuInit", &init));
  HIERA_RETURN_IF_ERROR(library->Get("cuDeviceGet", &get));
  HIERA_RETURN_IF_ERROR(library->Get("cuDeviceGetAttribute", &attribute));
  HIERA_RETURN_IF_ERROR(library->Get("cuDevicePrimaryCtxRetain", &retain));
  HIERA_RETURN_IF_ERROR(library->Get("cuCtxSetCurrent", &set_current));
  int device = 0;
  void* context = nullptr;
  int status = init(0);
  if (status == 0) status = get(&device, 0);
  int mode = 0;
  if (status == 0) status = attribute(&mode, kComputeMode, device);
  if (status == 0 && mode == kExclusiveProcess) {
    return Unavailable(
        "the GPU is in exclusive mode, in which a process that tunes would keep applications out: "
        "allow it several (nvidia-smi -c DEFAULT)");
  }
  if (status == 0) status = retain(&context, device);
  if (status == 0) status = set_current(context);
  if (status == 0) return {};
  return Unavailable("no CUDA device can be used, driver status " + std::to_string(status));
}

Result<uint64_t> CurrentContext(const GpuEntries& gpu) {
  unsigned long long id = 0;
  if (gpu.context_id(nullptr, &id) != 0) {
    return Unavailable("no CUDA context is current in this thread; make one current first");
  }
  return uint64_t{id};
}

}  // namespace hiera
