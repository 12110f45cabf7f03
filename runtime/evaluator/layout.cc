#include "runtime/evaluator/layout.h"

#include <algorithm>

namespace hiera {
namespace {

constexpr int64_t kOrdinaryOffset = 64;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

}  // namespace

Layout LayOut(const Task& task) {
  Layout layout;
  for (int i = 0; i < task.bound_count; ++i) {
    Slot slot;
    slot.offset = layout.bytes;
    slot.span = task.tensors[i].span_bytes();
    slot.alignment = std::max(task.contract.alignment, SizeOf(task.tensors[i].dtype));
    slot.bytes = RoundUp(slot.span + kOrdinaryOffset, kPageBytes);
    layout.bytes += slot.bytes;
    layout.slots.push_back(slot);
  }
  layout.bytes = std::max(layout.bytes, kPageBytes);
  return layout;
}

int64_t OffsetInSlot(const Slot& slot, Placement placement) {
  switch (placement) {
    case Placement::kLeft:
      return 0;
    case Placement::kRight:
      return (slot.bytes - slot.span) / slot.alignment * slot.alignment;
    case Placement::kShifted:
      return slot.alignment;
    case Placement::kOrdinary:
      return kOrdinaryOffset;
  }
  return 0;
}

std::vector<void*> PointersInto(const Layout& layout, Placement placement, std::byte* base) {
  std::vector<void*> pointers;
  for (const Slot& slot : layout.slots) {
    pointers.push_back(base + slot.offset + OffsetInSlot(slot, placement));
  }
  return pointers;
}

}  // namespace hiera
