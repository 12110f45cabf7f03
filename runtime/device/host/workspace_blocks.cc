#include "runtime/device/host/workspace_blocks.h"

#include <sys/mman.h>

#include <bit>
#include <string>

namespace hiera {
namespace {

constexpr int64_t kPageBytes = 4096;

}  // namespace

Result<std::unique_ptr<WorkspaceBlocks>> WorkspaceBlocks::Make(int64_t bytes) {
  const auto too_large = [&] {
    return OutOfMemory("workspace of " + std::to_string(kBlocks) + " blocks of " +
                       std::to_string(bytes) + " bytes cannot be mapped");
  };
  if (bytes <= 0) return InvalidArgument("workspace_bytes: must be positive to make blocks of it");
  if (bytes > INT64_MAX / (2 * kBlocks)) return too_large();
  const int64_t block_bytes = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* memory = mmap(nullptr, kBlocks * block_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return too_large();
  return std::unique_ptr<WorkspaceBlocks>(
      new WorkspaceBlocks(static_cast<char*>(memory), block_bytes));
}

WorkspaceBlocks::~WorkspaceBlocks() { munmap(memory_, kBlocks * block_bytes_); }

void* WorkspaceBlocks::Acquire() {
  uint32_t free = free_.load(std::memory_order_relaxed);
  while (free != 0) {
    if (free_.compare_exchange_weak(free, free & (free - 1), std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return memory_ + std::countr_zero(free) * block_bytes_;
    }
  }
  return nullptr;
}

void WorkspaceBlocks::Release(void* block) {
  const int64_t index = (static_cast<char*>(block) - memory_) / block_bytes_;
  free_.fetch_or(1u << index, std::memory_order_release);
}

}  // namespace hiera
