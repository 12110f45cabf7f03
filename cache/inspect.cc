#include "cache/inspect.h"

#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cache/rocks_handle.h"

namespace hiera {
namespace {

namespace fs = std::filesystem;

// The first 16 bytes of a key as a number. Keys of the store begin with hashes.
using Prefix = unsigned __int128;
constexpr size_t kPrefixBytes = 16;

Prefix ToPrefix(std::string_view key) {
  Prefix prefix = 0;
  for (size_t i = 0; i < kPrefixBytes; ++i) {
    prefix = prefix << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0);
  }
  return prefix;
}

std::string FromPrefix(Prefix prefix) {
  std::string key(kPrefixBytes, '\0');
  for (size_t i = kPrefixBytes; i-- > 0; prefix >>= 8) key[i] = static_cast<char>(prefix & 255);
  return key;
}

// Reads an iterator to its end. Not the iterator's owner.
class PairReader {
 public:
  using Sink = std::function<void(std::string_view key, std::string_view value)>;

  PairReader(rocksdb::Iterator& it, Sink sink) : it_(it), sink_(std::move(sink)) {}

  void ReadAll() {
    it_.SeekToFirst();
    Prefix reached = 0;
    while (true) {
      for (; it_.Valid(); it_.Next()) Take();
      if (it_.status().ok()) return;
      ++damaged_places_;
      if (damage_.empty()) damage_ = it_.status().ToString();
      if (last_.has_value()) reached = std::max(reached, ToPrefix(*last_));
      const std::optional<Prefix> behind = FindReadable(reached);
      if (!behind.has_value()) return;
      reached = *behind;
      it_.Seek(FromPrefix(*behind));
    }
  }

  uint64_t damaged_places() const { return damaged_places_; }
  const std::string& damage() const { return damage_; }

 private:
  void Take() {
    const std::string_view key = it_.key().ToStringView(), value = it_.value().ToStringView();
    // Taking up behind a damaged block may meet the last pair before it again.
    if (last_.has_value() && key <= *last_) return;
    last_ = std::string(key);
    sink_(key, value);
  }

  bool Readable(Prefix prefix) {
    it_.Seek(FromPrefix(prefix));
    return it_.status().ok();
  }

  // The smallest prefix above `reached` from which reading goes on, by bisection: seeking into the
  // damaged block fails, seeking behind it does not. Empty where the rest is lost.
  std::optional<Prefix> FindReadable(Prefix reached) {
    Prefix fails = reached, reads = ~Prefix{0};
    if (fails == reads || !Readable(reads)) return std::nullopt;
    while (reads - fails > 1) {
      const Prefix middle = fails + (reads - fails) / 2;
      (Readable(middle) ? reads : fails) = middle;
    }
    return reads;
  }

  rocksdb::Iterator& it_;
  const Sink sink_;
  uint64_t damaged_places_ = 0;
  std::string damage_;
  std::optional<std::string> last_;
};

rocksdb::ReadOptions Checked() {
  rocksdb::ReadOptions options;
  options.verify_checksums = true;
  options.fill_cache = false;
  return options;
}

// Files with this ending, oldest first: RocksDB numbers them with six digits.
std::vector<fs::path> FilesByAge(const std::string& folder, const char* ending) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ending) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void ReadTable(const fs::path& file, Pairs& pairs) {
  rocksdb::SstFileReader reader{rocksdb::Options()};
  if (!reader.Open(file).ok() || reader.GetTableProperties() == nullptr) return;
  const std::string& name = reader.GetTableProperties()->column_family_name;
  const auto known = std::find(kFamilyNames.begin(), kFamilyNames.end(), name);
  if (known == kFamilyNames.end()) return;
  auto& family = pairs[static_cast<size_t>(known - kFamilyNames.begin())];
  const std::unique_ptr<rocksdb::Iterator> it(reader.NewIterator(Checked()));
  PairReader(*it, [&family](std::string_view key, std::string_view value) {
    family.insert_or_assign(std::string(key), std::string(value));
  }).ReadAll();
}

// The log names families by number. A fresh database numbers them as every database of the store
// does, and replays whatever logs lie in its folder.
Pairs ReadLogs(const std::string& folder) {
  const std::vector<fs::path> logs = FilesByAge(folder, ".log");
  const std::string scratch = folder + ".logs";
  std::error_code error;
  fs::remove_all(scratch, error);
  if (logs.empty() || !RocksHandle::OpenForWriting(scratch).ok()) return {};
  int number = 100'000;  // behind the fresh database's own files
  for (const fs::path& log : logs) {
    fs::copy_file(log, scratch + "/" + std::to_string(++number) + ".log", error);
  }
  Result<Inspection> inspection = Inspect(scratch, InspectTo::kRescue);
  fs::remove_all(scratch, error);
  return inspection.ok() ? std::move(inspection->pairs) : Pairs();
}

}  // namespace

Result<Inspection> Inspect(const std::string& folder, InspectTo purpose) {
  const bool rescue = purpose == InspectTo::kRescue;
  const Result<RocksHandle> handle = RocksHandle::OpenReadOnly(folder, rescue);
  if (!handle.ok()) return handle.status();
  Inspection result;
  result.sequence = handle->db()->GetLatestSequenceNumber();
  for (size_t i = 0; i < kFamilyCount; ++i) {
    rocksdb::ColumnFamilyHandle* family = handle->family(static_cast<Family>(i));
    if (family == nullptr) continue;
    const std::unique_ptr<rocksdb::Iterator> it(handle->db()->NewIterator(Checked(), family));
    PairReader reader(*it, [&](std::string_view key, std::string_view value) {
      ++result.sizes[i].records;
      result.sizes[i].bytes += key.size() + value.size();
      if (rescue) result.pairs[i].emplace(key, value);
    });
    reader.ReadAll();
    result.damaged_places += reader.damaged_places();
    if (result.damage.empty()) result.damage = reader.damage();
  }
  return result;
}

Pairs ReadFiles(const std::string& folder) {
  Pairs pairs;
  for (const fs::path& file : FilesByAge(folder, ".sst")) ReadTable(file, pairs);
  Pairs logged = ReadLogs(folder);
  for (size_t i = 0; i < kFamilyCount; ++i) {
    logged[i].merge(pairs[i]);  // keeps what the log has
  }
  return logged;
}

}  // namespace hiera
