#include "runtime/evaluator/gpu_arena.h"

#include <algorithm>
#include <cstring>

namespace hiera {
namespace {

// As little-endian pairs of bytes: NaNs of f16 and bf16, and in a row of f32 and f64.
constexpr uint16_t kPatterns[2] = {0xffff, 0x7fff};
constexpr int64_t kChunkBytes = 8 << 20;  // compared at once

uint8_t PatternByte(int run, int64_t at) {
  return static_cast<uint8_t>(at % 2 == 0 ? kPatterns[run] & 0xff : kPatterns[run] >> 8);
}

std::string Bytes(int64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

}  // namespace

Status GpuZone::Fill(const GpuStream& stream, int run) const {
  std::vector<uint8_t> pattern(static_cast<size_t>(bytes));
  for (int64_t i = 0; i < bytes; ++i) {
    pattern[static_cast<size_t>(i)] = PatternByte(run, static_cast<int64_t>(address) + i);
  }
  HIERA_RETURN_IF_ERROR(stream.Upload(address, pattern.data(), bytes));
  return stream.Wait();  // the pattern goes with this call
}

Result<int64_t> GpuZone::FirstChanged(const GpuStream& stream, int run) const {
  std::vector<uint8_t> now(static_cast<size_t>(bytes));
  HIERA_RETURN_IF_ERROR(stream.Download(now.data(), address, bytes));
  HIERA_RETURN_IF_ERROR(stream.Wait());
  for (int64_t i = 0; i < bytes; ++i) {
    if (now[static_cast<size_t>(i)] != PatternByte(run, static_cast<int64_t>(address) + i)) {
      return i;
    }
  }
  return int64_t{-1};
}

int64_t GpuArena::BytesOf(const Layout& layout) {
  int64_t bytes = 0;
  for (const Slot& slot : layout.slots) bytes += slot.bytes + 2 * kZoneBytes;
  return bytes;
}

Result<GpuArena> GpuArena::Make(const GpuStream& stream, const Task& task, const Layout& layout) {
  GpuArena arena(stream, task, layout);
  auto block = DeviceBlock::Make(stream.driver(), BytesOf(layout));
  if (!block.ok()) return block.status();
  arena.block_ = *std::move(block);
  return arena;
}

bool GpuArena::IsWritten(size_t tensor) const {
  const Role role = RoleOf(*task_, static_cast<int>(tensor));
  return role == Role::kOutput || role == Role::kInPlace;
}

// A slot of an output belongs to the judge, who looks for changes around the tensor; around an
// input the rest of its slot is part of the zones.
Status GpuArena::Hold(uint32_t trial, Placement placement, const std::byte* inputs) {
  trial_ = -1;
  placement_ = placement;
  inputs_ = inputs;
  regions_.clear();
  pointers_.clear();
  CUdeviceptr next = block_.address();
  for (size_t i = 0; i < layout_->slots.size(); ++i) {
    const Slot& slot = layout_->slots[i];
    const int64_t offset = OffsetInSlot(slot, placement);
    const int64_t rest = slot.bytes - offset - slot.span;
    Region region;
    region.slot = next + static_cast<CUdeviceptr>(kZoneBytes);
    const CUdeviceptr tensor = region.slot + static_cast<CUdeviceptr>(offset);
    region.before = {next, kZoneBytes + (IsWritten(i) ? 0 : offset)};
    region.behind = {IsWritten(i) ? region.slot + static_cast<CUdeviceptr>(slot.bytes)
                                  : tensor + static_cast<CUdeviceptr>(slot.span),
                     kZoneBytes + (IsWritten(i) ? 0 : rest)};
    region.zone_to_tensor = kZoneBytes + offset;
    region.tensor_to_zone = slot.span + (IsWritten(i) ? rest : 0);
    if (!IsWritten(i)) {
      HIERA_RETURN_IF_ERROR(stream_->Upload(tensor, inputs + slot.offset + offset, slot.span));
    }
    regions_.push_back(region);
    pointers_.push_back(reinterpret_cast<void*>(tensor));
    next = region.slot + static_cast<CUdeviceptr>(slot.bytes + kZoneBytes);
  }
  HIERA_RETURN_IF_ERROR(stream_->Wait());
  trial_ = trial;
  return {};
}

Status GpuArena::Prepare(int run, const std::byte* outputs) {
  run_ = run;
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Slot& slot = layout_->slots[i];
    HIERA_RETURN_IF_ERROR(regions_[i].before.Fill(*stream_, run));
    HIERA_RETURN_IF_ERROR(regions_[i].behind.Fill(*stream_, run));
    if (!IsWritten(i)) continue;
    HIERA_RETURN_IF_ERROR(stream_->Upload(regions_[i].slot, outputs + slot.offset, slot.bytes));
  }
  return stream_->Wait();
}

Status GpuArena::Collect(std::byte* outputs) const {
  for (size_t i = 0; i < regions_.size(); ++i) {
    const Slot& slot = layout_->slots[i];
    if (!IsWritten(i)) continue;
    HIERA_RETURN_IF_ERROR(stream_->Download(outputs + slot.offset, regions_[i].slot, slot.bytes));
  }
  return stream_->Wait();
}

Result<int64_t> GpuArena::FirstChangedInput(size_t tensor) const {
  const Slot& slot = layout_->slots[tensor];
  const std::byte* expected = inputs_ + slot.offset + OffsetInSlot(slot, placement_);
  const auto address = reinterpret_cast<CUdeviceptr>(pointers_[tensor]);
  std::vector<std::byte> now(static_cast<size_t>(std::min(slot.span, kChunkBytes)));
  for (int64_t done = 0; done < slot.span; done += kChunkBytes) {
    const int64_t bytes = std::min(kChunkBytes, slot.span - done);
    HIERA_RETURN_IF_ERROR(
        stream_->Download(now.data(), address + static_cast<CUdeviceptr>(done), bytes));
    HIERA_RETURN_IF_ERROR(stream_->Wait());
    if (std::memcmp(now.data(), expected + done, static_cast<size_t>(bytes)) == 0) continue;
    const auto first = std::mismatch(now.begin(), now.begin() + bytes, expected + done).first;
    return done + (first - now.begin());
  }
  return int64_t{-1};
}

Result<std::optional<std::string>> GpuArena::FindDamage() const {
  for (size_t i = 0; i < regions_.size(); ++i) {
    const std::string& name = task_->tensors[i].name;
    const Region& region = regions_[i];
    const Result<int64_t> before = region.before.FirstChanged(*stream_, run_);
    if (!before.ok()) return before.status();
    if (*before >= 0) {
      return std::optional("wrote " + Bytes(region.zone_to_tensor - *before) +
                           " before the start of " + name);
    }
    const Result<int64_t> behind = region.behind.FirstChanged(*stream_, run_);
    if (!behind.ok()) return behind.status();
    if (*behind >= 0) {
      return std::optional("wrote " +
                           Bytes(region.tensor_to_zone + *behind - layout_->slots[i].span) +
                           " behind the end of " + name);
    }
    if (IsWritten(i)) continue;
    const Result<int64_t> input = FirstChangedInput(i);
    if (!input.ok()) return input.status();
    if (*input >= 0) {
      return std::optional("wrote into " + name + ", which is an input, at byte " +
                           std::to_string(*input));
    }
  }
  return std::optional<std::string>();
}

}  // namespace hiera
