#include "runtime/base/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cstring>

namespace hiera {
namespace {

Status Failed(const char* what, const std::string& path) {
  return Unavailable(std::string(what) + " " + path + ": " + std::strerror(errno));
}

}  // namespace

Status WriteWhole(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("write", path);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

Status SyncFolder(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failed("open", folder);
  const Status status = fsync(fd) == 0 ? Status() : Failed("sync", folder);
  close(fd);
  return status;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status ReplaceFile(const std::string& path, std::string_view bytes, unsigned mode) {
  const std::string fresh = path + ".new";
  unlink(fresh.c_str());  // of a writer that was killed
  const int fd = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return Failed("make", fresh);
  Status status = WriteWhole(fd, bytes, fresh);
  if (status.ok() && fsync(fd) != 0) status = Failed("sync", fresh);
  close(fd);
  if (status.ok() && rename(fresh.c_str(), path.c_str()) != 0) status = Failed("rename", fresh);
  if (!status.ok()) {
    unlink(fresh.c_str());
    return status;
  }
  return SyncFolder(FolderOf(path));
}

}  // namespace hiera
