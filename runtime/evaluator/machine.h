// Measuring the machine: what policies and the roofline floor need to know of it.
#ifndef HIERA_RUNTIME_EVALUATOR_MACHINE_H_
#define HIERA_RUNTIME_EVALUATOR_MACHINE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/evaluator/compilers.h"
#include "runtime/task/candidate.h"

namespace hiera {

// Sizes of the first three levels of data caches, from the folder of one processor's caches (as
// /sys/devices/system/cpu/cpu0/cache). What is not told there stays as it is in `facts`.
void ReadCacheSizes(const std::string& folder, MachineFacts& facts);

// Bytes that can still be had: what the system has available, cut down to what the control groups
// leave. `root` is "" but in tests.
int64_t AvailableMemory(const std::string& root = {});

// Takes about 0.2 s on `threads` threads. The library, if there is one, is opened.
MachineFacts MeasureMachine(int threads, const Compilers& compilers);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_MACHINE_H_
