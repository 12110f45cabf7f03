#include "runtime/device/host/interpreter/steps.h"

#include <cstring>

namespace hiera::interpreter {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// How many states hold the value of `source` or of a state that did.
int64_t StatesAfter(const std::vector<Carry>& carries, int source, size_t depth) {
  if (depth > carries.size()) return 0;  // states that only pass a value round
  int64_t count = 0;
  for (const Carry& carry : carries) {
    if (carry.source == source) count += 1 + StatesAfter(carries, carry.state, depth + 1);
  }
  return count;
}

void CopyAxis(const View& from, const View& to, const Buffer& shape, size_t axis,
              int64_t from_offset, int64_t to_offset) {
  const int64_t bytes = StorageBytes(shape.storage);
  if (axis == shape.extents.size()) {
    std::memcpy(to.base + to_offset * bytes, from.base + from_offset * bytes, bytes);
    return;
  }
  const bool row =
      axis + 1 == shape.extents.size() && from.strides[axis] == 1 && to.strides[axis] == 1;
  if (row) {
    std::memcpy(to.base + to_offset * bytes, from.base + from_offset * bytes,
                shape.extents[axis] * bytes);
    return;
  }
  for (int64_t i = 0; i < shape.extents[axis]; ++i) {
    CopyAxis(from, to, shape, axis + 1, from_offset + i * from.strides[axis],
             to_offset + i * to.strides[axis]);
  }
}

}  // namespace

StepPlan MakeStepPlan(const Task& task, const Lowered& lowered,
                      const std::vector<Program>& programs) {
  StepPlan plan;
  plan.steps = task.formula.steps;
  plan.carries = task.formula.carries;
  if (plan.steps <= 1) return plan;
  for (const Carry& carry : plan.carries) {
    if (carry.source < 0 || RoleOf(task, carry.source) == Role::kInput) continue;
    bool known = false;
    for (const CarriedOutput& o : plan.outputs) known |= o.output == carry.source;
    if (known) continue;
    CarriedOutput o;
    o.output = carry.source;
    o.state = carry.state;
    o.spares = StatesAfter(plan.carries, carry.source, 0) + 1;
    o.bytes = Aligned(lowered.buffers[o.output].bytes());
    o.in_place = RoleOf(task, o.output) == Role::kInPlace;
    for (size_t s = 0; s < programs.size(); ++s) {
      if (lowered.stages[s].is_scan || programs[s].output != o.output) continue;
      o.keeps |= !programs[s].clips.empty() || programs[s].root_mask != kNoSlot;
      o.chooses |= programs[s].root_mask != kNoSlot;
    }
    plan.spare_bytes += o.spares * o.bytes;
    plan.outputs.push_back(o);
  }
  return plan;
}

void CopyTensor(const View& from, const View& to, const Buffer& shape) {
  for (const int64_t extent : shape.extents) {
    if (extent == 0) return;
  }
  CopyAxis(from, to, shape, 0, 0, 0);
}

}  // namespace hiera::interpreter
