#include <errno.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <utility>

#include "cache/record_store.h"
#include "cache/rocks_database.h"
#include "cache/store.h"
#include "runtime/base/file_lock.h"
#include "runtime/base/folder.h"
#include "runtime/base/log.h"

namespace hiera {
namespace {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char path[] = "/tmp/hiera-store-XXXXXX";
    if (mkdtemp(path) != nullptr) {
      path_ = path;
    } else {
      Log(LogLevel::kWarning, std::string("no folder for artifacts: ") + std::strerror(errno));
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
  std::string path_;
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
