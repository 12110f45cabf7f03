// Starting the planner so that the application does not notice: no child that its waitpid or
// SIGCHLD handler could see, its own session, no inherited descriptor (standard ones go to
// /dev/null), an environment without LD_PRELOAD, signals and priority reset.
#ifndef HIERA_RUNTIME_IPC_SPAWN_H_
#define HIERA_RUNTIME_IPC_SPAWN_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace hiera {

// Returns once the program has been executed, or says why it could not be. Costs about a
// millisecond whatever the size of the calling process. Any thread.
Status SpawnUnseen(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace hiera

#endif  // HIERA_RUNTIME_IPC_SPAWN_H_
