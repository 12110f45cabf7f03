// The database in a folder: RocksDB, checked before it opens and sealed after each write.
#ifndef HIERA_CACHE_ROCKS_DATABASE_H_
#define HIERA_CACHE_ROCKS_DATABASE_H_

#include <memory>
#include <string>

#include "cache/database.h"
#include "runtime/base/status.h"

namespace hiera {

// The caller holds the store's lock. Errors: those of recovery.h, and kInternal (does not open).
Result<std::unique_ptr<Database>> OpenRocksDatabase(const std::string& folder,
                                                    const std::string& seal_path);

}  // namespace hiera

#endif  // HIERA_CACHE_ROCKS_DATABASE_H_
