// The driver's entries that are about memory.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/fake_cuda/process.h"

namespace hiera::fake_cuda {
namespace {

CUresult Allocate(Process& process, const Context& context, const void* owner, size_t bytes,
                  CUdeviceptr* address) {
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  *address = process.memory.Allocate(bytes, owner, Cards()[context.card].memory_bytes);
  return *address == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

// A kernel that has written beside the allocation gets the error that it would have got from memory
// with nothing beside it.
CUresult Free(Process& process, Context& context, CUdeviceptr address) {
  bool overrun = false;
  if (!process.memory.Free(address, &overrun)) return CUDA_ERROR_INVALID_VALUE;
  if (overrun) context.error = CUDA_ERROR_ILLEGAL_ADDRESS;
  return context.error;
}

// Queues a copy or a fill. Where it names no memory it is refused at once.
CUresult QueueBytes(Process& process, CUstream stream, const std::vector<CUdeviceptr>& touched,
                    size_t bytes, const std::function<void()>& move) {
  for (const CUdeviceptr address : touched) {
    if (bytes > 0 && !process.memory.Has(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
  }
  return process.Queue(stream, [&process, move] {
    const DeviceAccess access(&process.memory);
    move();
    return CUDA_SUCCESS;
  });
}

void* At(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUresult CopyIn(Process& process, CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return QueueBytes(process, stream, {to}, bytes, [=] { std::memcpy(At(to), from, bytes); });
}
CUresult CopyOut(Process& process, void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return QueueBytes(process, stream, {from}, bytes, [=] { std::memcpy(to, At(from), bytes); });
}
CUresult CopyWithin(Process& process, CUdeviceptr to, CUdeviceptr from, size_t bytes,
                    CUstream stream) {
  return QueueBytes(process, stream, {to, from}, bytes,
                    [=] { std::memmove(At(to), At(from), bytes); });
}
CUresult Fill(Process& process, CUdeviceptr to, unsigned char value, size_t bytes,
              CUstream stream) {
  return QueueBytes(process, stream, {to}, bytes, [=] { std::memset(At(to), value, bytes); });
}

}  // namespace
}  // namespace hiera::fake_cuda

using namespace hiera::fake_cuda;  // the entries are C's

extern "C" {

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  return InContext([&](Process& process, Context& context) {
    *total = Cards()[context.card].memory_bytes;
    *free = *total - std::min(*total, process.memory.used_bytes());
    return CUDA_SUCCESS;
  });
}
CUresult cuMemAlloc(CUdeviceptr* address, size_t bytes) {
  return Waiting([&](Process& process, Context& context) {
    return Allocate(process, context, &context, bytes, address);
  });
}
CUresult cuMemFree(CUdeviceptr address) {
  return Waiting([&](Process& process, Context& context) {
    return address == 0 ? CUDA_SUCCESS : Free(process, context, address);
  });
}
CUresult cuMemAllocHost(void** memory, size_t bytes) {
  return Waiting([&](Process&, Context&) {
    *memory = std::malloc(bytes);
    return *memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
  });
}
CUresult cuMemFreeHost(void* memory) {
  return Waiting([&](Process&, Context&) { return std::free(memory), CUDA_SUCCESS; });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return Locked([&](Process& process) {
    const int card = properties->location.id;
    if (card < 0 || static_cast<size_t>(card) >= Cards().size()) return CUDA_ERROR_INVALID_DEVICE;
    Keep(&process.pools, pool)->card = card;
    return CUDA_SUCCESS;
  });
}
CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return Locked([&](Process& process) {
    return process.pools.erase(reinterpret_cast<Pool*>(pool)) != 0 ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream handle) {
  return InContext([&](Process& process, Context& context) {
    Stream* stream = nullptr;
    if (!process.FindStream(handle, &stream) ||
        process.pools.count(reinterpret_cast<Pool*>(pool)) == 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    // What a capture allocates lives as long as its graph.
    const bool captured = stream != nullptr && stream->capture != nullptr;
    const void* owner = &context;
    if (captured) owner = stream->capture->graph.get();
    return Allocate(process, context, owner, bytes, address);
  });
}
CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return InContext([&](Process& process, Context& context) {
    Stream* stream = nullptr;
    if (!process.FindStream(handle, &stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream != nullptr && stream->capture != nullptr) return CUDA_SUCCESS;
    return Free(process, context, address);
  });
}

CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return InContext(
      [&](Process& process, Context&) { return CopyIn(process, to, from, bytes, stream); });
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return InContext(
      [&](Process& process, Context&) { return CopyOut(process, to, from, bytes, stream); });
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return InContext(
      [&](Process& process, Context&) { return CopyWithin(process, to, from, bytes, stream); });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  return InContext(
      [&](Process& process, Context&) { return Fill(process, to, value, bytes, stream); });
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return Waiting(
      [&](Process& process, Context&) { return CopyIn(process, to, from, bytes, nullptr); });
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  return Waiting(
      [&](Process& process, Context&) { return CopyOut(process, to, from, bytes, nullptr); });
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return Waiting(
      [&](Process& process, Context&) { return CopyWithin(process, to, from, bytes, nullptr); });
}
CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes) {
  return Waiting(
      [&](Process& process, Context&) { return Fill(process, to, value, bytes, nullptr); });
}

}  // extern "C"
