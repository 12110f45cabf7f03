// Device: where code runs. The host implements it with shared objects and threads; CUDA implements
// it with the driver API. Core and evaluator use a device through this interface alone.
//
// Ownership: a device outlives what it made. Thread safety: every method may be called from any
// thread; an Executable is immutable after it was made.
#ifndef HIERA_RUNTIME_DEVICE_DEVICE_H_
#define HIERA_RUNTIME_DEVICE_DEVICE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/fingerprint.h"
#include "runtime/task/task.h"
#include "runtime/task/variant.h"

namespace hiera {

// The arguments of one run, borrowed for its duration.
struct Call {
  void* const* pointers;  // one per bound tensor
  const double* scalars;  // one per scalar; may be null where there are none
  void* stream;           // the device's own; null on the host
};

// Something that can be run at once. Run never allocates, locks or throws once it has been run by
// the thread before; it may be called from several threads with different outputs. An executable
// may be destroyed while work that it queued is still running, or held by a captured graph.
class Executable {
 public:
  virtual ~Executable() = default;

  // HIERA_OK; HIERA_UNAVAILABLE where it cannot take this call just now (every workspace is in use)
  // and has written nothing, so that the caller falls back; any other status is a failure.
  virtual hiera_status Run(const Call& call) const noexcept = 0;
};

// Times calls on the device without stalling it. One timer times one interval at a time.
class CallTimer {
 public:
  virtual ~CallTimer() = default;
  virtual void Begin(void* stream) noexcept = 0;
  virtual void End(void* stream) noexcept = 0;
  // Nanoseconds of the last interval; a negative number while the device has not passed its end;
  // NaN where the interval was lost.
  virtual double ElapsedNs() noexcept = 0;
};

class Device {
 public:
  virtual ~Device() = default;

  // "host", "cuda:0", ...
  virtual std::string_view name() const = 0;
  virtual const Fingerprint& fingerprint() const = 0;
  // Which of several equal devices it is, so that another process can choose the same one:
  // "GPU-..."; empty on the host. No part of the fingerprint.
  virtual std::string_view uuid() const { return {}; }
  // Bytes that pointers of a task are taken to be aligned to where its contract says nothing: what
  // every allocation there has; 0: the element. A run with others is the baseline's.
  virtual int64_t usual_alignment() const { return 0; }
  // Threads that one run can use on the host; multiprocessors on a GPU.
  virtual int parallelism() const = 0;

  // Loads a variant's code from the file at `artifact_path`. Only for plans that name code
  // ("object" on the host, "cuda ..." on a GPU); library plans belong to runtime/library. Never
  // runs any of it. May block on the file system; not for an application's thread. Errors say what
  // did not fit.
  virtual Result<std::unique_ptr<Executable>> Load(const Task& task, const LaunchPlan& plan,
                                                   const std::string& artifact_path) = 0;

  // The interpreter of formulas: runs any task at once, with nothing compiled. Errors:
  // kUnsupported, kOutOfMemory.
  virtual Result<std::unique_ptr<Executable>> Interpret(const Task& task) = 0;

  virtual std::unique_ptr<CallTimer> MakeTimer() = 0;

  // Runs `work` with a context of the device current in this thread: the thread's own, else the
  // primary one. For what is made ready in a context, as library calls are.
  virtual Status InContext(const std::function<Status()>& work) { return work(); }

  // Whether what is queued on `stream` now becomes part of a graph instead of running: then nothing
  // may be timed or waited for there.
  virtual bool IsCapturing(void*) const noexcept { return false; }

  // Returns when all work queued on `stream` is done.
  virtual Status Synchronise(void* stream) = 0;
};

// The host device. threads 0: HIERA_THREADS, else every usable core.
std::unique_ptr<Device> MakeHostDevice(int threads);

// A CUDA device: "cuda" (of the thread's current context, else the first), "cuda:N" or
// "cuda:GPU-..." (a UUID). Its executables launch on the stream of the call, in the thread's
// current context, or in the primary one where the thread has none; a stream of null is the legacy
// default stream. Errors: kUnsupported (no driver, no such device, no CUDA in this build),
// kInvalidArgument (no such spelling), kDeviceError.
Result<std::unique_ptr<Device>> MakeCudaDevice(std::string_view which);

}  // namespace hiera

#endif  // HIERA_RUNTIME_DEVICE_DEVICE_H_
