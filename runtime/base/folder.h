// Folders and files that decide what code runs: made private, and used only where nobody else could
// have written to them. Any thread.
#ifndef HIERA_RUNTIME_BASE_FOLDER_H_
#define HIERA_RUNTIME_BASE_FOLDER_H_

#include <sys/stat.h>

#include <string>

#include "runtime/base/status.h"

namespace hiera {

// Makes the folder, and those above it that are missing, with mode 0700; then as
// CheckPrivateFolder. Errors: also kUnavailable (it can't be made).
Status MakePrivateFolder(const std::string& path);

// A folder that belongs to this user and that nobody else can write to. Errors: kInvalidArgument
// (someone else's, or writable by others), kUnavailable (there is none).
Status CheckPrivateFolder(const std::string& path);

// What may be read: it belongs to this user or to root, and nobody else can write to it. `path` is
// for the message. Errors: kInvalidArgument.
Status CheckTrusted(const struct stat& file, const std::string& path);

}  // namespace hiera

#endif  // HIERA_RUNTIME_BASE_FOLDER_H_
