// CarriedState: which buffers a task of several steps reads and writes in each run. Every carried
// output goes round a ring of workspace buffers and, in the last run, to its bound buffer.
#ifndef HIERA_POLICIES_FRAMEWORK_CARRIED_STATE_H_
#define HIERA_POLICIES_FRAMEWORK_CARRIED_STATE_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

struct CarriedState {
  struct Ring {
    int output = -1;  // bound output that some state takes its value from
    int state = -1;   // the first state that does
    int buffers = 0;  // in the workspace, each as large as the output's span
  };
  std::vector<Ring> rings;
  // Per tensor: a state whose layout differs from its source's, so that its strides change after
  // the first run.
  std::vector<bool> relaid;

  const Ring* RingOf(int output) const;
};

// Errors: kUnsupported.
Result<CarriedState> PlanCarriedState(const Task& task);

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_CARRIED_STATE_H_
