// The planner's log: a file in the store's folder, started anew when it has grown too large.
#ifndef HIERA_RUNTIME_PLANNER_LOG_FILE_H_
#define HIERA_RUNTIME_PLANNER_LOG_FILE_H_

#include <string>

namespace hiera {

// Sends the log to `path` from now on; where it can't be opened the log stays where it was. A file
// of more than a megabyte is moved to `path`.1 first. Call once, before other threads log.
void LogToFile(const std::string& path);

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_LOG_FILE_H_
