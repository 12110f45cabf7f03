#include "cache/artifacts.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <vector>

#include "cache/sha256.h"
#include "cache/store.h"
#include "runtime/base/durable.h"
#include "runtime/base/folder.h"

namespace hiera {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxArtifactBytes = int64_t{256} << 20;

Status Failed(const char* what, const std::string& path) {
  return Unavailable(std::string(what) + " " + path + ": " + std::strerror(errno));
}

// Copies all of `from` to `to` and returns the SHA-256 of what was written.
Result<std::string> CopyHashed(int from, int to, const std::string& path) {
  Sha256Hasher hasher;
  std::vector<char> buffer(256 << 10);
  int64_t total = 0;
  while (true) {
    const ssize_t n = read(from, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Failed("read", path);
    if (n == 0) break;
    total += n;
    if (total > kMaxArtifactBytes) {
      return InvalidArgument(path + " exceeds the limit of " + std::to_string(kMaxArtifactBytes) +
                             " bytes for an artifact");
    }
    const std::string_view piece(buffer.data(), static_cast<size_t>(n));
    hasher.Add(piece);
    HIERA_RETURN_IF_ERROR(WriteWhole(to, piece, path));
  }
  if (fsync(to) != 0) return Failed("sync", path);
  return hasher.Finish();
}

// Calls back for every regular file below the root.
void ForEachFile(const std::string& root, const std::function<void(const fs::path&)>& visit) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::recursive_directory_iterator it(root, error);
  while (!error && it != fs::recursive_directory_iterator()) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) files.push_back(it->path());
    it.increment(error);
  }
  for (const fs::path& file : files) visit(file);
}

}  // namespace

std::string ArtifactFolder::PathOf(const std::string& sha256) const {
  return root_ + "/" + sha256.substr(0, 2) + "/" + sha256;
}

Status ArtifactFolder::Put(const std::string& sha256, const std::string& file) {
  if (!IsSha256(sha256)) return InvalidArgument("'" + sha256 + "' is not a SHA-256");
  if (Verify(sha256)) return {};
  const std::string place = PathOf(sha256);
  HIERA_RETURN_IF_ERROR(MakePrivateFolder(FolderOf(place)));

  const int from = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (from < 0) return Failed("open", file);
  static std::atomic<uint64_t> counter{0};
  const std::string fresh =
      place + "." + std::to_string(getpid()) + "-" + std::to_string(++counter) + ".new";
  // Copied, not linked: whoever made the file may still be able to write to it.
  const int to = open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
  if (to < 0) {
    const Status status = Failed("make", fresh);
    close(from);
    return status;
  }
  const Result<std::string> copied = CopyHashed(from, to, file);
  close(from);
  close(to);
  Status status;
  if (!copied.ok()) {
    status = copied.status();
  } else if (*copied != sha256) {
    status = InvalidArgument(file + " has the SHA-256 " + *copied + ", not " + sha256);
  } else if (rename(fresh.c_str(), place.c_str()) != 0) {
    status = Failed("rename", fresh);
  }
  if (!status.ok()) {
    unlink(fresh.c_str());
    return status;
  }
  HIERA_RETURN_IF_ERROR(SyncFolder(FolderOf(place)));
  return SyncFolder(root_);
}

bool ArtifactFolder::Verify(const std::string& sha256) const {
  if (!IsSha256(sha256)) return false;
  const std::string path = PathOf(sha256);
  struct stat file;
  if (lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode)) return false;
  if (!CheckTrusted(file, path).ok()) return false;
  const Result<std::string> actual = Sha256OfFile(path);
  return actual.ok() && *actual == sha256;
}

int64_t ArtifactFolder::TotalBytes() const {
  int64_t total = 0;
  ForEachFile(root_, [&total](const fs::path& file) {
    std::error_code error;
    const auto size = fs::file_size(file, error);
    if (!error) total += static_cast<int64_t>(size);
  });
  return total;
}

int64_t ArtifactFolder::Remove(const std::string& sha256) {
  if (!IsSha256(sha256)) return 0;
  std::error_code error;
  const auto size = fs::file_size(PathOf(sha256), error);
  if (error || unlink(PathOf(sha256).c_str()) != 0) return 0;
  return static_cast<int64_t>(size);
}

int64_t ArtifactFolder::RemoveAllBut(const std::set<std::string>& kept) {
  int64_t removed = 0;
  ForEachFile(root_, [&](const fs::path& file) {
    const std::string name = file.filename();
    if (kept.contains(name)) return;
    std::error_code error;
    if (fs::remove(file, error) && IsSha256(name)) ++removed;
  });
  return removed;
}

}  // namespace hiera
