#include "cache/rocks_database.h"

#include <filesystem>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "cache/recovery.h"
#include "cache/rocks_handle.h"
#include "cache/seal.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"

namespace hiera {
namespace {

using Sizes = std::array<FamilySize, kFamilyCount>;

constexpr int64_t kReopenPauseNs = 5'000'000'000;

class RocksDatabase : public Database {
 public:
  RocksDatabase(std::string folder, const std::string& seal_path)
      : folder_(std::move(folder)), seal_(seal_path) {}

  // Checks, opens and seals. Holds the lock alone, or nobody else knows the object yet.
  Status Open() {
    handle_.reset();
    const Result<Sizes> sizes = MakeSound(folder_, seal_);
    if (!sizes.ok()) return sizes.status();
    Result<RocksHandle> handle = RocksHandle::OpenForWriting(folder_);
    if (!handle.ok()) return Internal(handle.status().message());
    handle_ = std::make_unique<RocksHandle>(*std::move(handle));
    sizes_ = *sizes;
    return WriteSeal();
  }

  Status Write(const std::vector<Change>& changes) override {
    const std::unique_lock lock(mutex_);
    Status status = WriteOnce(changes);
    if (status.ok()) return status;
    // After a full disk or a bad block RocksDB refuses every write until it is opened again.
    const int64_t now_ns = MonotonicNs();
    if (last_reopen_ns_ != 0 && now_ns - last_reopen_ns_ < kReopenPauseNs) return status;
    last_reopen_ns_ = now_ns;
    Log(LogLevel::kWarning, "the store is opened again: " + status.message());
    HIERA_RETURN_IF_ERROR(Open());
    return WriteOnce(changes);
  }

  Result<std::optional<std::string>> Get(Family family, std::string_view key) override {
    const std::shared_lock lock(mutex_);
    if (handle_ == nullptr) return Closed();
    std::string value;
    const auto status =
        handle_->db()->Get(rocksdb::ReadOptions(), handle_->family(family), key, &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok()) return FromRocks(status, "read");
    return std::optional<std::string>(std::move(value));
  }

  Status Scan(Family family, std::string_view prefix, const Visitor& visit) override {
    const std::shared_lock lock(mutex_);
    if (handle_ == nullptr) return Closed();
    const std::unique_ptr<rocksdb::Iterator> it(
        handle_->db()->NewIterator(rocksdb::ReadOptions(), handle_->family(family)));
    for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
      if (!visit(it->key().ToStringView(), it->value().ToStringView())) break;
    }
    return FromRocks(it->status(), "scan");
  }

  Result<std::optional<std::string>> LastKey(Family family, std::string_view prefix) override {
    const std::shared_lock lock(mutex_);
    if (handle_ == nullptr) return Closed();
    const std::unique_ptr<rocksdb::Iterator> it(
        handle_->db()->NewIterator(rocksdb::ReadOptions(), handle_->family(family)));
    // No key of the store has this many 255 bytes behind a prefix that is a task.
    it->SeekForPrev(std::string(prefix) + std::string(32, '\xff'));
    if (!it->status().ok()) return FromRocks(it->status(), "scan");
    if (!it->Valid() || !it->key().starts_with(prefix)) return std::optional<std::string>();
    return std::optional<std::string>(it->key().ToString());
  }

  int64_t Bytes() const override {
    const std::shared_lock lock(mutex_);
    uint64_t bytes = 0;
    for (const FamilySize& size : sizes_) bytes += size.bytes;
    return static_cast<int64_t>(bytes);
  }

  Status Clear() override {
    const std::unique_lock lock(mutex_);
    // The seal goes first: what is deleted on purpose must not be missed afterwards.
    HIERA_RETURN_IF_ERROR(seal_.Remove());
    handle_.reset();
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    const Status opened = Open();
    if (error) return Unavailable("remove " + folder_ + ": " + error.message());
    return opened;
  }

 private:
  static Status Closed() { return Unavailable("the store's database is closed"); }

  Status WriteSeal() { return seal_.Write(handle_->db()->GetLatestSequenceNumber(), sizes_); }

  Status WriteOnce(const std::vector<Change>& changes) {
    if (handle_ == nullptr) return Closed();
    Sizes sizes = sizes_;
    rocksdb::WriteBatch batch;
    for (const Change& change : changes) {
      FamilySize& size = sizes[static_cast<size_t>(change.family)];
      rocksdb::ColumnFamilyHandle* family = handle_->family(change.family);
      rocksdb::PinnableSlice old;
      const auto found = handle_->db()->Get(rocksdb::ReadOptions(), family, change.key, &old);
      if (!found.ok() && !found.IsNotFound()) return FromRocks(found, "read before writing");
      if (found.ok()) {
        --size.records;
        size.bytes -= change.key.size() + old.size();
      } else if (!change.value.has_value()) {
        continue;  // nothing to delete
      }
      if (change.value.has_value()) {
        ++size.records;
        size.bytes += change.key.size() + change.value->size();
        batch.Put(family, change.key, *change.value);
      } else {
        batch.Delete(family, change.key);
      }
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    HIERA_RETURN_IF_ERROR(FromRocks(handle_->db()->Write(options, &batch), "write"));
    sizes_ = sizes;
    // What was written is durable; without a seal only less damage would be noticed.
    if (const Status sealed = WriteSeal(); !sealed.ok()) {
      Log(LogLevel::kDebug, sealed.message());
    }
    return {};
  }

  const std::string folder_;
  mutable std::shared_mutex mutex_;
  SealFile seal_;
  std::unique_ptr<RocksHandle> handle_;  // null while it can't be opened
  Sizes sizes_{};
  int64_t last_reopen_ns_ = 0;
};

}  // namespace

Result<std::unique_ptr<Database>> OpenRocksDatabase(const std::string& folder,
                                                    const std::string& seal_path) {
  auto database = std::make_unique<RocksDatabase>(folder, seal_path);
  HIERA_RETURN_IF_ERROR(database->Open());
  return std::unique_ptr<Database>(std::move(database));
}

}  // namespace hiera
