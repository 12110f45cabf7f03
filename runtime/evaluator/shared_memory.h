// SharedMemory: a memory file that judge and worker both map. MappedRegion: one mapping.
// Both own what they hold and are movable. Not thread-safe; the memory itself is plain memory.
#ifndef HIERA_RUNTIME_EVALUATOR_SHARED_MEMORY_H_
#define HIERA_RUNTIME_EVALUATOR_SHARED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/status.h"

namespace hiera {

class MappedRegion {
 public:
  MappedRegion() = default;
  MappedRegion(void* base, int64_t bytes) : base_(static_cast<std::byte*>(base)), bytes_(bytes) {}
  MappedRegion(MappedRegion&& other) noexcept { *this = std::move(other); }
  MappedRegion& operator=(MappedRegion&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MappedRegion();

  // Zeroed private memory. Errors: kOutOfMemory.
  static Result<MappedRegion> Anonymous(int64_t bytes);

  std::byte* data() const { return base_; }
  int64_t bytes() const { return bytes_; }

 private:
  std::byte* base_ = nullptr;
  int64_t bytes_ = 0;
};

class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~SharedMemory();

  // Zeroed, close-on-exec; pages are taken when first touched. Errors: kOutOfMemory.
  static Result<SharedMemory> Create(int64_t bytes);

  int fd() const { return fd_; }
  int64_t bytes() const { return bytes_; }

  Result<MappedRegion> Map(bool writable) const;
  // Forbids every later change of content and size, for everyone. No writable mapping may exist.
  Status Seal();

 private:
  int fd_ = -1;
  int64_t bytes_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_SHARED_MEMORY_H_
