// DeviceMemory: the memory of the fictional GPUs, which is the host's, but only kernels and the
// driver's copies may touch it: the host faults there, as it does with a GPU's. Every allocation
// ends where none is, so a kernel that reads or writes past it faults; what lies between the
// allocation and the next page or multiple of 256 bytes is watched. Fresh memory holds NaN in every
// type of reals.
//
// Addresses are multiples of 256, as a GPU's. Not safe for several threads: the driver's lock is.
#ifndef HIERA_TESTS_FAKE_CUDA_DEVICE_MEMORY_H_
#define HIERA_TESTS_FAKE_CUDA_DEVICE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>

namespace hiera::fake_cuda {

class DeviceMemory {
 public:
  // 0: there is no room. `owner`: the context or pool.
  uintptr_t Allocate(size_t bytes, const void* owner, size_t capacity_bytes);

  // False where nothing was allocated at `address`. *overrun: whether somebody has written beside
  // the allocation.
  bool Free(uintptr_t address, bool* overrun);
  void FreeAllOf(const void* owner);

  // Whether [address, address + bytes) lies in one allocation.
  bool Has(uintptr_t address, size_t bytes) const;
  size_t used_bytes() const { return used_bytes_; }

 private:
  friend class DeviceAccess;
  struct Block {
    char* pages;
    size_t page_bytes;  // without the guard behind
    size_t bytes;
    const void* owner;
  };
  void SetAccess(bool open);
  void Release(std::map<uintptr_t, Block>::iterator at);

  std::map<uintptr_t, Block> blocks_;
  size_t used_bytes_ = 0;
  int open_ = 0;
};

// While one lives the memory may be touched.
class DeviceAccess {
 public:
  explicit DeviceAccess(DeviceMemory* memory) : memory_(*memory) {
    if (memory_.open_++ == 0) memory_.SetAccess(true);
  }
  ~DeviceAccess() {
    if (--memory_.open_ == 0) memory_.SetAccess(false);
  }
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  DeviceMemory& memory_;
};

}  // namespace hiera::fake_cuda

#endif  // HIERA_TESTS_FAKE_CUDA_DEVICE_MEMORY_H_
