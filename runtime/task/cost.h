// Cost: operation and byte counts of a task, for the roofline floor. Pure functions.
#ifndef HIERA_RUNTIME_TASK_COST_H_
#define HIERA_RUNTIME_TASK_COST_H_

#include "runtime/task/task.h"

namespace hiera {

struct Cost {
  // Additions, multiplications, divisions, comparisons of reals, one each; a transcendental counts
  // as one here and again in `transcendentals`. Over all statements, steps and index ranges.
  double flops = 0;
  double transcendentals = 0;
  // Each bound input read once and each bound output written once (kInPlace: both), at least; only
  // the part of a tensor that the formula can reach.
  double bytes = 0;
};

Cost CostOf(const Task& task);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_COST_H_
