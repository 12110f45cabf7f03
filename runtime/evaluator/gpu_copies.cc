#include "runtime/evaluator/gpu_copies.h"

#include <algorithm>

namespace hiera {
namespace {

constexpr int64_t kAlignment = 512;  // of what the driver allocates, and allocators above it
// Tensors so small that this many do not fill the cache stay in it, as they would in a program.
constexpr int64_t kMostCopies = 1024;

int64_t Stride(const Slot& slot) {
  return std::max<int64_t>(slot.span + kAlignment - 1, kAlignment) / kAlignment * kAlignment;
}

bool IsWritten(Role role) { return role == Role::kOutput || role == Role::kInPlace; }

}  // namespace

int64_t GpuCopies::BytesOf(const Task& task, const Layout& layout, int64_t count) {
  int64_t bytes = 0;
  for (size_t i = 0; i < layout.slots.size(); ++i) {
    const bool in_place = RoleOf(task, static_cast<int>(i)) == Role::kInPlace;
    bytes += (in_place ? 2 : 1) * count * Stride(layout.slots[i]);
  }
  return bytes;
}

int64_t GpuCopies::CountFor(const Task& task, const Layout& layout, int64_t cache_bytes,
                            int64_t most_bytes) {
  int64_t touched = 0;
  for (const Slot& slot : layout.slots) touched += Stride(slot);
  const int64_t wanted = std::clamp<int64_t>(2 * cache_bytes / touched + 1, 1, kMostCopies);
  return std::min(wanted, most_bytes / BytesOf(task, layout, 1));
}

Result<GpuCopies> GpuCopies::Make(const GpuStream& stream, const Task& task, const Layout& layout,
                                  Placement placement, const std::byte* inputs, int64_t count) {
  GpuCopies copies(stream, task, layout, placement);
  auto block = DeviceBlock::Make(stream.driver(), BytesOf(task, layout, count));
  if (!block.ok()) return block.status();
  copies.block_ = *std::move(block);
  CUdeviceptr next = copies.block_.address();
  for (size_t i = 0; i < layout.slots.size(); ++i) {
    const Slot& slot = layout.slots[i];
    const Role role = RoleOf(task, static_cast<int>(i));
    Area area;
    area.stride = Stride(slot);
    const int64_t bytes = count * area.stride;
    area.address = next;
    next += static_cast<CUdeviceptr>(bytes);
    if (role == Role::kInPlace) {
      area.initial = next;
      next += static_cast<CUdeviceptr>(bytes);
      copies.has_in_place_ = true;
    }
    HIERA_RETURN_IF_ERROR(stream.Fill(area.address, 0, bytes));
    if (role != Role::kOutput) {
      HIERA_RETURN_IF_ERROR(stream.Upload(
          area.address, inputs + slot.offset + OffsetInSlot(slot, placement), slot.span));
      HIERA_RETURN_IF_ERROR(copies.Repeat(area.address, area.stride, count));
    }
    if (area.initial != 0) HIERA_RETURN_IF_ERROR(stream.Copy(area.initial, area.address, bytes));
    copies.areas_.push_back(area);
  }
  for (int64_t n = 0; n < count; ++n) {
    std::vector<void*>& pointers = copies.pointers_.emplace_back();
    for (const Area& area : copies.areas_) {
      pointers.push_back(
          reinterpret_cast<void*>(area.address + static_cast<CUdeviceptr>(n * area.stride)));
    }
  }
  HIERA_RETURN_IF_ERROR(stream.Wait());
  return copies;
}

// Twice as many copies with every step.
Status GpuCopies::Repeat(CUdeviceptr at, int64_t stride, int64_t count) const {
  for (int64_t done = 1; done < count; done *= 2) {
    HIERA_RETURN_IF_ERROR(stream_->Copy(at + static_cast<CUdeviceptr>(done * stride), at,
                                        std::min(done, count - done) * stride));
  }
  return {};
}

Status GpuCopies::Restore() const {
  for (const Area& area : areas_) {
    if (area.initial == 0) continue;
    HIERA_RETURN_IF_ERROR(stream_->Copy(area.address, area.initial, count() * area.stride));
  }
  return {};
}

Status GpuCopies::Load(const std::byte* outputs) const {
  for (size_t i = 0; i < areas_.size(); ++i) {
    if (!IsWritten(RoleOf(*task_, static_cast<int>(i)))) continue;
    const Slot& slot = layout_->slots[i];
    HIERA_RETURN_IF_ERROR(stream_->Upload(
        areas_[i].address, outputs + slot.offset + OffsetInSlot(slot, placement_), slot.span));
  }
  return stream_->Wait();
}

Status GpuCopies::Collect(std::byte* outputs) const {
  for (size_t i = 0; i < areas_.size(); ++i) {
    if (!IsWritten(RoleOf(*task_, static_cast<int>(i)))) continue;
    const Slot& slot = layout_->slots[i];
    HIERA_RETURN_IF_ERROR(stream_->Download(outputs + slot.offset + OffsetInSlot(slot, placement_),
                                            areas_[i].address, slot.span));
  }
  return stream_->Wait();
}

}  // namespace hiera
