// The seal: what RocksDB is known to have held after the last write, kept in a file beside it.
//
// RocksDB opens a truncated MANIFEST as an empty database without a word, and deletes the tables it
// then thinks unused; a flipped bit in its log drops the writes behind it. So before RocksDB may
// act, what it shows is compared with the seal.
//
// The seal is written after the database, without a sync of its own: it may lag behind, and is a
// lower bound. Two slots are written in turn, each with a checksum, so that a torn write leaves the
// other. Not thread-safe.
#ifndef HIERA_CACHE_SEAL_H_
#define HIERA_CACHE_SEAL_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "cache/database.h"
#include "runtime/base/status.h"

namespace hiera {

struct FamilySize {
  uint64_t records = 0;
  uint64_t bytes = 0;  // keys and values
};

struct Seal {
  uint32_t schema = 0;
  uint64_t generation = 0;  // of the seal: the larger slot counts
  uint64_t sequence = 0;    // RocksDB's
  std::array<uint64_t, kFamilyCount> records{};
};

// Why what the database shows is less than what was sealed; empty where it is not.
std::string Contradiction(const Seal& seal, uint64_t sequence,
                          const std::array<FamilySize, kFamilyCount>& sizes);

class SealFile {
 public:
  explicit SealFile(std::string path) : path_(std::move(path)) {}
  ~SealFile() { Close(); }
  SealFile(const SealFile&) = delete;
  SealFile& operator=(const SealFile&) = delete;

  // The newest slot that is whole; empty where there is none. Errors: kUnsupported (written by a
  // newer version).
  Result<std::optional<Seal>> Read() const;

  // Fills in schema and generation. Opens the file at the first call.
  Status Write(uint64_t sequence, const std::array<FamilySize, kFamilyCount>& sizes);
  // Before everything is deleted on purpose.
  Status Remove();

 private:
  void Close();

  const std::string path_;
  int fd_ = -1;
  uint64_t generation_ = 0;
};

}  // namespace hiera

#endif  // HIERA_CACHE_SEAL_H_
