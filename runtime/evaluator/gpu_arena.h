// GpuArena: the tensors of one trial in memory of the device, each with zones around it that must
// stay untouched. A zone holds a pattern that is a NaN in every real type, so that what is read
// there shows in the result, and that differs between the two runs of a verification, so that no
// value written there can hide.
//
// GpuZone: one such zone, for others that guard memory of their own. Not thread-safe; what they
// borrow must outlive them.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_ARENA_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_ARENA_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/evaluator/gpu_stream.h"
#include "runtime/evaluator/layout.h"
#include "runtime/task/task.h"

namespace hiera {

inline constexpr int64_t kZoneBytes = 64 << 10;

struct GpuZone {
  CUdeviceptr address = 0;
  int64_t bytes = 0;

  // `run` is 0 or 1: which of the two patterns.
  Status Fill(const GpuStream& stream, int run) const;
  // The first byte that is no longer the pattern's, or -1.
  Result<int64_t> FirstChanged(const GpuStream& stream, int run) const;
};

class GpuArena {
 public:
  static int64_t BytesOf(const Layout& layout);
  // Errors: kOutOfMemory, kDeviceError.
  static Result<GpuArena> Make(const GpuStream& stream, const Task& task, const Layout& layout);

  // The trial whose inputs it holds, or -1.
  int64_t trial() const { return trial_; }
  // Takes over the inputs of a trial: `inputs` maps the layout's file, and must stay.
  Status Hold(uint32_t trial, Placement placement, const std::byte* inputs);
  // Fills the zones, and the slots of what is written from a mapping of the layout's file.
  Status Prepare(int run, const std::byte* outputs);
  // One pointer per bound tensor.
  const std::vector<void*>& pointers() const { return pointers_; }
  // Copies the slots of what is written back into such a mapping.
  Status Collect(std::byte* outputs) const;
  // What a run has done to zones and inputs, in words; nothing where it has done nothing.
  Result<std::optional<std::string>> FindDamage() const;

 private:
  struct Region {
    CUdeviceptr slot = 0;
    GpuZone before, behind;
    int64_t zone_to_tensor = 0;  // from the beginning of `before` to the tensor's
    int64_t tensor_to_zone = 0;  // from the tensor's beginning to that of `behind`
  };

  GpuArena(const GpuStream& stream, const Task& task, const Layout& layout)
      : stream_(&stream), task_(&task), layout_(&layout) {}
  bool IsWritten(size_t tensor) const;
  Result<int64_t> FirstChangedInput(size_t tensor) const;

  const GpuStream* stream_;
  const Task* task_;
  const Layout* layout_;
  DeviceBlock block_;
  std::vector<Region> regions_;  // one per bound tensor, of the trial at hand
  std::vector<void*> pointers_;
  const std::byte* inputs_ = nullptr;
  Placement placement_ = Placement::kLeft;
  int64_t trial_ = -1;
  int run_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_ARENA_H_
