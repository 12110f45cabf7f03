// GuardedObject: a candidate's shared object, run with a guarded, poisoned workspace on a pool of
// the worker's own, for verification. (It is measured as the application runs it, through the host
// device.) Not thread-safe.
#ifndef HIERA_RUNTIME_EVALUATOR_GUARDED_OBJECT_H_
#define HIERA_RUNTIME_EVALUATOR_GUARDED_OBJECT_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/host/abi.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/evaluator/guarded_memory.h"
#include "runtime/task/variant.h"

namespace hiera {

class GuardedObject {
 public:
  // Maps the workspace; loads nothing. The pool must outlive the object.
  static Result<GuardedObject> Make(const LaunchPlan& plan, const ThreadPool& pool,
                                    GuardedMemory& memory);

  // Loads the code; its initialisers run. Errors: kDeviceError.
  Status Load(const std::string& path);

  // One run. Runs alternate between a workspace that begins with its pages and one that ends with
  // them. Errors: kDeviceError (the floating-point environment came back changed).
  Status Run(void* const* tensors, const double* scalars);

 private:
  GuardedObject() = default;

  LaunchPlan plan_;
  const ThreadPool* pool_ = nullptr;
  void* workspaces_[2] = {nullptr, nullptr};
  int next_ = 0;
  hiera_variant_fn entry_ = nullptr;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GUARDED_OBJECT_H_
