// FileLock: one process at a time. An flock on a file made for it, held as long as the object lives
// and released by the kernel whatever ends the process. The descriptor is close-on-exec, so that no
// program started meanwhile keeps the lock. Not thread-safe.
#ifndef HIERA_RUNTIME_BASE_FILE_LOCK_H_
#define HIERA_RUNTIME_BASE_FILE_LOCK_H_

#include <string>
#include <utility>

#include "runtime/base/status.h"

namespace hiera {

class FileLock {
 public:
  // Never waits. The file stays when the lock is released. Errors: kUnavailable (another process
  // holds it), kInternal (the file can't be made or locked).
  static Result<FileLock> Take(const std::string& path);

  FileLock() = default;  // holds nothing
  FileLock(FileLock&& other) noexcept { *this = std::move(other); }
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock() { Release(); }

  // Whether the path still leads to the locked file. A lock on a file that somebody deleted
  // excludes nobody.
  bool StillHeld() const;
  void Release();

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_BASE_FILE_LOCK_H_
