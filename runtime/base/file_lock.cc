#include "runtime/base/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace hiera {

Result<FileLock> FileLock::Take(const std::string& path) {
  const auto failed = [&path](const char* what) {
    return Internal(std::string(what) + " " + path + ": " + std::strerror(errno));
  };
  FileLock lock;
  lock.path_ = path;
  for (int attempt = 0; attempt < 10; ++attempt) {
    lock.fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (lock.fd_ < 0) return failed("open");
    if (flock(lock.fd_, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return Unavailable("another process holds " + path);
      return failed("lock");
    }
    if (lock.StillHeld()) return lock;
    lock.Release();  // the file was replaced between the two calls
  }
  return Internal(path + " is deleted as often as it is made");
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  if (this == &other) return *this;
  Release();
  path_ = std::move(other.path_);
  fd_ = std::exchange(other.fd_, -1);
  return *this;
}

bool FileLock::StillHeld() const {
  struct stat locked, named;
  return fd_ >= 0 && fstat(fd_, &locked) == 0 && stat(path_.c_str(), &named) == 0 &&
         locked.st_dev == named.st_dev && locked.st_ino == named.st_ino;
}

void FileLock::Release() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace hiera
