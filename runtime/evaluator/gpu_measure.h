// Measuring a candidate beside its incumbent on a GPU, inside the GPU worker.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_MEASURE_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_MEASURE_H_

#include <functional>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/gpu_copies.h"
#include "runtime/evaluator/gpu_stream.h"
#include "runtime/evaluator/measure.h"

namespace hiera {

// Queues calls on the next copies, one by one or as replayed graphs. Not thread-safe; what it
// borrows must outlive it.
class GpuCaller {
 public:
  GpuCaller(GpuStream& stream, GpuCopies& copies, const double* scalars,
            const Executable& executable, bool graph)
      : stream_(stream),
        copies_(copies),
        scalars_(scalars),
        executable_(executable),
        graph_(graph) {}
  ~GpuCaller();
  GpuCaller(const GpuCaller&) = delete;
  GpuCaller& operator=(const GpuCaller&) = delete;

  // Makes ready what that many calls need: with graphs, the graph. The calls that Queue makes then,
  // which may be a few more. Errors: kUnsupported (it can't be captured), kDeviceError.
  Result<int64_t> Prepare(int64_t calls);
  // Errors: kUnavailable (it refuses to run), kDeviceError with the driver's name.
  Status Queue(int64_t calls);
  // One call outside of any graph.
  Status QueueOne();

  GpuStream& stream() { return stream_; }
  GpuCopies& copies() { return copies_; }

 private:
  Status Capture(int64_t nodes);

  GpuStream& stream_;
  GpuCopies& copies_;
  const double* const scalars_;
  const Executable& executable_;
  const bool graph_;
  CUgraphExec replayed_ = nullptr;
  int64_t nodes_ = 0;  // calls in it
};

struct GpuMeasureOptions {
  double seconds = 0.2;  // of the whole, roughly
  bool graph = false;
  // Told when the device is under load, and once more at the end.
  std::function<void()> look;
};

// In turns, as MeasureInTurns, by events on the stream, each sample of 200 us or more. Errors: as
// GpuCaller's; "incumbent: " comes before those of the incumbent, which may be null.
Result<MeasuredPairs> MeasureOnGpu(GpuStream& stream, GpuCopies& copies, const double* scalars,
                                   const Executable* incumbent, const Executable& candidate,
                                   const GpuMeasureOptions& options);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_MEASURE_H_
