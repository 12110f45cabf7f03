// Driver: the entries of the CUDA driver that HIERA calls, as a table, so that nothing of CUDA is
// linked and tests can put a fictional driver in its place. The real table comes from libcuda.so.1,
// or from the file that HIERA_CUDA_DRIVER names, opened at run time and never closed.
//
// A table is immutable once filled; any thread.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_DRIVER_H_
#define HIERA_RUNTIME_DEVICE_CUDA_DRIVER_H_

#include <cuda.h>

#include <memory>
#include <string>

#include "runtime/base/status.h"

namespace hiera::cuda {

// Entries without the prefix "cu". Their signatures are those of the driver's version 12.4.
#define HIERA_CUDA_ENTRIES(X)  \
  X(Init)                      \
  X(DriverGetVersion)          \
  X(GetErrorName)              \
  X(GetErrorString)            \
  X(DeviceGetCount)            \
  X(DeviceGet)                 \
  X(DeviceGetName)             \
  X(DeviceGetUuid)             \
  X(DeviceTotalMem)            \
  X(DeviceGetAttribute)        \
  X(DevicePrimaryCtxRetain)    \
  X(DevicePrimaryCtxRelease)   \
  X(DevicePrimaryCtxGetState)  \
  X(CtxGetCurrent)             \
  X(CtxGetDevice)              \
  X(CtxPushCurrent)            \
  X(CtxPopCurrent)             \
  X(LibraryLoadData)           \
  X(LibraryUnload)             \
  X(LibraryGetKernel)          \
  X(KernelGetFunction)         \
  X(KernelGetAttribute)        \
  X(KernelSetAttribute)        \
  X(KernelGetParamInfo)        \
  X(FuncLoad)                  \
  X(LaunchKernelEx)            \
  X(MemAlloc)                  \
  X(MemFree)                   \
  X(MemGetInfo)                \
  X(MemPoolCreate)             \
  X(MemPoolDestroy)            \
  X(MemPoolSetAttribute)       \
  X(MemAllocFromPoolAsync)     \
  X(MemFreeAsync)              \
  X(MemcpyHtoDAsync)           \
  X(MemcpyDtoHAsync)           \
  X(MemcpyDtoDAsync)           \
  X(MemsetD8Async)             \
  X(EventCreate)               \
  X(EventRecord)               \
  X(EventQuery)                \
  X(EventElapsedTime)          \
  X(EventDestroy)              \
  X(StreamCreate)              \
  X(StreamDestroy)             \
  X(StreamIsCapturing)         \
  X(StreamSynchronize)         \
  X(StreamBeginCapture)        \
  X(StreamEndCapture)          \
  X(GraphInstantiateWithFlags) \
  X(GraphLaunch)               \
  X(GraphDestroy)              \
  X(GraphExecDestroy)          \
  X(ThreadExchangeStreamCaptureMode)

struct Driver {
#define HIERA_CUDA_ENTRY(name) decltype(&::cu##name) name = nullptr;
  HIERA_CUDA_ENTRIES(HIERA_CUDA_ENTRY)
#undef HIERA_CUDA_ENTRY
};

// The machine's driver, initialised; found once per process. Errors: kUnsupported, where there is
// no driver, no device, or one too old; says which.
Result<const Driver*> MachineDriver();

// A status for `what` that the driver refused with `result`: kOutOfMemory for want of memory, else
// kDeviceError.
Status Refused(const Driver& driver, CUresult result, const std::string& what);

// While it lives, calls of this thread that a capture would forbid (loading, say) are no part of
// any capture and end none.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) {
    driver_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { driver_.ThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_DRIVER_H_
