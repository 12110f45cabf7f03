// The roofline floor: a lower bound of a task's time on a machine. Pure functions.
#ifndef HIERA_RUNTIME_TASK_ROOFLINE_H_
#define HIERA_RUNTIME_TASK_ROOFLINE_H_

#include "runtime/task/candidate.h"
#include "runtime/task/task.h"

namespace hiera {

// max(bytes / copy rate, flops / peak) in nanoseconds, at the machine's measured rates. Bytes bound
// only what does not fit the last-level cache: below that the copy rate of memory is no bound. On a
// GPU the measured peak is that of plain multiply-adds; what may hold a matrix product, whose
// contract or types admit the units made for those, is bounded by what they do at most. 0 where
// nothing bounds the task or the machine has not been measured.
double RooflineFloorNs(const Task& task, const MachineFacts& machine);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_ROOFLINE_H_
