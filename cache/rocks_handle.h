// RocksHandle: an open RocksDB with the store's families. Owns the database and its handles.
// Thread safety: as RocksDB's; opening and closing exclude everything else.
#ifndef HIERA_CACHE_ROCKS_HANDLE_H_
#define HIERA_CACHE_ROCKS_HANDLE_H_

#include <rocksdb/db.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "cache/database.h"
#include "runtime/base/status.h"

namespace hiera {

// Translated, with what was being done.
Status FromRocks(const rocksdb::Status& status, const std::string& doing);

class RocksHandle {
 public:
  // Never creates, deletes or repairs anything. Shows what opening for writing would keep, or, to
  // rescue, also the log records behind damaged ones. Errors: kUnavailable.
  static Result<RocksHandle> OpenReadOnly(const std::string& folder, bool rescue);
  // Creates what is missing.
  static Result<RocksHandle> OpenForWriting(const std::string& folder);
  // Families on disk that this version does not know. Errors: kUnavailable (can't be listed).
  static Result<std::vector<std::string>> UnknownFamilies(const std::string& folder);

  RocksHandle(RocksHandle&& other) noexcept = default;
  RocksHandle& operator=(RocksHandle&& other) noexcept;
  ~RocksHandle() { Close(); }
  void Close();

  bool is_open() const { return db_ != nullptr; }
  rocksdb::DB* db() const { return db_.get(); }
  // Null where a database opened for reading lacks the family.
  rocksdb::ColumnFamilyHandle* family(Family family) const {
    return families_[static_cast<size_t>(family)];
  }

 private:
  RocksHandle() = default;
  enum class Purpose { kCount, kRescue, kWrite };
  static Result<RocksHandle> Open(const std::string& folder, const std::vector<std::string>& names,
                                  Purpose purpose);

  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::array<rocksdb::ColumnFamilyHandle*, kFamilyCount> families_{};
};

}  // namespace hiera

#endif  // HIERA_CACHE_ROCKS_HANDLE_H_
