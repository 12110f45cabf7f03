// Process: what the fictional driver keeps for the process that has loaded it: contexts, streams,
// events, captures, memory. One lock for all of it; work is done at once, by the thread that asks
// for it, so an endless kernel holds everything up, as it does a stream.
//
// As with the real driver an error of a kernel stays: every later call that needs the context gets
// it too.
#ifndef HIERA_TESTS_FAKE_CUDA_PROCESS_H_
#define HIERA_TESTS_FAKE_CUDA_PROCESS_H_

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/fake_cuda/card.h"
#include "tests/fake_cuda/code.h"
#include "tests/fake_cuda/device_memory.h"
#include "tests/fake_cuda/driver_api.h"

namespace hiera::fake_cuda {

struct Context {
  int card = 0;
  unsigned long long id = 0;
  int uses = 0;                   // of a primary context
  CUresult error = CUDA_SUCCESS;  // that stays
};

// A step of a graph; the result is CUDA_SUCCESS or an error that stays.
using Work = std::function<CUresult()>;

// The memory that a capture allocated is the graph's.
struct Graph {
  std::vector<Work> steps;
  ~Graph();
};

struct Capture {
  CUstreamCaptureMode mode;
  std::thread::id thread;
  bool broken = false;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
};

struct Stream {
  Context* context = nullptr;
  unsigned long long id = 0;
  bool non_blocking = false;
  std::unique_ptr<Capture> capture;
};

struct Event {
  bool timed = true;
  bool captured = false;
  int64_t recorded_ns = 0;  // 0: never
};

struct Pool {
  int card = 0;
};

class Process {
 public:
  static Process& Get();

  std::recursive_mutex mutex;
  bool initialised = false;
  DeviceMemory memory;
  std::map<Context*, std::unique_ptr<Context>> contexts;
  std::vector<Context*> primaries;  // by card; null until first retained
  std::map<Stream*, std::unique_ptr<Stream>> streams;
  std::map<Event*, std::unique_ptr<Event>> events;
  std::map<Pool*, std::unique_ptr<Pool>> pools;
  std::map<Library*, std::unique_ptr<Library>> libraries;
  std::map<Graph*, std::shared_ptr<Graph>> graphs;
  std::map<void*, std::shared_ptr<Graph>> executables;
  unsigned long long next_id = 1;

  Context* NewContext(int card);
  void Destroy(Context* context);
  Context* current() const;  // of this thread; null where there is none

  // Null for the default stream, which the handles 0, 1 and 2 name. False: no such stream.
  bool FindStream(CUstream handle, Stream** stream);

  // Does the work now, or records it where the stream is captured. What fails then stays with the
  // context.
  CUresult Queue(CUstream handle, const Work& work);

  // Calls that may wait, and so are no part of a capture and end those that must not wait for them.
  CUresult CheckCaptures();
};

// Of this thread.
std::vector<Context*>& ContextStack();
CUstreamCaptureMode& CaptureMode();

// What most entries begin with: the lock, a current context without an error. `work` gets both.
template <typename F>
CUresult InContext(const F& work) {
  Process& process = Process::Get();
  const std::lock_guard lock(process.mutex);
  if (!process.initialised) return CUDA_ERROR_NOT_INITIALIZED;
  Context* const context = process.current();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (context->error != CUDA_SUCCESS) return context->error;
  return work(process, *context);
}

// The same for calls that CheckCaptures is about.
template <typename F>
CUresult Waiting(const F& work) {
  return InContext([&](Process& process, Context& context) {
    const CUresult captures = process.CheckCaptures();
    return captures == CUDA_SUCCESS ? work(process, context) : captures;
  });
}

// Without a context.
template <typename F>
CUresult Locked(const F& work) {
  Process& process = Process::Get();
  const std::lock_guard lock(process.mutex);
  return process.initialised ? work(process) : CUDA_ERROR_NOT_INITIALIZED;
}

// Puts a new object into `all` and gives its handle.
template <typename T, typename Handle>
T* Keep(std::map<T*, std::unique_ptr<T>>* all, Handle* handle) {
  auto made = std::make_unique<T>();
  T* const kept = made.get();
  (*all)[kept] = std::move(made);
  *handle = reinterpret_cast<Handle>(kept);
  return kept;
}

}  // namespace hiera::fake_cuda

#endif  // HIERA_TESTS_FAKE_CUDA_PROCESS_H_
