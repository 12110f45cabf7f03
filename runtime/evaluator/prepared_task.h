// PreparedTask: everything that judging candidates of one task needs and that does not depend on
// the candidate: the trials with their inputs, what is expected of them, and the memory that
// outputs are written to. Made once, used for all candidates of the task.
//
// Trials are made when first needed. Their inputs lie in sealed memory files, which workers map but
// nobody can change. Not thread-safe (several trials are made by several threads inside).
#ifndef HIERA_RUNTIME_EVALUATOR_PREPARED_TASK_H_
#define HIERA_RUNTIME_EVALUATOR_PREPARED_TASK_H_

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/draw.h"
#include "runtime/evaluator/expectation.h"
#include "runtime/evaluator/layout.h"
#include "runtime/evaluator/shared_memory.h"
#include "runtime/evaluator/worker_protocol.h"
#include "runtime/task/task.h"

namespace hiera {

struct Trial {
  Distribution distribution = Distribution::kNormal;
  Placement placement = Placement::kLeft;
  uint64_t seed = 0;
  bool ready = false;
  std::vector<double> scalars;
  SharedMemory inputs;  // sealed
  MappedRegion view;    // of inputs, read-only
  Expectation expectation;
};

class PreparedTask {
 public:
  // The device must outlive the task. `memory_bytes` bounds what the trials may take in memory.
  // Errors: those of the parser, kOutOfMemory (even the fewest trials do not fit).
  static Result<std::unique_ptr<PreparedTask>> Make(const std::string& canonical, Device& device,
                                                    int64_t memory_bytes);

  const Task& task() const { return task_; }
  const std::string& canonical() const { return canonical_; }
  const Layout& layout() const { return layout_; }
  const std::vector<Trial>& trials() const { return trials_; }
  const SharedMemory& outputs() const { return outputs_; }
  std::byte* output_view() const { return output_view_.data(); }
  // Bytes that its trials take once all of them are made.
  int64_t memory_bytes() const;
  // How long the interpreter took for one run at most, perhaps on one thread, in seconds.
  double plain_seconds() const { return plain_seconds_; }

  // Which trials verify a candidate before it is timed, which one it is timed in, and which one
  // verifies it afterwards. A first look takes fewer, and so does a task that would take too much
  // memory; one of the latest inputs is new to the candidate always.
  struct Course {
    std::vector<uint32_t> before;
    uint32_t timed = 0;
    uint32_t after = 0;
  };
  Course CourseOf(bool full) const;

  // Makes the trials of a course. Errors: kOutOfMemory, kInternal.
  Status MakeReady(const Course& course);

 private:
  PreparedTask() = default;
  Status ChooseReference(Device& device, int64_t memory_bytes);
  Status MakeTrial(Trial& trial);
  Status DrawTrial(Trial& trial);
  Status ExpectTrial(Trial& trial);

  std::string canonical_;
  Task task_;
  Layout layout_;
  std::vector<Trial> trials_;
  SharedMemory outputs_;
  MappedRegion output_view_;
  std::unique_ptr<Executable> interpreter_;  // null: the device can't interpret this task
  int parallelism_ = 1;
  uint32_t trial_count_ = 5;  // that fit into memory: 5, 3 or 2
  int64_t max_elements_ = 0;  // that the reference computes of each output of a trial
  // Where the reference can't be run on the task itself: the smaller task that stands for it.
  std::unique_ptr<PreparedTask> sibling_;
  double plain_seconds_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_PREPARED_TASK_H_
