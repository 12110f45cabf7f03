// CallerBaseline: the application's own function as an Executable. Its status is the status of the
// run. Borrows `user`, which must outlive every run. As thread-safe as the function itself.
#ifndef HIERA_RUNTIME_CORE_CALLER_BASELINE_H_
#define HIERA_RUNTIME_CORE_CALLER_BASELINE_H_

#include "runtime/device/device.h"

namespace hiera {

class CallerBaseline final : public Executable {
 public:
  CallerBaseline(hiera_baseline_fn function, void* user) : function_(function), user_(user) {}

  hiera_status Run(const Call& call) const noexcept override {
    return function_(user_, call.pointers, call.scalars, call.stream);
  }

 private:
  hiera_baseline_fn function_;
  void* user_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_CALLER_BASELINE_H_
