// The interpreter of formulas: runs any valid task at once, with nothing compiled. It is the
// baseline of every operator that has no better one, so it works on whole rows and all cores.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_INTERPRETER_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_INTERPRETER_H_

#include <memory>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/task/task.h"

namespace hiera {

// Makes an executable of a valid task. The pool must outlive it. Errors: kOutOfMemory.
Result<std::unique_ptr<Executable>> MakeInterpreter(const Task& task, const ThreadPool& pool);

}  // namespace hiera

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_INTERPRETER_H_
