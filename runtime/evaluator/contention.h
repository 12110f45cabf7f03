// Contention: how much of the processors went to others while something was measured.
#ifndef HIERA_RUNTIME_EVALUATOR_CONTENTION_H_
#define HIERA_RUNTIME_EVALUATOR_CONTENTION_H_

#include <sys/types.h>

#include <cstdint>
#include <string_view>

namespace hiera {

// Clock ticks since the start of the machine, over all processors.
struct ProcessorTimes {
  int64_t total = 0, idle = 0, steal = 0;
  int64_t own = 0;    // of the process that is watched
  int64_t niced = 0;  // of processes whose priority is lower than usual
};

// From the texts of /proc/stat and /proc/PID/stat.
ProcessorTimes ParseTimes(std::string_view stat, std::string_view process_stat);
ProcessorTimes ReadTimes(pid_t process);

// Whether others took enough between two readings to spoil a measurement: more than a twentieth
// stolen by the hypervisor, or more than a quarter of the processors used by other processes. False
// where too few ticks passed to say.
bool IsContended(const ProcessorTimes& before, const ProcessorTimes& after);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_CONTENTION_H_
