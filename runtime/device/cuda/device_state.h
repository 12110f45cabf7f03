// DeviceState: what every executable of one CUDA device shares: the driver, the device's facts, the
// libraries of code, the pool that workspaces come from, the primary context.
//
// Ownership: shared by the device and all that it made. Code is never unloaded: a graph that an
// application captured may hold it longer than anything of ours lives. Thread safety: any thread.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_DEVICE_STATE_H_
#define HIERA_RUNTIME_DEVICE_CUDA_DEVICE_STATE_H_

#include <array>
#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/status.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/facts.h"

namespace hiera::cuda {

class DeviceState {
 public:
  DeviceState(const Driver& driver, Facts facts) : driver_(driver), facts_(std::move(facts)) {}
  ~DeviceState();

  const Driver& driver() const { return driver_; }
  const Facts& facts() const { return facts_; }

  // The library of a cubin, fatbin or PTX text; the same bytes are loaded once. Loads nothing onto
  // the device yet: see Residence. Errors: kDeviceError, with the driver's reason.
  Result<CUlibrary> LoadLibrary(std::string_view code);

  // The primary context, retained until the state goes. Errors: kDeviceError.
  Result<CUcontext> Primary() noexcept;

  // Makes the pool of StreamMemory, where it is not made yet.
  Status PreparePool();
  CUmemoryPool pool() const { return pool_.load(std::memory_order_acquire); }

 private:
  const Driver& driver_;
  const Facts facts_;
  std::mutex mutex_;
  std::unordered_map<Hash128, CUlibrary> libraries_;
  std::atomic<CUcontext> primary_{nullptr};
  std::atomic<CUmemoryPool> pool_{nullptr};
};

// Sees to it that this thread has a current context: where it has none, the primary one while this
// lives.
class EnsuredContext {
 public:
  explicit EnsuredContext(DeviceState& state) noexcept;
  ~EnsuredContext();
  EnsuredContext(const EnsuredContext&) = delete;
  EnsuredContext& operator=(const EnsuredContext&) = delete;

  bool ok() const { return context_ != nullptr; }

 private:
  const Driver& driver_;
  CUcontext context_ = nullptr;
  bool pushed_ = false;
};

// The kernels of one executable, and the contexts in which they are known to be loaded, so that a
// launch there needs no loading. Handles of contexts are compared, never used.
class Residence {
 public:
  explicit Residence(std::vector<CUkernel> kernels) : kernels_(std::move(kernels)) {}

  bool Has(CUcontext context) const noexcept {
    for (const auto& known : contexts_) {
      const CUcontext c = known.load(std::memory_order_relaxed);
      if (c == context) return context != nullptr;
      if (c == nullptr) return false;
    }
    return false;
  }

  // Loads the kernels in the current context, whatever captures are under way, and remembers it.
  CUresult Load(const Driver& driver, CUcontext current) const noexcept;

 private:
  const std::vector<CUkernel> kernels_;
  // A context that finds no place is loaded anew at each run.
  mutable std::array<std::atomic<CUcontext>, 16> contexts_{};
};

// Memory for one run, ordered with the work of its stream: nothing waits, and runs on two streams
// never share it. Under capture it becomes part of the graph, which then owns it.
class StreamMemory {
 public:
  // bytes 0: no memory, no call. PreparePool must have succeeded otherwise.
  StreamMemory(const DeviceState& state, int64_t bytes, CUstream stream) noexcept
      : driver_(state.driver()), stream_(stream) {
    if (bytes > 0) {
      result_ = driver_.MemAllocFromPoolAsync(&address_, static_cast<size_t>(bytes), state.pool(),
                                              stream);
    }
  }
  ~StreamMemory() {
    if (address_ != 0) driver_.MemFreeAsync(address_, stream_);
  }
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;

  CUresult result() const { return result_; }
  CUdeviceptr address() const { return address_; }

 private:
  const Driver& driver_;
  const CUstream stream_;
  CUdeviceptr address_ = 0;
  CUresult result_ = CUDA_SUCCESS;
};

// Whether work on `stream` is being captured, or must not be touched because of a capture.
bool IsCaptured(const Driver& driver, CUstream stream) noexcept;

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_DEVICE_STATE_H_
