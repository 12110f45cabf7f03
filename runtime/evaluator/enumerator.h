// Enumerator: what the device's libraries offer for a task. It runs in a child process
// (`hiera-evaluator --enumerate`), which owns the context: a library that crashes, hangs or leaves
// a broken context behind costs one enumeration.
#ifndef HIERA_RUNTIME_EVALUATOR_ENUMERATOR_H_
#define HIERA_RUNTIME_EVALUATOR_ENUMERATOR_H_

#include <string>

#include "runtime/ipc/messages.h"

namespace hiera {

// Starts the child (`program`: hiera-evaluator itself) and waits for its answer. Whatever goes
// wrong is a refusal in the report. Blocks for up to a minute.
EnumerateReport EnumerateInChild(const EnumerateRequest& request, const std::string& program);

// The child: answers one EnumerateRequest over descriptor 3. Returns the exit status.
int RunEnumerator();

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_ENUMERATOR_H_
