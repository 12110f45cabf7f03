#include <errno.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/record_store.h"
#include "cache/rocks_database.h"
#include "cache/store.h"
#include "runtime/base/file_lock.h"
#include "runtime/base/folder.h"
#include "runtime/base/log.h"

namespace hiera {
namespace {

constexpr std::string_view kTemporaryPrefix = "/tmp/hiera-store-";

// A folder for the artifacts of a memory store. It holds a lock, so that one whose owner was killed
// is told from one in use, and is removed by the next that is made.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    RemoveAbandoned();
    std::string path = std::string(kTemporaryPrefix) + "XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      Log(LogLevel::kWarning, std::string("no folder for artifacts: ") + std::strerror(errno));
      return;
    }
    path_ = path;
    if (Result<FileLock> lock = FileLock::Take(path_ + "/lock"); lock.ok()) {
      lock_ = *std::move(lock);
    }
  }
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Without one, putting artifacts fails, and says so.
  std::string path() const { return path_.empty() ? "/dev/null/hiera-store" : path_; }

 private:
  static void RemoveAbandoned() {
    std::error_code error;
    std::vector<std::string> candidates;
    for (const auto& entry : std::filesystem::directory_iterator("/tmp", error)) {
      const std::string path = entry.path();
      std::error_code ignored;
      if (path.starts_with(kTemporaryPrefix) && CheckPrivateFolder(path).ok() &&
          std::filesystem::exists(path + "/lock", ignored)) {
        candidates.push_back(path);
      }
    }
    for (const std::string& path : candidates) {
      const Result<FileLock> lock = FileLock::Take(path + "/lock");
      if (lock.ok()) std::filesystem::remove_all(path, error);
    }
  }

  std::string path_;
  FileLock lock_;
};

}  // namespace

Result<std::unique_ptr<Store>> OpenStore(const std::string& path, const StoreOptions& options) {
  HIERA_RETURN_IF_ERROR(MakePrivateFolder(path));
  Result<FileLock> lock = FileLock::Take(path + "/lock");
  if (!lock.ok()) return lock.status();
  auto foundation = std::make_shared<FileLock>(*std::move(lock));
  Result<std::unique_ptr<Database>> database = OpenRocksDatabase(path + "/db", path + "/db.seal");
  if (!database.ok()) return database.status();
  RecordStore::Parts parts{std::move(foundation), *std::move(database), path, true, options};
  return std::unique_ptr<Store>(std::make_unique<RecordStore>(std::move(parts)));
}

std::unique_ptr<Store> MakeMemoryStore() {
  auto folder = std::make_shared<TemporaryFolder>();
  const std::string path = folder->path();
  RecordStore::Parts parts{std::move(folder), MakeMemoryDatabase(), path, false, {}};
  return std::make_unique<RecordStore>(std::move(parts));
}

std::unique_ptr<Store> OpenStoreOrMemory(const std::string& path, const StoreOptions& options) {
  Result<std::unique_ptr<Store>> store = OpenStore(path, options);
  if (store.ok()) return *std::move(store);
  Log(LogLevel::kWarning, "the store " + path + " can't be used, nothing learnt now is kept: " +
                              store.status().message());
  return MakeMemoryStore();
}

}  // namespace hiera
