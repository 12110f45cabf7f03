// HandlePool: handles of one library, a few for each context, shared by every call of the process:
// each may hold tens of megabytes of the device. Any thread; outlives the executables that use it.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_HANDLE_POOL_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_HANDLE_POOL_H_

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/library/cuda/context_states.h"
#include "runtime/library/cuda/gpu_entries.h"
#include "runtime/library/cuda/lanes.h"

namespace hiera {

class HandlePool {
 private:
  static constexpr int kCount = 4;

  struct State {
    State(const GpuEntries& gpu, int (*d)(void*)) : lanes(gpu, kCount), destroy(d) {}
    ~State() {
      for (void* handle : handles) {
        if (handle != nullptr) destroy(handle);
      }
    }
    Lanes lanes;
    int (*destroy)(void*);
    std::array<void*, kCount> handles{};
  };

 public:
  using Make = std::function<int(void** handle)>;  // 0 is success

  // `what`: the function that makes one, for errors.
  HandlePool(std::string what, Make make, int (*destroy)(void* handle), const GpuEntries& gpu)
      : what_(std::move(what)),
        make_(std::move(make)),
        destroy_(destroy),
        states_(gpu),
        gpu_(gpu) {}

  // Makes the current context's handles, unless it has them. Errors: kUnavailable (no context),
  // kDeviceError.
  Status Prepare() {
    return states_.Prepare([this]() -> Result<std::unique_ptr<State>> {
      auto state = std::make_unique<State>(gpu_, destroy_);
      for (void*& handle : state->handles) {
        if (const int status = make_(&handle)) {
          return DeviceError(what_ + " fails with status " + std::to_string(status));
        }
      }
      return state;
    });
  }

  // A handle for the time of one call; null in a context that was not prepared. Waits for one.
  class Use {
   public:
    explicit Use(HandlePool& pool) noexcept : here_(pool.states_), state_(here_.get()) {
      if (state_ != nullptr) lane_ = state_->lanes.Enter(0);
    }
    ~Use() {
      if (state_ != nullptr) state_->lanes.Leave(lane_);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    void* get() const { return state_ == nullptr ? nullptr : state_->handles[lane_]; }

   private:
    const ContextStates<State>::Use here_;
    State* const state_;
    int lane_ = -1;
  };

 private:
  const std::string what_;
  const Make make_;
  int (*destroy_)(void*);
  ContextStates<State> states_;
  const GpuEntries& gpu_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_HANDLE_POOL_H_
