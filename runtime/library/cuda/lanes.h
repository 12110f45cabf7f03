// Lanes: what calls of a library must not share while they are issued (a descriptor, a handle), and
// what the work of two streams must never share (a workspace), made ahead, one set per context.
//
// Thread safety: Enter and Leave from any thread, without locks, allocations or calls of the
// driver. A lane with a workspace belongs to the first stream that enters it, for good: streams are
// told apart by their driver-wide number, which is never given twice.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_LANES_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_LANES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/library/cuda/gpu_entries.h"

namespace hiera {

class Lanes {
 public:
  static constexpr int kMost = 8;
  static constexpr int64_t kBytes = int64_t{256} << 20;  // of all workspaces of one set

  explicit Lanes(const GpuEntries& gpu, int count = kMost) : gpu_(gpu), count_(count) {}
  ~Lanes() {
    for (const uint64_t workspace : workspaces_) {
      if (workspace != 0) gpu_.release(workspace);
    }
  }
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // Allocates in the current context: fewer lanes where workspaces are large, at least one. Errors:
  // kOutOfMemory.
  Status Make(int64_t workspace_bytes) {
    if (workspace_bytes <= 0) return {};
    count_ = static_cast<int>(std::clamp<int64_t>(kBytes / workspace_bytes, 1, kMost));
    for (int i = 0; i < count_; ++i) {
      const int status = gpu_.allocate(&workspaces_[i], static_cast<size_t>(workspace_bytes));
      if (status != 0) {
        workspaces_[i] = 0;
        return OutOfMemory("the device has no " + std::to_string(workspace_bytes) +
                           " bytes for a workspace, driver status " + std::to_string(status));
      }
    }
    return {};
  }

  // Waits for the moment that another thread needs to issue its call. `stream_id` 0: any lane will
  // do. -1: every lane belongs to another stream.
  int Enter(uint64_t stream_id) noexcept {
    if (stream_id == 0) {
      const int first = next_.fetch_add(1, std::memory_order_relaxed) % count_;
      for (int i = first;; i = (i + 1) % count_) {
        if (TryLock(i)) return i;
      }
    }
    for (int i = 0; i < count_; ++i) {
      uint64_t owner = owners_[i].load(std::memory_order_relaxed);
      if (owner == 0) {
        owners_[i].compare_exchange_strong(owner, stream_id, std::memory_order_relaxed);
        if (owner == 0) owner = stream_id;
      }
      if (owner != stream_id) continue;
      while (!TryLock(i)) {
      }
      return i;
    }
    return -1;
  }
  void Leave(int lane) noexcept { busy_[lane].store(false, std::memory_order_release); }

  void* workspace(int lane) const { return reinterpret_cast<void*>(workspaces_[lane]); }
  int count() const { return count_; }

 private:
  bool TryLock(int lane) noexcept {
    return !busy_[lane].load(std::memory_order_relaxed) &&
           !busy_[lane].exchange(true, std::memory_order_acquire);
  }

  const GpuEntries& gpu_;
  int count_;
  std::atomic<unsigned> next_{0};
  std::array<std::atomic<uint64_t>, kMost> owners_{};
  std::array<std::atomic<bool>, kMost> busy_{};
  std::array<uint64_t, kMost> workspaces_{};
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_LANES_H_
