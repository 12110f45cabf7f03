// GpuEntries: the few entries of the CUDA driver that library calls need beside the libraries
// themselves, as a table, so that tests can put a fictional driver in its place. Declared here and
// not taken from cuda.h, so that every build can run them wherever there is a driver.
//
// A table is immutable once filled; any thread.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_GPU_ENTRIES_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_GPU_ENTRIES_H_

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"

namespace hiera {

// 0 is success. Streams are the driver's handles; numbers of contexts and streams are never given
// twice in a process, as addresses are.
struct GpuEntries {
  int (*context_id)(void* context, unsigned long long* id) = nullptr;  // cuCtxGetId; null: current
  int (*context)(void** current) = nullptr;                            // cuCtxGetCurrent
  int (*push)(void* context) = nullptr;                                // cuCtxPushCurrent_v2
  int (*pop)(void** context) = nullptr;                                // cuCtxPopCurrent_v2
  int (*allocate)(uint64_t* address, size_t bytes) = nullptr;          // cuMemAlloc_v2
  int (*release)(uint64_t address) = nullptr;                          // cuMemFree_v2
  int (*stream_id)(void* stream, unsigned long long* id) = nullptr;    // cuStreamGetId
  int (*capturing)(void* stream, int* status) = nullptr;               // cuStreamIsCapturing
  int (*exchange_capture_mode)(int* mode) = nullptr;  // cuThreadExchangeStreamCaptureMode
};

// The driver that HIERA_CUDA_DRIVER names, else the machine's; found once per process. Errors:
// kUnavailable, where there is none.
Result<const GpuEntries*> MachineGpuEntries();

// The number of the context that is current in this thread. Errors: kUnavailable where none is.
Result<uint64_t> CurrentContext(const GpuEntries& gpu);

// Makes the primary context of the first visible device current in this thread, for a process of
// its own. Takes tenths of a second. Errors: kUnavailable, where there is no device, or one in
// exclusive mode: a context there could keep the application from its own.
Status MakeDeviceCurrent();

// While it lives, what this thread allocates and loads is no part of any capture and ends none.
class OutsideCapture {
 public:
  explicit OutsideCapture(const GpuEntries& gpu) : gpu_(gpu) { gpu_.exchange_capture_mode(&mode_); }
  ~OutsideCapture() { gpu_.exchange_capture_mode(&mode_); }
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  const GpuEntries& gpu_;
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_GPU_ENTRIES_H_
