#include "runtime/base/folder.h"

#include <errno.h>
#include <unistd.h>

#include <cstring>

namespace hiera {
namespace {

Status WritableByOthers(const std::string& path) {
  return InvalidArgument(path + " can be written by other users; chmod go-w it");
}

}  // namespace

Status MakePrivateFolder(const std::string& path) {
  // Each prefix that ends at a slash, then the whole.
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (mkdir(prefix.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat file;
      // A folder above may be closed to mkdir in other ways than by existing (a read-only mount).
      if (stat(prefix.c_str(), &file) != 0 || !S_ISDIR(file.st_mode)) {
        return Unavailable("the folder " + prefix + " can't be made: " + std::strerror(error));
      }
    }
    if (end == std::string::npos) break;
  }
  return CheckPrivateFolder(path);
}

Status CheckPrivateFolder(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0) {
    return Unavailable("the folder " + path + " can't be used: " + std::strerror(errno));
  }
  if (!S_ISDIR(file.st_mode)) return InvalidArgument(path + " is not a folder");
  if (file.st_uid != geteuid()) {
    return InvalidArgument("the folder " + path + " belongs to user " +
                           std::to_string(file.st_uid) + ", not to user " +
                           std::to_string(geteuid()) + "; name another folder");
  }
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) return WritableByOthers(path);
  return {};
}

Status CheckTrusted(const struct stat& file, const std::string& path) {
  if (file.st_uid != geteuid() && file.st_uid != 0) {
    return InvalidArgument(path + " belongs to user " + std::to_string(file.st_uid) +
                           ", not to user " + std::to_string(geteuid()) + " or root");
  }
  if ((file.st_mode & (S_IWGRP | S_IWOTH)) != 0) return WritableByOthers(path);
  return {};
}

}  // namespace hiera
