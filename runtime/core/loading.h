// How a variant and a baseline become executables: the one place of core that tells library plans
// from code. Functions may block on the file system; any thread.
#ifndef HIERA_RUNTIME_CORE_LOADING_H_
#define HIERA_RUNTIME_CORE_LOADING_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/core/slot.h"
#include "runtime/device/device.h"
#include "runtime/task/task.h"
#include "runtime/task/variant.h"

namespace hiera {

// Checks what the variant requires, then makes it runnable. Never runs any of it. Errors say what
// did not fit; all of them mean that the variant is of no use here.
Result<std::unique_ptr<Executable>> LoadVariant(Device& device, const std::string& store_path,
                                                const Task& task, const Variant& variant);

// The call of a library that a program would write for the task. Errors: kUnsupported,
// kUnavailable: there is none.
Result<Baseline> LibraryBaseline(Device& device, const Task& task);

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_LOADING_H_
