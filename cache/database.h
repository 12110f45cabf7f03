// Database: ordered keys and values in a few families, written in durable batches. What the store
// keeps its records in; it knows nothing of their content. Two kinds: RocksDB in a folder, and
// memory.
//
// Thread safety: every method may be called from any thread. A write is durable on return, where
// the database is.
#ifndef HIERA_CACHE_DATABASE_H_
#define HIERA_CACHE_DATABASE_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace hiera {

// On disk by name: append only.
enum class Family : uint8_t { kTasks, kVariants, kJournal, kQuarantine, kKnowledge };
inline constexpr size_t kFamilyCount = 5;
inline constexpr std::array<const char*, kFamilyCount> kFamilyNames = {
    "tasks", "variants", "journal", "quarantine", "knowledge"};

// One put, or one deletion where there is no value.
struct Change {
  Family family;
  std::string key;
  std::optional<std::string> value;
};

class Database {
 public:
  virtual ~Database() = default;

  // All of the changes or none. No key may occur twice.
  virtual Status Write(const std::vector<Change>& changes) = 0;

  virtual Result<std::optional<std::string>> Get(Family family, std::string_view key) = 0;

  // Every pair whose key begins with `prefix`, in the order of the keys as unsigned bytes. The
  // visitor must not call the database; it returns false to stop.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;
  virtual Status Scan(Family family, std::string_view prefix, const Visitor& visit) = 0;

  // The largest key that begins with `prefix`; empty where there is none.
  virtual Result<std::optional<std::string>> LastKey(Family family, std::string_view prefix) = 0;

  // Keys and values of all families.
  virtual int64_t Bytes() const = 0;

  // Deletes every pair.
  virtual Status Clear() = 0;
};

std::unique_ptr<Database> MakeMemoryDatabase();

}  // namespace hiera

#endif  // HIERA_CACHE_DATABASE_H_
