// A fictional CUDA driver: contexts and streams are numbers that a test sets, device memory is the
// host's. One per process; Reset between tests.
#ifndef HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_GPU_H_
#define HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_GPU_H_

#include <cstdint>
#include <cstdlib>
#include <map>
#include <vector>

#include "runtime/library/cuda/gpu_entries.h"

namespace hiera {

struct FictionalGpu {
  unsigned long long context = 1;    // current; 0: none
  unsigned long long destroyed = 0;  // a context that is gone
  std::vector<unsigned long long> stack;
  bool capturing = false;
  int64_t memory = int64_t{1} << 30;
  std::map<uint64_t, size_t> allocations;
  std::map<uint64_t, unsigned long long> owners;  // contexts
  int allocate_calls = 0;

  static FictionalGpu& Get() {
    static FictionalGpu gpu;
    return gpu;
  }
  static void Reset() { Get() = FictionalGpu(); }

  static const GpuEntries& Entries() {
    static const GpuEntries entries = [] {
      GpuEntries e;
      e.context_id = [](void* context, unsigned long long* id) {
        *id = context == nullptr ? Get().context : reinterpret_cast<uintptr_t>(context) / 16;
        return *id == 0 || *id == Get().destroyed ? 201 : 0;
      };
      e.context = [](void** current) {
        *current = reinterpret_cast<void*>(static_cast<uintptr_t>(Get().context * 16));
        return 0;
      };
      e.push = [](void* context) {
        Get().stack.push_back(Get().context);
        Get().context = reinterpret_cast<uintptr_t>(context) / 16;
        return 0;
      };
      e.pop = [](void**) {
        Get().context = Get().stack.back();
        Get().stack.pop_back();
        return 0;
      };
      e.allocate = [](uint64_t* address, size_t bytes) {
        ++Get().allocate_calls;
        int64_t used = 0;
        for (const auto& [at, size] : Get().allocations) used += static_cast<int64_t>(size);
        if (used + static_cast<int64_t>(bytes) > Get().memory) return 2;
        *address = reinterpret_cast<uint64_t>(std::malloc(16));  // nobody writes to it
        Get().allocations[*address] = bytes;
        Get().owners[*address] = Get().context;
        return 0;
      };
      e.release = [](uint64_t address) {
        if (Get().owners[address] != Get().context) return 201;
        Get().allocations.erase(address);
        std::free(reinterpret_cast<void*>(address));
        return 0;
      };
      e.stream_id = [](void* stream, unsigned long long* id) {
        *id = reinterpret_cast<uintptr_t>(stream);
        return 0;
      };
      e.capturing = [](void*, int* status) {
        *status = Get().capturing ? 1 : 0;
        return 0;
      };
      e.exchange_capture_mode = [](int*) { return 0; };
      return e;
    }();
    return entries;
  }
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_GPU_H_
