// Where things lie: the store's folder, the sockets' folder, the programs. Derived from
// configuration and environment in one place, so that client, planner and command agree. Any
// thread.
#ifndef HIERA_RUNTIME_IPC_PATHS_H_
#define HIERA_RUNTIME_IPC_PATHS_H_

#include <string>

#include "runtime/base/status.h"

namespace hiera {

// `configured` where not empty, else HIERA_STORE, else $XDG_CACHE_HOME or ~/.cache, then
// hiera/<machine id>. Absolute. Errors: kUnavailable (no home folder is known).
Result<std::string> StorePath(const std::string& configured);

std::string IndexPath(const std::string& store_path);
std::string ArtifactPath(const std::string& store_path, const std::string& sha256);

// The planner's socket for a store: HIERA_RUNTIME_DIR, else $XDG_RUNTIME_DIR/hiera, else
// /tmp/hiera-<uid>, made with mode 0700 and refused where it belongs to someone else; the name
// holds the protocol's version and a hash of the store's path, so that the length limit of sockets
// is kept.
Result<std::string> SocketPath(const std::string& store_path);

// A program of the project: the configured path, its environment variable, beside the file that
// holds this code (library or program), in ../libexec/hiera or ../bin from there, or on PATH.
enum class Program { kPlanner, kEvaluator };
Result<std::string> FindProgram(Program program, const std::string& configured);

}  // namespace hiera

#endif  // HIERA_RUNTIME_IPC_PATHS_H_
