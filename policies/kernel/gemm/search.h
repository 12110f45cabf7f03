// Which tunings are worth trying for a problem: the first round by the model, later rounds around
// what measured best. Pure functions.
#ifndef HIERA_POLICIES_KERNEL_GEMM_SEARCH_H_
#define HIERA_POLICIES_KERNEL_GEMM_SEARCH_H_

#include <vector>

#include "policies/kernel/gemm/problem.h"
#include "policies/kernel/gemm/tuning.h"
#include "runtime/task/candidate.h"

namespace hiera::gemm {

struct Ranked {
  Tuning tuning;
  double predicted_ns = 0;
};

// At most `count` runnable tunings, best first, no two alike.
std::vector<Ranked> FirstTunings(const Problem& problem, const MachineFacts& machine, int count);

// Runnable neighbours of `center`: one parameter changed at a time, best first.
std::vector<Ranked> Neighbours(const Problem& problem, const Tuning& center,
                               const MachineFacts& machine);

}  // namespace hiera::gemm

#endif  // HIERA_POLICIES_KERNEL_GEMM_SEARCH_H_
