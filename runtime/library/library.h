// The library space: tasks as calls of a vendor library, described by structure, and launched. Core
// uses it for baselines and for published library variants, the evaluator for candidates.
//
// Thread safety: any thread. Functions that need the library open it at the first call and may
// block on the file system then.
#ifndef HIERA_RUNTIME_LIBRARY_LIBRARY_H_
#define HIERA_RUNTIME_LIBRARY_LIBRARY_H_

#include <memory>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/task/task.h"
#include "runtime/task/variant.h"

namespace hiera {

// What LaunchPlan::text of a library variant starts with.
inline constexpr std::string_view kLibraryPlan = "library ";

// Every library call that computes the task, the one an application would write first. Needs no
// library. Errors: kUnsupported with the reason.
Result<std::vector<LaunchPlan>> LibraryPlans(const Task& task);

// Makes a plan runnable: one of LibraryPlans(task), to the letter, or one of the CUDA libraries
// (cuda/cuda_library.h), which is made ready in the current context. Errors:
// kUnsupported (the task has no such call), kInvalidArgument (the text is none of its calls),
// kUnavailable (no library).
Result<std::unique_ptr<Executable>> LoadLibraryPlan(const Task& task, const LaunchPlan& plan);

// The library that would be called, as a variant requires it. Errors: kUnavailable.
Result<Requirement> LibraryRequirement();

// Whether what a variant requires is what is here. Errors: kUnavailable, naming both identities.
Status CheckRequirement(const Requirement& requirement);

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_LIBRARY_H_
