// LibraryTrial: one task on the GPU with drawn inputs, several copies of them, and the reference;
// runs library choices on it, checks them and times them. For tests of the library space.
#ifndef HIERA_TESTS_GPU_LIBRARY_TRIAL_H_
#define HIERA_TESTS_GPU_LIBRARY_TRIAL_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/draw.h"
#include "runtime/task/reference.h"
#include "runtime/task/task.h"
#include "tests/gpu/gpu_machine.h"

namespace hiera {

struct Comparison {
  double first_ns = 0, second_ns = 0;   // medians
  double ratio = 0, low = 0, high = 0;  // first / second: median and quartiles of pairs
  bool graph = false;                   // timed as replays of a graph
};

class LibraryTrial {
 public:
  // Ends the program where the task can't be drawn: the test has nothing to go on with.
  LibraryTrial(GpuMachine& machine, const Task& task, Distribution distribution);

  // Runs once from poisoned outputs and compares every sampled element with the reference, and all
  // elements with what may be left unwritten. Empty where all is well.
  std::string Check(const Executable& executable);

  // A few launches after a warm-up, over rotated buffers, each; negative where they fail.
  double Screen(const Executable& executable);
  // In turns, A B A B, over rotated buffers; graph replays where both can be captured, else calls
  // that are queued behind a long copy, so that what the device takes is timed and not the host.
  Comparison Compare(const Executable& first, const Executable& second, int pairs);

  bool Run(const Executable& executable, size_t copy);
  void* stream() const { return stream_; }
  size_t copies() const { return pointers_.size(); }
  // Whether the last Check found an error beyond any that rounding could explain: an element left
  // unwritten, or off by a thousand times the bound.
  bool gross() const { return gross_; }
  // Largest |error| over the bound that the contract admits, of the last Check.
  double worst() const { return worst_; }

 private:
  struct Tensor {
    std::vector<std::byte> bytes;
    bool is_output = false;
  };
  void MakeReference();
  double TimeMany(const Executable& executable, void* graph, int launches, size_t runway_bytes);

  GpuMachine& machine_;
  const Task task_;
  void* stream_;
  GpuBuffer runway_;  // is filled while calls are queued
  std::vector<Tensor> tensors_;
  std::vector<double> scalars_;
  std::vector<std::unique_ptr<GpuBuffer>> buffers_;
  std::vector<std::vector<void*>> pointers_;  // per copy
  std::vector<ReferenceOutput> reference_;
  double worst_ = 0;
  bool gross_ = false;
};

}  // namespace hiera

#endif  // HIERA_TESTS_GPU_LIBRARY_TRIAL_H_
