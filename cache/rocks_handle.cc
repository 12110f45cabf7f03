#include "cache/rocks_handle.h"

#include <rocksdb/cache.h>
#include <rocksdb/table.h>
#include <stdio.h>

#include <algorithm>
#include <cstdarg>
#include <filesystem>
#include <utility>

#include "runtime/base/log.h"

namespace hiera {
namespace {

// RocksDB's own messages, in ours. Its default is a file in the database's folder, whose writer
// asserts that the disk never was full.
class RocksLog : public rocksdb::Logger {
 public:
  RocksLog() : rocksdb::Logger(rocksdb::InfoLogLevel::ERROR_LEVEL) {}
  using rocksdb::Logger::Logv;
  void LogHeader(const char*, va_list) override {}
  void Logv(const char* format, va_list arguments) override {
    char text[512];
    vsnprintf(text, sizeof text, format, arguments);
    Log(LogLevel::kDebug, std::string("rocksdb: ") + text);
  }
};

rocksdb::DBOptions DatabaseOptions() {
  rocksdb::DBOptions options;
  options.paranoid_checks = true;
  options.max_open_files = -1;  // every table is looked at when opening, not later
  options.max_file_opening_threads = 1;
  options.max_background_jobs = 2;
  options.max_total_wal_size = 16 << 20;
  options.info_log = std::make_shared<RocksLog>();
  options.info_log_level = rocksdb::InfoLogLevel::ERROR_LEVEL;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  options.skip_stats_update_on_db_open = true;
  return options;
}

rocksdb::ColumnFamilyOptions FamilyOptions() {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 4 << 20;
  // Small records in small blocks, as they are: a damaged block costs few of them.
  options.compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 1 << 10;
  table.block_cache = rocksdb::NewLRUCache(4 << 20);
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> Descriptors(const std::vector<std::string>& names) {
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  const rocksdb::ColumnFamilyOptions options = FamilyOptions();
  for (const std::string& name : names) descriptors.emplace_back(name, options);
  return descriptors;
}

std::vector<std::string> AllNames() {
  std::vector<std::string> names = {rocksdb::kDefaultColumnFamilyName};
  names.insert(names.end(), kFamilyNames.begin(), kFamilyNames.end());
  return names;
}

Result<std::vector<std::string>> NamesOnDisk(const std::string& folder) {
  // RocksDB would make the folder.
  std::error_code error;
  if (!std::filesystem::exists(folder + "/CURRENT", error)) {
    return Unavailable(folder + " has no CURRENT file");
  }
  std::vector<std::string> names;
  const auto status = rocksdb::DB::ListColumnFamilies(DatabaseOptions(), folder, &names);
  if (!status.ok()) return FromRocks(status, "list the families of " + folder);
  return names;
}

}  // namespace

Status FromRocks(const rocksdb::Status& status, const std::string& doing) {
  if (status.ok()) return {};
  return Unavailable(doing + ": " + status.ToString());
}

Result<std::vector<std::string>> RocksHandle::UnknownFamilies(const std::string& folder) {
  Result<std::vector<std::string>> names = NamesOnDisk(folder);
  if (!names.ok()) return names.status();
  const std::vector<std::string> known = AllNames();
  std::erase_if(*names, [&known](const std::string& name) {
    return std::find(known.begin(), known.end(), name) != known.end();
  });
  return names;
}

Result<RocksHandle> RocksHandle::Open(const std::string& folder,
                                      const std::vector<std::string>& names, Purpose purpose) {
  RocksHandle handle;
  rocksdb::DB* db = nullptr;
  rocksdb::DBOptions options = DatabaseOptions();
  rocksdb::Status status;
  if (purpose != Purpose::kWrite) {
    // For counting: what opening for writing would keep, which is all up to the first damage.
    options.wal_recovery_mode = purpose == Purpose::kRescue
                                    ? rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords
                                    : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
    status =
        rocksdb::DB::OpenForReadOnly(options, folder, Descriptors(names), &handle.handles_, &db);
  } else {
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    status = rocksdb::DB::Open(options, folder, Descriptors(names), &handle.handles_, &db);
  }
  if (!status.ok()) return FromRocks(status, "open " + folder);
  handle.db_.reset(db);
  for (rocksdb::ColumnFamilyHandle* family : handle.handles_) {
    const auto known = std::find(kFamilyNames.begin(), kFamilyNames.end(), family->GetName());
    if (known == kFamilyNames.end()) continue;
    handle.families_[static_cast<size_t>(known - kFamilyNames.begin())] = family;
  }
  return handle;
}

Result<RocksHandle> RocksHandle::OpenReadOnly(const std::string& folder, bool rescue) {
  const Result<std::vector<std::string>> names = NamesOnDisk(folder);
  if (!names.ok()) return names.status();
  return Open(folder, *names, rescue ? Purpose::kRescue : Purpose::kCount);
}

Result<RocksHandle> RocksHandle::OpenForWriting(const std::string& folder) {
  return Open(folder, AllNames(), Purpose::kWrite);
}

RocksHandle& RocksHandle::operator=(RocksHandle&& other) noexcept {
  if (this == &other) return *this;
  Close();
  db_ = std::move(other.db_);
  handles_ = std::exchange(other.handles_, {});
  families_ = std::exchange(other.families_, {});
  return *this;
}

void RocksHandle::Close() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* family : handles_) db_->DestroyColumnFamilyHandle(family);
  handles_.clear();
  families_ = {};
  db_->Close();
  db_.reset();
}

}  // namespace hiera
