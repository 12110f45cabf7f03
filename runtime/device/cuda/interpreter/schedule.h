// Schedule: everything that an interpreted task queues in one run: stages, steps, and the memory
// between them. It knows no driver: whoever runs it queues one stage at a time.
//
// A state of a task of several steps lies where the step before wrote it, in that output's layout.
// Programs have layouts built in, so there is one set of stages for each combination of layouts.
//
// Immutable once made; any thread.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_SCHEDULE_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_SCHEDULE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/cuda/interpreter/stage_launch.h"
#include "runtime/device/interpreter/lower.h"
#include "runtime/device/interpreter/step_plan.h"
#include "runtime/task/task.h"

namespace hiera::cuda {

class Schedule {
 public:
  static constexpr size_t kMostBuffers = 1024;

  // Where a stage goes. Answers false to stop.
  class Queue {
   public:
    virtual ~Queue() = default;
    virtual bool Put(const StageLaunch& stage, char* const* bases) noexcept = 0;
  };

  // Errors: kUnsupported.
  static Result<Schedule> Make(const Task& task, const Target& target);

  bool is_f64() const { return is_f64_; }
  int64_t memory_bytes() const { return memory_bytes_; }  // beside the bound tensors

  // Queues a run on these addresses. False where the queue stopped it.
  bool Run(void* const* pointers, char* memory, Queue& queue) const noexcept;

  // For whoever has to see to the code that has no room in a launch.
  template <typename Visit>
  void ForEachStage(Visit visit) {
    for (Set& set : sets_) {
      for (StageLaunch& stage : set.stages) visit(stage);
      for (StageLaunch& copy : set.copies) visit(copy);
    }
  }

 private:
  // The stages for one combination of the states' layouts.
  struct Set {
    std::vector<std::vector<int64_t>> strides;  // by carry: of its state
    std::vector<StageLaunch> stages;
    // By output of steps_: from its state, or where it is in place from itself, to a spare.
    std::vector<StageLaunch> copies;
    size_t next = 0;  // the set of the step after
  };
  // What changes in the course of one run.
  struct Places {
    std::array<char*, kMostBuffers> bases;
    char* spares;
  };

  Status AddSet(const std::vector<std::vector<int64_t>>& strides, const Target& target);
  Status AddSets(const Target& target);
  char* SpareFor(const interpreter::CarriedOutput& output, char* spares,
                 const Places& places) const noexcept;
  bool Prepare(const Set& set, bool last, int64_t step, void* const* pointers, Places& places,
               Queue& queue) const noexcept;
  bool Carry(const Set& set, Places& places, Queue& queue) const noexcept;
  static bool Copy(const StageLaunch& copy, char* from, char* to, Queue& queue) noexcept;

  interpreter::Lowered lowered_;
  interpreter::StepPlan steps_;
  std::vector<Set> sets_;
  std::vector<int64_t> own_offset_;  // of each buffer in the memory; bound ones unused
  int64_t spares_offset_ = 0, memory_bytes_ = 0;
  bool is_f64_ = false;
};

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_SCHEDULE_H_
