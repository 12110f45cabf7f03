// Reading all of a RocksDB, or of the files of one that does not open, past places that are
// damaged. Nothing is changed.
#ifndef HIERA_CACHE_INSPECT_H_
#define HIERA_CACHE_INSPECT_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "cache/database.h"
#include "cache/seal.h"
#include "runtime/base/status.h"

namespace hiera {

using Pairs = std::array<std::map<std::string, std::string>, kFamilyCount>;

struct Inspection {
  uint64_t sequence = 0;
  std::array<FamilySize, kFamilyCount> sizes{};
  // Places at which reading failed and was taken up behind them.
  uint64_t damaged_places = 0;
  std::string damage;  // the first
  Pairs pairs;         // only of a rescue
};

// To count: what opening for writing would keep. To rescue: the pairs themselves, and also those
// that stand behind damaged records of a log. Errors: kUnavailable (RocksDB does not open it).
enum class InspectTo { kCount, kRescue };
Result<Inspection> Inspect(const std::string& folder, InspectTo purpose);

// What the tables and the logs hold, each file by itself, without what ties them together; the log
// has the last word. Deleted pairs may turn up again.
Pairs ReadFiles(const std::string& folder);

}  // namespace hiera

#endif  // HIERA_CACHE_INSPECT_H_
