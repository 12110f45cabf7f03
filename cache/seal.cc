#include "cache/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string_view>

#include "cache/records.h"
#include "runtime/base/bytes.h"
#include "runtime/base/hash.h"

namespace hiera {
namespace {

constexpr std::string_view kMagic = "HIERASEA";
constexpr off_t kSlotBytes = 512;  // a sector: written whole or not at all on common disks
constexpr int kSlots = 2;

std::string Encode(const Seal& seal) {
  ByteWriter w;
  for (const char c : kMagic) w.U8(static_cast<uint8_t>(c));
  w.U32(seal.schema);
  w.U64(seal.generation);
  w.U64(seal.sequence);
  w.U32(kFamilyCount);
  for (size_t i = 0; i < kFamilyCount; ++i) {
    w.String(kFamilyNames[i]);
    w.U64(seal.records[i]);
  }
  w.U64(Checksum64(w.bytes()));
  return std::move(w).bytes();
}

// The checksum stands behind the last field, so that a newer schema, which may have more families,
// can still be told from damage.
std::optional<Seal> Decode(std::string_view slot) {
  ByteReader r(slot);
  for (const char c : kMagic) {
    if (r.U8() != static_cast<uint8_t>(c)) return std::nullopt;
  }
  Seal seal;
  seal.schema = r.U32();
  seal.generation = r.U64();
  seal.sequence = r.U64();
  const uint32_t families = r.U32();
  size_t size = kMagic.size() + 24;
  for (uint32_t i = 0; i < families && r.ok(); ++i) {
    size += 4 + r.View().size() + 8;
    const uint64_t records = r.U64();
    if (i < kFamilyCount) seal.records[i] = records;
  }
  const uint64_t checksum = r.U64();
  if (!r.ok() || checksum != Checksum64(slot.substr(0, size))) return std::nullopt;
  return seal;
}

Status Failed(const char* what, const std::string& path) {
  return Unavailable(std::string(what) + " " + path + ": " + std::strerror(errno));
}

}  // namespace

std::string Contradiction(const Seal& seal, uint64_t sequence,
                          const std::array<FamilySize, kFamilyCount>& sizes) {
  if (sequence < seal.sequence) {
    return "its last write is number " + std::to_string(sequence) + ", but number " +
           std::to_string(seal.sequence) + " was acknowledged";
  }
  // Each write since the seal added or deleted at most one record.
  const uint64_t writes_since = sequence - seal.sequence;
  for (size_t i = 0; i < kFamilyCount; ++i) {
    const uint64_t found = sizes[i].records, sealed = seal.records[i];
    const uint64_t difference = found > sealed ? found - sealed : sealed - found;
    if (difference > writes_since) {
      return std::string("it holds ") + std::to_string(found) + " " + kFamilyNames[i] +
             " records, not " + std::to_string(sealed);
    }
  }
  return {};
}

Result<std::optional<Seal>> SealFile::Read() const {
  std::optional<Seal> newest;
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return newest;
  for (int slot = 0; slot < kSlots; ++slot) {
    char bytes[kSlotBytes];
    const ssize_t n = pread(fd, bytes, sizeof bytes, slot * kSlotBytes);
    if (n <= 0) continue;
    const std::optional<Seal> seal = Decode({bytes, static_cast<size_t>(n)});
    if (!seal.has_value()) continue;
    if (!newest.has_value() || seal->generation > newest->generation) newest = seal;
  }
  close(fd);
  if (newest.has_value() && newest->schema > kStoreSchema) {
    return Unsupported("the store is of schema " + std::to_string(newest->schema) +
                       ", this build knows " + std::to_string(kStoreSchema));
  }
  return newest;
}

Status SealFile::Write(uint64_t sequence, const std::array<FamilySize, kFamilyCount>& sizes) {
  if (fd_ < 0) {
    const Result<std::optional<Seal>> old = Read();
    if (!old.ok()) return old.status();
    if (old->has_value()) generation_ = (*old)->generation;
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd_ < 0) return Failed("open", path_);
  }
  Seal seal{kStoreSchema, ++generation_, sequence, {}};
  for (size_t i = 0; i < kFamilyCount; ++i) seal.records[i] = sizes[i].records;
  std::string slot = Encode(seal);
  slot.resize(kSlotBytes, '\0');
  const off_t offset = static_cast<off_t>(generation_ % kSlots) * kSlotBytes;
  if (pwrite(fd_, slot.data(), slot.size(), offset) != static_cast<ssize_t>(slot.size())) {
    return Failed("write", path_);
  }
  return {};
}

Status SealFile::Remove() {
  Close();
  generation_ = 0;
  if (unlink(path_.c_str()) != 0 && errno != ENOENT) return Failed("remove", path_);
  return {};
}

void SealFile::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace hiera
