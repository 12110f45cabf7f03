// What is done before RocksDB may open the store's database for writing: look, compare with the
// seal, and where they disagree set aside and carry over what can be read. docs/store-format.md has
// the order.
#ifndef HIERA_CACHE_RECOVERY_H_
#define HIERA_CACHE_RECOVERY_H_

#include <array>
#include <string>

#include "cache/seal.h"
#include "runtime/base/status.h"

namespace hiera {

// Afterwards the folder holds a database that opens and reads to its end, or nothing at all.
// Returns the sizes of what is there. What was damaged lies beside the folder as
// FOLDER.broken-<seconds since 1970>, the latest one only; the log tells.
// Errors: kUnsupported (made by a newer version; nothing was touched), kInternal (neither repaired
// nor set aside).
Result<std::array<FamilySize, kFamilyCount>> MakeSound(const std::string& folder,
                                                       const SealFile& seal_file);

}  // namespace hiera

#endif  // HIERA_CACHE_RECOVERY_H_
