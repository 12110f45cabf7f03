#include <map>
#include <mutex>

#include "cache/database.h"

namespace hiera {
namespace {

class MemoryDatabase : public Database {
 public:
  Status Write(const std::vector<Change>& changes) override {
    const std::lock_guard lock(mutex_);
    for (const Change& change : changes) {
      Map& map = maps_[static_cast<size_t>(change.family)];
      if (const auto old = map.find(change.key); old != map.end()) {
        bytes_ -= static_cast<int64_t>(old->first.size() + old->second.size());
        map.erase(old);
      }
      if (!change.value.has_value()) continue;
      bytes_ += static_cast<int64_t>(change.key.size() + change.value->size());
      map.emplace(change.key, *change.value);
    }
    return {};
  }

  Result<std::optional<std::string>> Get(Family family, std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const Map& map = maps_[static_cast<size_t>(family)];
    const auto found = map.find(key);
    if (found == map.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }

  Status Scan(Family family, std::string_view prefix, const Visitor& visit) override {
    const std::lock_guard lock(mutex_);
    const Map& map = maps_[static_cast<size_t>(family)];
    for (auto it = map.lower_bound(prefix); it != map.end() && it->first.starts_with(prefix);
         ++it) {
      if (!visit(it->first, it->second)) break;
    }
    return {};
  }

  Result<std::optional<std::string>> LastKey(Family family, std::string_view prefix) override {
    std::optional<std::string> last;
    HIERA_RETURN_IF_ERROR(Scan(family, prefix, [&last](std::string_view key, std::string_view) {
      last = std::string(key);
      return true;
    }));
    return last;
  }

  int64_t Bytes() const override {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

  Status Clear() override {
    const std::lock_guard lock(mutex_);
    for (Map& map : maps_) map.clear();
    bytes_ = 0;
    return {};
  }

 private:
  // std::string compares as unsigned bytes, as RocksDB does.
  using Map = std::map<std::string, std::string, std::less<>>;

  mutable std::mutex mutex_;
  std::array<Map, kFamilyCount> maps_;
  int64_t bytes_ = 0;
};

}  // namespace

std::unique_ptr<Database> MakeMemoryDatabase() { return std::make_unique<MemoryDatabase>(); }

}  // namespace hiera
