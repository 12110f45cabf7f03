// Short measurements of what the machine can do at best, on all threads of a pool. Each takes well
// below 0.1 s and keeps the best of several rounds, because everything that disturbs only slows.
#ifndef HIERA_RUNTIME_EVALUATOR_PEAK_H_
#define HIERA_RUNTIME_EVALUATOR_PEAK_H_

#include <cstdint>

#include "runtime/device/host/thread_pool.h"
#include "runtime/task/tensor.h"

namespace hiera {

// GB/s of copying with ordinary (cached) stores between arrays that together are four times the
// last-level cache or more, up to a limit; bytes read and bytes written are both counted.
double MeasureCopyRate(const ThreadPool& pool, int64_t last_level_bytes);

// Multiply-adds of the widest vectors, counted as two operations each, per second. f32 or f64.
double MeasurePeak(const ThreadPool& pool, DType dtype);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_PEAK_H_
