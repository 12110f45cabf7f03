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

constexpr int64_t kReopenPauseNs = 1'000'000'000;

class RocksDatabase : public Database {
 public:
  RocksDatabase(std::string folder, const std::string& seal_path)
      : folder_(std::move(folder)), seal_(seal_path) {}

  // Checks, opens and seals. The caller holds the lock alone, or nobody else knows the object yet.
  Status Open() {
    handle_.reset();
    writable_ = false;
    const Result<Sizes> sizes = MakeSound(folder_, seal_);
    if (!sizes.ok()) return sizes.status();
    Result<RocksHandle> handle = RocksHandle::OpenForWriting(folder_);
    if (!handle.ok()) return Internal(handle.status().message());
    handle_ = std::make_unique<RocksHandle>(*std::move(handle));
    writable_ = true;
    sizes_ = *sizes;
    return WriteSeal();
  }

  Status Write(const std::vector<Change>& changes) override {
    const std::unique_lock lock(mutex_);
    const Status status = WriteOnce(changes);
    // After a full disk or a bad block RocksDB refuses every write until it is opened again.
    if (status.ok() || !Reopen(status)) return status;
    return WriteOnce(changes);
  }

  Result<std::optional<std::string>> Get(Family family, std::string_view key) override {
    std::string value;
    bool found = false;
    HIERA_RETURN_IF_ERROR(Read([&] {
      const auto status =
          handle_->db()->Get(rocksdb::ReadOptions(), handle_->family(family), key, &value);
      found = status.ok();
      return status.IsNotFound() ? Status() : FromRocks(status, "read");
    }));
    if (!found) return std::optional<std::string>();
    return std::optional<std::string>(std::move(value));
  }

  Status Scan(Family family, std::string_view prefix, const Visitor& visit) override {
    std::string next(prefix);  // where a second attempt goes on
    return Read([&] {
      const auto it = Iterate(family);
      for (it->Seek(next); it->Valid() && it->key().starts_with(prefix); it->Next()) {
        const bool more = visit(it->key().ToStringView(), it->value().ToStringView());
        if (!more) return Status();
        next.assign(it->key().ToStringView());
        next += '\0';  // the smallest key behind this one
      }
      return FromRocks(it->status(), "scan");
    });
  }

  Result<std::optional<std::string>> LastKey(Family family, std::string_view prefix) override {
    std::optional<std::string> last;
    HIERA_RETURN_IF_ERROR(Read([&] {
      const auto it = Iterate(family);
      // No key of the store has this many 255 bytes behind a prefix that is a task.
      it->SeekForPrev(std::string(prefix) + std::string(32, '\xff'));
      if (it->Valid() && it->key().starts_with(prefix)) last = it->key().ToString();
      return FromRocks(it->status(), "scan");
    }));
    return last;
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
    writable_ = false;
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
    const Status opened = Open();
    if (error) return Unavailable("remove " + folder_ + ": " + error.message());
    return opened;
  }

 private:
  static Status Closed() { return Unavailable("the store's database is closed"); }

  std::unique_ptr<rocksdb::Iterator> Iterate(Family family) const {
    return std::unique_ptr<rocksdb::Iterator>(
        handle_->db()->NewIterator(rocksdb::ReadOptions(), handle_->family(family)));
  }

  // A reading operation; tried once more where it met damage and that could be dealt with.
  template <typename Operation>
  Status Read(const Operation& operation) {
    Status status = Closed();
    {
      const std::shared_lock lock(mutex_);
      if (handle_ != nullptr) status = operation();
      if (status.ok()) return status;
    }
    {
      const std::unique_lock lock(mutex_);
      if (!Reopen(status)) return status;
    }
    const std::shared_lock lock(mutex_);
    return handle_ != nullptr ? operation() : Closed();
  }

  // Closes and opens again, with all checks, at most once a second. Where only reading is possible
  // (the disk is full) reading goes on. Whether it is writable. The caller holds the lock alone.
  bool Reopen(const Status& why) {
    const int64_t now_ns = MonotonicNs();
    if (last_reopen_ns_ != 0 && now_ns - last_reopen_ns_ < kReopenPauseNs) return false;
    last_reopen_ns_ = now_ns;
    Log(LogLevel::kWarning, "the store is opened again: " + why.message());
    const Status opened = Open();
    if (opened.ok()) return true;
    Log(LogLevel::kWarning, "the store can't be written: " + opened.message());
    if (handle_ != nullptr) return writable_;
    Result<RocksHandle> handle = RocksHandle::OpenReadOnly(folder_, false);
    if (handle.ok()) handle_ = std::make_unique<RocksHandle>(*std::move(handle));
    return false;
  }

  Status WriteSeal() { return seal_.Write(handle_->db()->GetLatestSequenceNumber(), sizes_); }

  Status WriteOnce(const std::vector<Change>& changes) {
    if (!writable_) return Closed();
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
  bool writable_ = false;
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
