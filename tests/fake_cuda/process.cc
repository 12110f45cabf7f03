#include "tests/fake_cuda/process.h"

namespace hiera::fake_cuda {

// A graph goes under the lock, or with the process.
Graph::~Graph() { Process::Get().memory.FreeAllOf(this); }

Process& Process::Get() {
  static Process& process = *new Process;  // threads may use it to the process's end
  return process;
}

std::vector<Context*>& ContextStack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

CUstreamCaptureMode& CaptureMode() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

Context* Process::NewContext(int card) {
  CUcontext handle = nullptr;
  Context* const context = Keep(&contexts, &handle);
  context->card = card;
  context->id = next_id++;
  return context;
}

void Process::Destroy(Context* context) {
  memory.FreeAllOf(context);
  std::erase_if(streams, [&](const auto& s) { return s.second->context == context; });
  contexts.erase(context);
}

Context* Process::current() const {
  const std::vector<Context*>& stack = ContextStack();
  return !stack.empty() && contexts.count(stack.back()) != 0 ? stack.back() : nullptr;
}

bool Process::FindStream(CUstream handle, Stream** stream) {
  *stream = nullptr;
  if (reinterpret_cast<uintptr_t>(handle) <= 2) return true;
  const auto found = streams.find(reinterpret_cast<Stream*>(handle));
  if (found == streams.end()) return false;
  *stream = found->second.get();
  return true;
}

CUresult Process::Queue(CUstream handle, const Work& work) {
  Stream* stream = nullptr;
  if (!FindStream(handle, &stream)) return CUDA_ERROR_INVALID_HANDLE;
  if (stream == nullptr) {
    // It would wait for the streams that do not opt out, which a capture cannot.
    for (const auto& [other, kept] : streams) {
      if (other->capture == nullptr || other->non_blocking) continue;
      other->capture->broken = true;
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
  } else if (stream->capture != nullptr) {
    if (stream->capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->capture->graph->steps.push_back(work);
    return CUDA_SUCCESS;
  }
  Context* const context = stream == nullptr ? current() : stream->context;
  const CUresult result = work();
  if (result != CUDA_SUCCESS) context->error = result;
  return CUDA_SUCCESS;  // whoever waits for the stream gets the error
}

CUresult Process::CheckCaptures() {
  if (CaptureMode() == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  bool any = false;
  for (const auto& [stream, kept] : streams) {
    Capture* const capture = stream->capture.get();
    if (capture == nullptr || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool everywhere = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                            CaptureMode() == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!everywhere && capture->thread != std::this_thread::get_id()) continue;
    capture->broken = true;
    any = true;
  }
  return any ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

}  // namespace hiera::fake_cuda
