// The host behind the device interface: cores of this machine, shared objects, the interpreter.
#include <algorithm>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/device/device.h"
#include "runtime/device/host/cpu.h"
#include "runtime/device/host/host_object.h"
#include "runtime/device/host/interpreter/interpreter.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/device/host/usable_cores.h"

namespace hiera {
namespace {

// Calls on the host are complete when they return: an interval is known at its end.
class HostTimer final : public CallTimer {
 public:
  void Begin(void*) noexcept override { begin_ns_ = MonotonicNs(); }
  void End(void*) noexcept override { elapsed_ns_ = MonotonicNs() - begin_ns_; }
  double ElapsedNs() noexcept override { return static_cast<double>(elapsed_ns_); }

 private:
  int64_t begin_ns_ = 0;
  int64_t elapsed_ns_ = -1;
};

class HostDevice final : public Device {
 public:
  explicit HostDevice(int threads)
      : pool_(threads), fingerprint_(HostFingerprint(ReadCpu(), threads)) {}

  std::string_view name() const override { return "host"; }
  const Fingerprint& fingerprint() const override { return fingerprint_; }
  int parallelism() const override { return pool_.threads(); }

  Result<std::unique_ptr<Executable>> Load(const Task&, const LaunchPlan& plan,
                                           const std::string& artifact_path) override {
    return LoadHostObject(plan, artifact_path, pool_);
  }
  Result<std::unique_ptr<Executable>> Interpret(const Task& task) override {
    return MakeInterpreter(task, pool_);
  }
  std::unique_ptr<CallTimer> MakeTimer() override { return std::make_unique<HostTimer>(); }
  Status Synchronise(void*) override { return {}; }

 private:
  ThreadPool pool_;
  Fingerprint fingerprint_;
};

}  // namespace

std::unique_ptr<Device> MakeHostDevice(int threads) {
  if (threads <= 0) threads = GetEnvironment().threads;
  if (threads <= 0) threads = UsableCores();
  return std::make_unique<HostDevice>(std::clamp(threads, 1, 1024));
}

}  // namespace hiera
