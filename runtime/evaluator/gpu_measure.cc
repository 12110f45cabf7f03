#include "runtime/evaluator/gpu_measure.h"

#include <algorithm>
#include <string>

namespace hiera {
namespace {

// Events tell half a microsecond, and the first launch behind one that finds the device idle comes
// up to a few microseconds late: a percent or so of this.
constexpr double kShortestSampleNs = 200'000;
constexpr int64_t kMostNodes = 512;  // of a graph; instantiating one takes about 1 us a node

// Nanoseconds per call, negative where one failed; why goes to `status`.
double Sample(GpuCaller& caller, int64_t calls, Status& status) {
  const auto take = [&]() -> Result<double> {
    const Result<int64_t> queued = caller.Prepare(calls);
    if (!queued.ok()) return queued.status();
    HIERA_RETURN_IF_ERROR(caller.copies().Restore());
    // One call ahead, so that the clock starts on a device that is at work while the host is
    // already queueing.
    HIERA_RETURN_IF_ERROR(caller.QueueOne());
    HIERA_RETURN_IF_ERROR(caller.stream().StartClock());
    HIERA_RETURN_IF_ERROR(caller.Queue(*queued));
    const Result<double> ns = caller.stream().StopClock();
    if (!ns.ok()) return ns.status();
    return *ns / static_cast<double>(*queued);
  };
  const Result<double> ns = take();
  if (ns.ok()) return *ns;
  status = ns.status();
  return -1;
}

}  // namespace

GpuCaller::~GpuCaller() {
  if (replayed_ != nullptr) stream_.driver().GraphExecDestroy(replayed_);
}

Status GpuCaller::QueueOne() {
  const hiera_status status = executable_.Run({copies_.Next(), scalars_, stream_.handle()});
  if (status == HIERA_OK) return {};
  HIERA_RETURN_IF_ERROR(stream_.Wait());  // says what the driver has against it
  return Unavailable("refused to run");
}

Status GpuCaller::Capture(int64_t nodes) {
  const cuda::Driver& driver = stream_.driver();
  if (replayed_ != nullptr) driver.GraphExecDestroy(replayed_);
  replayed_ = nullptr;
  CUresult result =
      driver.StreamBeginCapture(stream_.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (result != CUDA_SUCCESS) return cuda::Refused(driver, result, "beginning a capture");
  bool refused = false;
  for (int64_t i = 0; i < nodes && !refused; ++i) {
    refused = executable_.Run({copies_.Next(), scalars_, stream_.handle()}) != HIERA_OK;
  }
  CUgraph graph = nullptr;
  result = driver.StreamEndCapture(stream_.handle(), &graph);
  if (result == CUDA_SUCCESS && !refused) {
    result = driver.GraphInstantiateWithFlags(&replayed_, graph, 0);
  }
  if (graph != nullptr) driver.GraphDestroy(graph);
  if (refused) return Unsupported("cannot be captured into a graph, as one with a workspace can't");
  if (result != CUDA_SUCCESS) return cuda::Refused(driver, result, "making a graph");
  nodes_ = nodes;
  return {};
}

Result<int64_t> GpuCaller::Prepare(int64_t calls) {
  if (!graph_) return calls;
  const int64_t nodes = std::min(calls, kMostNodes);
  if (replayed_ == nullptr || nodes != nodes_) HIERA_RETURN_IF_ERROR(Capture(nodes));
  return (calls + nodes - 1) / nodes * nodes;
}

Status GpuCaller::Queue(int64_t calls) {
  if (!graph_) {
    for (int64_t i = 0; i < calls; ++i) HIERA_RETURN_IF_ERROR(QueueOne());
    return {};
  }
  for (int64_t done = 0; done < calls; done += nodes_) {
    const CUresult result = stream_.driver().GraphLaunch(replayed_, stream_.handle());
    if (result != CUDA_SUCCESS) {
      return cuda::Refused(stream_.driver(), result, "replaying a graph");
    }
  }
  return {};
}

Result<MeasuredPairs> MeasureOnGpu(GpuStream& stream, GpuCopies& copies, const double* scalars,
                                   const Executable* incumbent, const Executable& candidate,
                                   const GpuMeasureOptions& options) {
  Status first_failed, second_failed;
  GpuCaller second(stream, copies, scalars, candidate, options.graph);
  GpuCaller first(stream, copies, scalars, incumbent == nullptr ? candidate : *incumbent,
                  options.graph);
  int samples = 0;
  constexpr int kUnderLoad = 4;  // samples of the candidate: its warm-up is over
  TakeSample take_first;
  if (incumbent != nullptr) {
    take_first = [&](int64_t calls) { return Sample(first, calls, first_failed); };
  }
  const TakeSample take_second = [&](int64_t calls) {
    const double ns = Sample(second, calls, second_failed);
    if (++samples == kUnderLoad && options.look) options.look();
    return ns;
  };
  auto pairs = MeasureInTurns(take_first, take_second, options.seconds, kShortestSampleNs);
  if (options.look) options.look();
  if (!first_failed.ok()) {
    return Status(first_failed.code(), "incumbent: " + first_failed.message());
  }
  if (!second_failed.ok()) return second_failed;
  return pairs;
}

}  // namespace hiera
