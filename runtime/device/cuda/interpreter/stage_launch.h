// StageLaunch: one stage of an interpreted task, ready to be queued. Immutable once made; any
// thread. Stages run alike under the driver and in whatever else can run the kernels.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_STAGE_LAUNCH_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_STAGE_LAUNCH_H_

#include <cstdint>
#include <vector>

#include "runtime/device/cuda/interpreter/compile.h"
#include "runtime/device/cuda/interpreter/program.h"
#include "runtime/device/interpreter/lower.h"

namespace hiera::cuda {

// Grid, block and shared memory of a launch.
struct Shape {
  uint32_t blocks = 1, threads = 1, shared_bytes = 0;
};

class StageLaunch {
 public:
  // Of a program. Errors: kUnsupported, where buffers and scalars are too many.
  static Result<StageLaunch> Of(const StageProgram& program, const Target& target);
  // Of a scan along the last axis of dense buffer `number`.
  static StageLaunch OfScan(const interpreter::Lowered& lowered, int number, const Scan& scan,
                            const Target& target);

  bool is_scan() const { return is_scan_; }
  bool is_empty() const { return is_empty_; }  // there is nothing to do
  const Shape& shape() const { return shape_; }
  // Buffers that the stage uses, in its own order.
  const std::vector<int>& buffers() const { return buffers_; }
  // The code, where it has no room in the launch's own data; else empty.
  const std::vector<uint32_t>& far_code() const { return far_code_; }
  void set_far_code(const uint32_t* on_device) { launch_.far_code = on_device; }
  interpreter::Storage scan_storage() const { return scan_storage_; }

  // The kernel's argument, with this run's addresses (by number of Lowered::buffers) and scalars.
  void Fill(char* const* bases, const double* scalars, Launch* out) const noexcept;
  ScanLaunch FillScan(char* const* bases) const noexcept;

 private:
  Launch launch_ = {};
  size_t launch_bytes_ = 0;  // of launch_, from its start, that hold something
  ScanLaunch scan_ = {};
  bool is_scan_ = false, is_empty_ = false;
  Shape shape_;
  std::vector<int> buffers_, scalars_;
  std::vector<uint32_t> far_code_;
  interpreter::Storage scan_storage_ = interpreter::Storage::kF32;
};

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_STAGE_LAUNCH_H_
