// Questions to the planner, for the verbs that print an answer. One thread.
#ifndef HIERA_RUNTIME_TOOLS_ASK_H_
#define HIERA_RUNTIME_TOOLS_ASK_H_

#include <string>

#include "runtime/base/status.h"

namespace hiera {

// Whether a planner is started where none runs.
enum class Start { kYes, kNo };

// Sends Query{verb, argument} to the planner of `store` and returns the text of its reply. Errors:
// kUnavailable (no planner), kInvalidArgument (the planner's own refusal).
Result<std::string> Ask(const std::string& store, const std::string& verb,
                        const std::string& argument, Start start);

// What can be said of the store without a planner: where it is, and what its index holds.
Result<std::string> DescribeIndex(const std::string& store);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TOOLS_ASK_H_
