// StepPlan: which buffers hold the states of a task that runs several steps. Immutable once made.
#ifndef HIERA_RUNTIME_DEVICE_INTERPRETER_STEP_PLAN_H_
#define HIERA_RUNTIME_DEVICE_INTERPRETER_STEP_PLAN_H_

#include <cstdint>
#include <vector>

#include "runtime/device/interpreter/lower.h"
#include "runtime/task/task.h"

namespace hiera::interpreter {

// An output whose value a later step reads. Before the last step it is written to a spare buffer
// that no state holds at the time, in the output's own layout; in the last step to where it is
// bound.
struct CarriedOutput {
  int output = -1;
  int state = -1;         // the state that takes it over
  int64_t spares = 0;     // how many buffers there are
  int64_t bytes = 0;      // of one
  bool keeps = false;     // elements may stay unwritten, always the same ones
  bool chooses = false;   // which ones may change from step to step
  bool in_place = false;  // the output is read as well: it stays where it is and is copied
};

struct StepPlan {
  int64_t steps = 1;
  std::vector<Carry> carries;
  std::vector<CarriedOutput> outputs;
  int64_t spare_bytes = 0;  // for all spares together
};

// What a stage leaves unwritten of its output.
struct Unwritten {
  bool keeps = false;  // as in CarriedOutput
  bool chooses = false;
};

// `unwritten`: by stage.
StepPlan MakeStepPlan(const Task& task, const Lowered& lowered,
                      const std::vector<Unwritten>& unwritten);

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_INTERPRETER_STEP_PLAN_H_
