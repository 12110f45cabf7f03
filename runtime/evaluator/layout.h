// Layout: where the bound tensors of a task lie inside a memory file, with room around each of them
// that must stay untouched. Each tensor has a slot of whole pages; the placement of a trial says
// where in the slot the tensor begins. A plain value; pure functions.
#ifndef HIERA_RUNTIME_EVALUATOR_LAYOUT_H_
#define HIERA_RUNTIME_EVALUATOR_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/task/task.h"

namespace hiera {

inline constexpr int64_t kPageBytes = 4096;

enum class Placement : uint8_t {
  kLeft,     // begins with its page: the first byte before it faults
  kRight,    // ends with its page as nearly as its alignment lets it: what follows faults
  kShifted,  // no better aligned than the contract promises
  kOrdinary  // 64 bytes into its page, as an aligned allocation might be
};

struct Slot {
  int64_t offset = 0;  // in the file, whole pages
  int64_t bytes = 0;   // whole pages
  int64_t span = 0;    // of the tensor
  int64_t alignment = 1;
};

struct Layout {
  std::vector<Slot> slots;  // one per bound tensor
  int64_t bytes = 0;        // of the file
};

Layout LayOut(const Task& task);

// Where in its slot a tensor begins.
int64_t OffsetInSlot(const Slot& slot, Placement placement);

// Pointers of a run into a mapping of the whole file.
std::vector<void*> PointersInto(const Layout& layout, Placement placement, std::byte* base);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_LAYOUT_H_
