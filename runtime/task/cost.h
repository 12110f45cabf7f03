// Cost: operation and byte counts of a task, for the roofline floor. Pure functions.
#ifndef HIERA_RUNTIME_TASK_COST_H_
#define HIERA_RUNTIME_TASK_COST_H_

#include "runtime/task/task.h"

namespace hiera {

struct Cost {
  // Additions, multiplications, divisions, comparisons of reals, one each; a transcendental (a
  // square root and a power too) counts as one here and again in `transcendentals`. Signs, absolute
  // values, selections, conversions and integers are free. Over all statements, steps and index
  // ranges, each value once for every combination of the indices that it depends on: a sum that
  // does not depend on the column counts once a row, and a scan once an element.
  double flops = 0;
  double transcendentals = 0;
  // Each bound input read once and each bound output written once (kInPlace: both), at least; only
  // the part of a tensor that the formula can reach.
  double bytes = 0;
};

Cost CostOf(const Task& task);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_COST_H_
