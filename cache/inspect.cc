#include "cache/inspect.h"

#include <memory>
#include <optional>

#include "cache/rocks_handle.h"

namespace hiera {
namespace {

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

class FamilyReader {
 public:
  FamilyReader(const RocksHandle& handle, Family family, bool keep, Inspection& result)
      : family_(static_cast<size_t>(family)), keep_(keep), result_(result) {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    it_.reset(handle.db()->NewIterator(options, handle.family(family)));
  }

  void ReadAll() {
    it_->SeekToFirst();
    Prefix reached = 0;
    while (true) {
      for (; it_->Valid(); it_->Next()) Take();
      if (it_->status().ok()) return;
      ++result_.damaged_places;
      if (result_.damage.empty()) result_.damage = it_->status().ToString();
      if (last_.has_value()) reached = std::max(reached, ToPrefix(*last_));
      const std::optional<Prefix> behind = FindReadable(reached);
      if (!behind.has_value()) return;
      reached = *behind;
      it_->Seek(FromPrefix(*behind));
    }
  }

 private:
  void Take() {
    const std::string_view key = it_->key().ToStringView(), value = it_->value().ToStringView();
    // Taking up behind a damaged block may meet the last pair before it again.
    if (last_.has_value() && key <= *last_) return;
    last_ = std::string(key);
    FamilySize& size = result_.sizes[family_];
    ++size.records;
    size.bytes += key.size() + value.size();
    if (keep_) result_.pairs[family_].emplace(key, value);
  }

  bool Readable(Prefix prefix) {
    it_->Seek(FromPrefix(prefix));
    return it_->status().ok();
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

  const size_t family_;
  const bool keep_;
  Inspection& result_;
  std::unique_ptr<rocksdb::Iterator> it_;
  std::optional<std::string> last_;
};

}  // namespace

Result<Inspection> Inspect(const std::string& folder, InspectTo purpose) {
  const bool rescue = purpose == InspectTo::kRescue;
  const Result<RocksHandle> handle = RocksHandle::OpenReadOnly(folder, rescue);
  if (!handle.ok()) return handle.status();
  Inspection result;
  result.sequence = handle->db()->GetLatestSequenceNumber();
  for (size_t i = 0; i < kFamilyCount; ++i) {
    const auto family = static_cast<Family>(i);
    if (handle->family(family) == nullptr) continue;
    FamilyReader(*handle, family, rescue, result).ReadAll();
  }
  return result;
}

}  // namespace hiera
