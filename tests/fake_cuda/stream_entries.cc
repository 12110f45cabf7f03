// The driver's entries that are about streams, events and graphs.
#include <time.h>

#include "tests/fake_cuda/process.h"

namespace hiera::fake_cuda {
namespace {

int64_t NowNs() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// `work` gets the stream, null for the default one.
template <typename F>
CUresult OfStream(CUstream handle, const F& work) {
  return InContext([&](Process& process, Context&) {
    Stream* stream = nullptr;
    if (!process.FindStream(handle, &stream)) return CUDA_ERROR_INVALID_HANDLE;
    return work(process, stream);
  });
}

template <typename F>
CUresult OfEvent(CUevent handle, const F& work) {
  return InContext([&](Process& process, Context&) {
    const auto found = process.events.find(reinterpret_cast<Event*>(handle));
    if (found == process.events.end()) return CUDA_ERROR_INVALID_HANDLE;
    return work(process, *found->second);
  });
}

bool IsBlockingCapture(const Process& process) {
  for (const auto& [stream, kept] : process.streams) {
    if (stream->capture != nullptr && !stream->non_blocking) return true;
  }
  return false;
}

}  // namespace
}  // namespace hiera::fake_cuda

using namespace hiera::fake_cuda;  // the entries are C's

extern "C" {

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return InContext([&](Process& process, Context& context) {
    Stream* const made = Keep(&process.streams, stream);
    made->context = &context;
    made->id = process.next_id++;
    made->non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamDestroy(CUstream stream) {
  return Locked([&](Process& process) {
    return process.streams.erase(reinterpret_cast<Stream*>(stream)) != 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return OfStream(handle, [&](Process&, Stream* stream) {
    return *id = stream == nullptr ? 0 : stream->id, CUDA_SUCCESS;
  });
}
CUresult cuStreamSynchronize(CUstream handle) {
  return OfStream(handle, [&](Process& process, Stream* stream) {
    if (stream != nullptr && stream->capture != nullptr) {
      stream->capture->broken = true;
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return process.CheckCaptures();
  });
}
CUresult cuStreamQuery(CUstream handle) { return cuStreamSynchronize(handle); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned) {
  return OfStream(stream, [&](Process& process, Stream*) {
    return process.events.count(reinterpret_cast<Event*>(event)) != 0 ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return InContext([&](Process& process, Context&) {
    Keep(&process.events, event)->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
    return CUDA_SUCCESS;
  });
}
CUresult cuEventDestroy(CUevent event) {
  return Locked([&](Process& process) {
    return process.events.erase(reinterpret_cast<Event*>(event)) != 0 ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuEventRecord(CUevent event, CUstream handle) {
  return OfEvent(event, [&](Process& process, Event& known) {
    Stream* stream = nullptr;
    if (!process.FindStream(handle, &stream)) return CUDA_ERROR_INVALID_HANDLE;
    known.captured = stream != nullptr && stream->capture != nullptr;
    if (!known.captured) known.recorded_ns = NowNs();
    return CUDA_SUCCESS;
  });
}
CUresult cuEventQuery(CUevent event) {
  return OfEvent(event, [&](Process& process, Event& known) {
    return known.captured ? CUDA_ERROR_CAPTURED_EVENT : process.CheckCaptures();
  });
}
CUresult cuEventSynchronize(CUevent event) { return cuEventQuery(event); }

// In steps of half a microsecond, as the real ones are.
CUresult cuEventElapsedTime(float* ms, CUevent begin, CUevent end) {
  return OfEvent(begin, [&](Process& process, Event& first) {
    const auto found = process.events.find(reinterpret_cast<Event*>(end));
    if (found == process.events.end()) return CUDA_ERROR_INVALID_HANDLE;
    const Event& last = *found->second;
    if (!first.timed || !last.timed || first.captured || last.captured || first.recorded_ns == 0 ||
        last.recorded_ns == 0) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    const int64_t steps = (last.recorded_ns - first.recorded_ns + 250) / 500;
    return *ms = static_cast<float>(static_cast<double>(steps) * 0.0005), CUDA_SUCCESS;
  });
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return OfStream(handle, [&](Process&, Stream* stream) {
    if (stream == nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = std::make_unique<Capture>();
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return OfStream(handle, [&](Process& process, Stream* stream) {
    *graph = nullptr;
    if (stream == nullptr || stream->capture == nullptr) return CUDA_ERROR_ILLEGAL_STATE;
    const std::unique_ptr<Capture> capture = std::move(stream->capture);
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->thread != std::this_thread::get_id()) {
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    process.graphs[capture->graph.get()] = capture->graph;
    return *graph = reinterpret_cast<CUgraph>(capture->graph.get()), CUDA_SUCCESS;
  });
}
CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return OfStream(handle, [&](Process& process, Stream* stream) {
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (stream == nullptr) {
      return IsBlockingCapture(process) ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
    }
    if (stream->capture == nullptr) return CUDA_SUCCESS;
    *status = stream->capture->broken ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                      : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return std::swap(*mode, CaptureMode()), CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long) {
  return Locked([&](Process& process) {
    const auto found = process.graphs.find(reinterpret_cast<Graph*>(graph));
    if (found == process.graphs.end()) return CUDA_ERROR_INVALID_VALUE;
    void* const handle = new char;  // a name that no other has
    process.executables[handle] = found->second;
    return *executable = static_cast<CUgraphExec>(handle), CUDA_SUCCESS;
  });
}
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return InContext([&](Process& process, Context&) {
    const auto found = process.executables.find(executable);
    if (found == process.executables.end()) return CUDA_ERROR_INVALID_VALUE;
    return process.Queue(stream, [graph = found->second] {
      for (const Work& step : graph->steps) {
        const CUresult result = step();
        if (result != CUDA_SUCCESS) return result;
      }
      return CUDA_SUCCESS;
    });
  });
}
CUresult cuGraphDestroy(CUgraph graph) {
  return Locked([&](Process& process) {
    return process.graphs.erase(reinterpret_cast<Graph*>(graph)) != 0 ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_VALUE;
  });
}
CUresult cuGraphExecDestroy(CUgraphExec executable) {
  return Locked([&](Process& process) {
    if (process.executables.erase(executable) == 0) return CUDA_ERROR_INVALID_VALUE;
    delete static_cast<char*>(static_cast<void*>(executable));
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
