// How the driver's entries are found: by cuGetProcAddress, and those that are linked by another
// name in older programs by that name as well.
#include <cstring>

#include "tests/fake_cuda/process.h"

namespace {

struct Entry {
  const char* name;
  void* address;
};
#define FAKE_CUDA_ENTRY(name) \
  { "cu" #name, reinterpret_cast<void*>(&cu##name) }

// The names are those before cuda.h gives them versions, the addresses those behind.
const Entry kEntries[] = {
    FAKE_CUDA_ENTRY(Init),
    FAKE_CUDA_ENTRY(DriverGetVersion),
    FAKE_CUDA_ENTRY(GetErrorName),
    FAKE_CUDA_ENTRY(GetErrorString),
    FAKE_CUDA_ENTRY(DeviceGetCount),
    FAKE_CUDA_ENTRY(DeviceGet),
    FAKE_CUDA_ENTRY(DeviceGetName),
    FAKE_CUDA_ENTRY(DeviceGetUuid),
    FAKE_CUDA_ENTRY(DeviceTotalMem),
    FAKE_CUDA_ENTRY(DeviceGetAttribute),
    FAKE_CUDA_ENTRY(DevicePrimaryCtxRetain),
    FAKE_CUDA_ENTRY(DevicePrimaryCtxRelease),
    FAKE_CUDA_ENTRY(DevicePrimaryCtxGetState),
    FAKE_CUDA_ENTRY(CtxCreate),
    FAKE_CUDA_ENTRY(CtxDestroy),
    FAKE_CUDA_ENTRY(CtxGetCurrent),
    FAKE_CUDA_ENTRY(CtxSetCurrent),
    FAKE_CUDA_ENTRY(CtxPushCurrent),
    FAKE_CUDA_ENTRY(CtxPopCurrent),
    FAKE_CUDA_ENTRY(CtxGetDevice),
    FAKE_CUDA_ENTRY(CtxGetId),
    FAKE_CUDA_ENTRY(CtxSynchronize),
    FAKE_CUDA_ENTRY(LibraryLoadData),
    FAKE_CUDA_ENTRY(LibraryUnload),
    FAKE_CUDA_ENTRY(LibraryGetKernel),
    FAKE_CUDA_ENTRY(KernelGetFunction),
    FAKE_CUDA_ENTRY(KernelGetAttribute),
    FAKE_CUDA_ENTRY(KernelSetAttribute),
    FAKE_CUDA_ENTRY(KernelGetParamInfo),
    FAKE_CUDA_ENTRY(FuncLoad),
    FAKE_CUDA_ENTRY(FuncGetAttribute),
    FAKE_CUDA_ENTRY(FuncSetAttribute),
    FAKE_CUDA_ENTRY(LaunchKernel),
    FAKE_CUDA_ENTRY(LaunchKernelEx),
    FAKE_CUDA_ENTRY(MemGetInfo),
    FAKE_CUDA_ENTRY(MemAlloc),
    FAKE_CUDA_ENTRY(MemFree),
    FAKE_CUDA_ENTRY(MemAllocHost),
    FAKE_CUDA_ENTRY(MemFreeHost),
    FAKE_CUDA_ENTRY(MemPoolCreate),
    FAKE_CUDA_ENTRY(MemPoolDestroy),
    FAKE_CUDA_ENTRY(MemPoolSetAttribute),
    FAKE_CUDA_ENTRY(MemAllocFromPoolAsync),
    FAKE_CUDA_ENTRY(MemFreeAsync),
    FAKE_CUDA_ENTRY(MemcpyHtoD),
    FAKE_CUDA_ENTRY(MemcpyDtoH),
    FAKE_CUDA_ENTRY(MemcpyDtoD),
    FAKE_CUDA_ENTRY(MemcpyHtoDAsync),
    FAKE_CUDA_ENTRY(MemcpyDtoHAsync),
    FAKE_CUDA_ENTRY(MemcpyDtoDAsync),
    FAKE_CUDA_ENTRY(MemsetD8),
    FAKE_CUDA_ENTRY(MemsetD8Async),
    FAKE_CUDA_ENTRY(EventCreate),
    FAKE_CUDA_ENTRY(EventRecord),
    FAKE_CUDA_ENTRY(EventQuery),
    FAKE_CUDA_ENTRY(EventSynchronize),
    FAKE_CUDA_ENTRY(EventElapsedTime),
    FAKE_CUDA_ENTRY(EventDestroy),
    FAKE_CUDA_ENTRY(StreamCreate),
    FAKE_CUDA_ENTRY(StreamDestroy),
    FAKE_CUDA_ENTRY(StreamGetId),
    FAKE_CUDA_ENTRY(StreamSynchronize),
    FAKE_CUDA_ENTRY(StreamQuery),
    FAKE_CUDA_ENTRY(StreamWaitEvent),
    FAKE_CUDA_ENTRY(StreamBeginCapture),
    FAKE_CUDA_ENTRY(StreamEndCapture),
    FAKE_CUDA_ENTRY(StreamIsCapturing),
    FAKE_CUDA_ENTRY(ThreadExchangeStreamCaptureMode),
    FAKE_CUDA_ENTRY(GraphInstantiateWithFlags),
    FAKE_CUDA_ENTRY(GraphLaunch),
    FAKE_CUDA_ENTRY(GraphDestroy),
    FAKE_CUDA_ENTRY(GraphExecDestroy),
};

}  // namespace

extern "C" CUresult cuGetProcAddress(const char* name, void** address, int, cuuint64_t,
                                     CUdriverProcAddressQueryResult* found) {
  *address = nullptr;
  for (const Entry& entry : kEntries) {
    if (std::strcmp(entry.name, name) == 0) *address = entry.address;
  }
  const bool known = *address != nullptr;
  if (found != nullptr) {
    *found = known ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return known ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#undef cuEventElapsedTime
extern "C" CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
  return cuEventElapsedTime_v2(ms, begin, end);
}
