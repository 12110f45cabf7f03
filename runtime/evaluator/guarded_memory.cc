#include "runtime/evaluator/guarded_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace hiera {
namespace {

// Wide enough that a stray row or plane is likely to land in it; address space costs nothing.
constexpr int64_t kGuardBytes = 1 << 20;
constexpr int64_t kWorkspaceAlignment = 64;
constexpr int64_t kOrdinaryOffset = 64;

int64_t Pages(int64_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

Status MapError(const char* what) {
  return OutOfMemory(std::string("cannot map ") + what + ": " + std::strerror(errno));
}

}  // namespace

Result<std::byte*> GuardedMemory::Reserve(int64_t bytes) {
  void* base = mmap(nullptr, static_cast<size_t>(bytes + 2 * kGuardBytes), PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return MapError("guarded memory");
  return static_cast<std::byte*>(base) + kGuardBytes;
}

Result<std::vector<void*>> GuardedMemory::MapTrial(const Task& task, const Layout& layout,
                                                   Placement placement, int inputs_fd,
                                                   int outputs_fd) {
  std::vector<void*> pointers;
  for (int i = 0; i < task.bound_count; ++i) {
    const Slot& slot = layout.slots[i];
    const Role role = RoleOf(task, i);
    const bool written = role == Role::kOutput || role == Role::kInPlace;
    auto inner = Reserve(slot.bytes);
    if (!inner.ok()) return inner.status();
    if (mmap(*inner, static_cast<size_t>(slot.bytes), written ? PROT_READ | PROT_WRITE : PROT_READ,
             MAP_SHARED | MAP_FIXED, written ? outputs_fd : inputs_fd, slot.offset) == MAP_FAILED) {
      return MapError("a tensor");
    }
    std::byte* tensor = *inner + OffsetInSlot(slot, placement);
    ranges_.push_back(
        {*inner - kGuardBytes, tensor, tensor + slot.span, *inner + slot.bytes + kGuardBytes, i});
    pointers.push_back(tensor);
  }
  return pointers;
}

Result<void*> GuardedMemory::MapWorkspace(int64_t bytes, bool at_end) {
  const int64_t mapped = Pages(bytes);
  auto inner = Reserve(mapped);
  if (!inner.ok()) return inner.status();
  if (mprotect(*inner, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE) != 0) {
    return MapError("a workspace");
  }
  const int64_t offset = at_end ? (mapped - bytes) / kWorkspaceAlignment * kWorkspaceAlignment : 0;
  std::byte* begin = *inner + offset;
  ranges_.push_back({*inner - kGuardBytes, begin, begin + bytes, *inner + mapped + kGuardBytes,
                     kWorkspaceTensor});
  return static_cast<void*>(begin);
}

Result<std::vector<void*>> GuardedMemory::CopyTrial(const Layout& layout,
                                                    const std::vector<void*>& pointers) {
  std::vector<void*> copies;
  for (size_t i = 0; i < pointers.size(); ++i) {
    const Slot& slot = layout.slots[i];
    void* base = mmap(nullptr, static_cast<size_t>(slot.bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return MapError("a tensor's copy");
    std::byte* tensor = static_cast<std::byte*>(base) + kOrdinaryOffset;
    std::memcpy(tensor, pointers[i], static_cast<size_t>(slot.span));
    copies.push_back(tensor);
  }
  return copies;
}

}  // namespace hiera
