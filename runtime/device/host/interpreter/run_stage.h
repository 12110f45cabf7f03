// Running one stage over all cores.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_RUN_STAGE_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_RUN_STAGE_H_

#include <cstdint>

#include "runtime/device/host/interpreter/frame.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/device/interpreter/lower.h"

namespace hiera::interpreter {

// What a thread needs for a program, in bytes, a multiple of 64. `index_count`: of the formula.
int64_t ThreadScratchBytes(const Program& program, int64_t index_count);

struct StageCall {
  const View* views;      // by buffer
  const double* scalars;  // may be null where there are none
  int64_t index_count;
  char* scratch;           // for pool->threads() threads
  int64_t scratch_stride;  // bytes from one thread's to the next
  const ThreadPool* pool;
};

// Neither allocates nor throws.
void RunProgram(const Program& program, const StageCall& call);
// Turns the last axis of a dense buffer into its scan, in place.
void RunScan(const Buffer& buffer, const View& view, const Scan& scan, const ThreadPool& pool);

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_RUN_STAGE_H_
