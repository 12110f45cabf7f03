// GpuCopies: the tensors that candidates are timed on: so many copies of the timed trial's, used in
// turns, that together they are larger than twice the last-level cache. Aligned as the driver
// aligns allocations. Not thread-safe; what it borrows must outlive it.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_COPIES_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_COPIES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/evaluator/gpu_stream.h"
#include "runtime/evaluator/layout.h"
#include "runtime/task/task.h"

namespace hiera {

class GpuCopies {
 public:
  // What `count` copies take, the initial values of tensors that are updated in place included.
  static int64_t BytesOf(const Task& task, const Layout& layout, int64_t count);
  // How many there should be, within `most_bytes`; 0: not even one fits.
  static int64_t CountFor(const Task& task, const Layout& layout, int64_t cache_bytes,
                          int64_t most_bytes);

  // `inputs` maps the layout's file, placed as told. Errors: kOutOfMemory, kDeviceError.
  static Result<GpuCopies> Make(const GpuStream& stream, const Task& task, const Layout& layout,
                                Placement placement, const std::byte* inputs, int64_t count);

  int64_t count() const { return static_cast<int64_t>(pointers_.size()); }
  // The pointers of the next copy.
  void* const* Next() { return pointers_[static_cast<size_t>(next_++ % count())].data(); }
  void* const* First() const { return pointers_.front().data(); }

  bool has_in_place() const { return has_in_place_; }
  // Puts back the initial values of tensors that are updated in place, in every copy.
  Status Restore() const;
  // Sets what is written in the first copy from a mapping of the layout's file, and reads it back.
  Status Load(const std::byte* outputs) const;
  Status Collect(std::byte* outputs) const;

 private:
  struct Area {
    CUdeviceptr address = 0;  // of the first copy
    CUdeviceptr initial = 0;  // of as many copies of the initial values; 0: not in place
    int64_t stride = 0;
  };

  GpuCopies(const GpuStream& stream, const Task& task, const Layout& layout, Placement placement)
      : stream_(&stream), task_(&task), layout_(&layout), placement_(placement) {}
  Status Repeat(CUdeviceptr at, int64_t stride, int64_t count) const;

  const GpuStream* stream_;
  const Task* task_;
  const Layout* layout_;
  Placement placement_;
  DeviceBlock block_;
  std::vector<Area> areas_;
  std::vector<std::vector<void*>> pointers_;
  bool has_in_place_ = false;
  int64_t next_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_COPIES_H_
