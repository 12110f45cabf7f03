// Writing files that must survive a crash. Any thread.
#ifndef HIERA_RUNTIME_BASE_DURABLE_H_
#define HIERA_RUNTIME_BASE_DURABLE_H_

#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace hiera {

// All of the bytes, at the descriptor's position. Errors: kUnavailable, with the path and reason.
Status WriteWhole(int fd, std::string_view bytes, const std::string& path);

// Makes what was renamed into a folder last.
Status SyncFolder(const std::string& folder);

// The part of a path before its last slash: "." and "/" where there is none.
std::string FolderOf(const std::string& path);

// Puts a new file in place of what is there: written beside it as PATH.new, synced, renamed, the
// folder synced. Whoever has the old file open or mapped keeps it. One writer at a time.
Status ReplaceFile(const std::string& path, std::string_view bytes, unsigned mode);

}  // namespace hiera

#endif  // HIERA_RUNTIME_BASE_DURABLE_H_
