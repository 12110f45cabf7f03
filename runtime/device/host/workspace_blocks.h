// WorkspaceBlocks: a few equal blocks of memory, made ahead, so that a run takes one without
// allocating or locking. Owns the memory. Acquire and Release from any thread.
#ifndef HIERA_RUNTIME_DEVICE_HOST_WORKSPACE_BLOCKS_H_
#define HIERA_RUNTIME_DEVICE_HOST_WORKSPACE_BLOCKS_H_

#include <atomic>
#include <cstdint>
#include <memory>

#include "runtime/base/status.h"

namespace hiera {

class WorkspaceBlocks {
 public:
  // As many runs of one executable as can be in flight at once with a block each.
  static constexpr int kBlocks = 4;

  // Reserves kBlocks blocks of `bytes`, which the system backs with memory as they are touched.
  // Errors: kOutOfMemory.
  static Result<std::unique_ptr<WorkspaceBlocks>> Make(int64_t bytes);
  ~WorkspaceBlocks();
  WorkspaceBlocks(const WorkspaceBlocks&) = delete;
  WorkspaceBlocks& operator=(const WorkspaceBlocks&) = delete;

  // A block, aligned to a page; null where all are taken. The lowest free one first, so that a
  // single caller always meets the same, warm memory.
  void* Acquire();
  void Release(void* block);

 private:
  WorkspaceBlocks(char* memory, int64_t block_bytes) : memory_(memory), block_bytes_(block_bytes) {}

  char* memory_;
  int64_t block_bytes_;
  std::atomic<uint32_t> free_{(1u << kBlocks) - 1};  // bit i: block i is free
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_DEVICE_HOST_WORKSPACE_BLOCKS_H_
