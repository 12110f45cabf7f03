#include "runtime/evaluator/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace hiera {

MappedRegion::~MappedRegion() {
  if (base_ != nullptr) munmap(base_, static_cast<size_t>(bytes_));
}

Result<MappedRegion> MappedRegion::Anonymous(int64_t bytes) {
  void* base = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return OutOfMemory("cannot map " + std::to_string(bytes) + " bytes: " + std::strerror(errno));
  }
  return MappedRegion(base, bytes);
}

SharedMemory::~SharedMemory() {
  if (fd_ >= 0) close(fd_);
}

Result<SharedMemory> SharedMemory::Create(int64_t bytes) {
  SharedMemory memory;
  memory.fd_ = memfd_create("hiera-evaluator", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory.fd_ < 0 || ftruncate(memory.fd_, bytes) != 0) {
    return OutOfMemory("cannot make a memory file of " + std::to_string(bytes) +
                       " bytes: " + std::strerror(errno));
  }
  memory.bytes_ = bytes;
  return memory;
}

Result<MappedRegion> SharedMemory::Map(bool writable) const {
  void* base = mmap(nullptr, static_cast<size_t>(bytes_),
                    writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd_, 0);
  if (base == MAP_FAILED) {
    return OutOfMemory("cannot map " + std::to_string(bytes_) +
                       " bytes of a memory file: " + std::strerror(errno));
  }
  return MappedRegion(base, bytes_);
}

Status SharedMemory::Seal() {
  if (fcntl(fd_, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    return Internal(std::string("cannot seal a memory file: ") + std::strerror(errno));
  }
  return {};
}

}  // namespace hiera
