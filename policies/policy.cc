#include "policies/policy.h"

#include <algorithm>

namespace hiera {

Proposal Policy::Refine(const Task&, const Evidence&, const Budget&) const {
  return {{}, "nothing to refine"};
}

const Trial* BestTrial(const Evidence& evidence, std::string_view family) {
  const Trial* best = nullptr;
  for (const Trial& trial : evidence.trials) {
    if (trial.candidate.family != family || !IsCorrect(trial.verdict)) continue;
    if (best == nullptr || trial.time_ns < best->time_ns) best = &trial;
  }
  return best;
}

bool WasTried(const Evidence& evidence, std::string_view family, std::string_view name) {
  return std::any_of(evidence.trials.begin(), evidence.trials.end(), [&](const Trial& trial) {
    return trial.candidate.family == family && trial.candidate.name == name;
  });
}

}  // namespace hiera
