// GuardedMemory: the tensors of every trial, and a workspace, mapped into the worker with
// unmapped pages around each of them. Inputs are mapped read-only, so that writing one faults.
// Owned by the worker for its life; the ranges it lists are what fault handlers look through.
// Not thread-safe.
#ifndef HIERA_RUNTIME_EVALUATOR_GUARDED_MEMORY_H_
#define HIERA_RUNTIME_EVALUATOR_GUARDED_MEMORY_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/evaluator/fault_record.h"
#include "runtime/evaluator/layout.h"
#include "runtime/task/task.h"

namespace hiera {

class GuardedMemory {
 public:
  // Maps one trial: inputs from `inputs_fd`, tensors that are written from `outputs_fd`, both
  // holding the layout's file. Returns the pointers of a run. Errors: kOutOfMemory.
  Result<std::vector<void*>> MapTrial(const Task& task, const Layout& layout, Placement placement,
                                      int inputs_fd, int outputs_fd);

  // A workspace that begins, or ends, with its pages; 64-byte aligned in both cases.
  Result<void*> MapWorkspace(int64_t bytes, bool at_end);

  // A private copy of a trial's tensors, all writable, as an application's own memory would be: 64
  // bytes into their pages.
  Result<std::vector<void*>> CopyTrial(const Layout& layout, const std::vector<void*>& pointers);

  const std::vector<GuardedRange>& ranges() const { return ranges_; }

 private:
  // Reserves `bytes` between two guards and returns the inner part.
  Result<std::byte*> Reserve(int64_t bytes);

  std::vector<GuardedRange> ranges_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GUARDED_MEMORY_H_
