// ArtifactFolder: files of code, each named by the SHA-256 of its content, in folders named by the
// first two digits. A file is written beside its place, verified, synced and renamed, so that a
// name never leads to half a file or to other content. Files are read-only and never changed.
//
// Any thread; two threads that put the same artifact at once do the same work twice.
#ifndef HIERA_CACHE_ARTIFACTS_H_
#define HIERA_CACHE_ARTIFACTS_H_

#include <cstdint>
#include <set>
#include <string>

#include "runtime/base/status.h"

namespace hiera {

class ArtifactFolder {
 public:
  // The folder is made when the first artifact comes.
  explicit ArtifactFolder(std::string root) : root_(std::move(root)) {}

  // Copies the file. Errors: kInvalidArgument (not a hash, or the content has another one),
  // kUnavailable (not readable, no space).
  Status Put(const std::string& sha256, const std::string& file);

  // Where it lies, whether or not it is there.
  std::string PathOf(const std::string& sha256) const;

  // It is there, belongs to this user, nobody else can write it, and its content has that hash.
  bool Verify(const std::string& sha256) const;

  // Of all artifacts.
  int64_t TotalBytes() const;

  // Deletes one; returns its size, 0 where there was none.
  int64_t Remove(const std::string& sha256);

  // Deletes all that are not in `kept`, and what writers that were killed left; returns how many
  // artifacts went.
  int64_t RemoveAllBut(const std::set<std::string>& kept);

 private:
  const std::string root_;
};

}  // namespace hiera

#endif  // HIERA_CACHE_ARTIFACTS_H_
