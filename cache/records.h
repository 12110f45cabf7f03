// Keys and values of the store's records, as docs/store-format.md lays them down. Pure functions.
#ifndef HIERA_CACHE_RECORDS_H_
#define HIERA_CACHE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cache/database.h"
#include "cache/store.h"

namespace hiera {

// The version of everything below, kept in each record and in the seal.
inline constexpr uint32_t kStoreSchema = 1;

// Keys. Hashes and numbers are big-endian, so that bytes sort as the numbers do.
std::string TaskRecordKey(const Hash128& task);
std::string VariantRecordKey(const Hash128& task, const Hash128& identity);
std::string JournalRecordKey(const Hash128& task, uint64_t number);
std::string QuarantineRecordKey(const Hash128& task, const Hash128& identity);
// Of a record that did not decode.
std::string DamagedRecordKey(Family family, std::string_view key);
inline constexpr std::string_view kQuarantinedVariants = "v";  // prefixes in that family
inline constexpr std::string_view kDamagedRecords = "r";

// What a key says; empty where it is not such a key.
std::optional<Hash128> TaskOfKey(std::string_view key);  // of a task, variant or journal key
std::optional<uint64_t> NumberOfJournalKey(std::string_view key);
struct QuarantinedVariant {
  Hash128 task, identity;
};
std::optional<QuarantinedVariant> VariantOfQuarantineKey(std::string_view key);

// The envelope: schema version, checksum over family, key and payload, payload. A record that lies
// under another key than it was written for does not open.
std::string SealRecord(Family family, std::string_view key, std::string_view payload);
// Errors: kUnsupported (a newer schema), kInvalidArgument (damaged).
Result<std::string_view> OpenRecord(Family family, std::string_view key, std::string_view value);

std::string EncodeTask(const TaskRecord& record);
std::optional<TaskRecord> DecodeTask(std::string_view payload);
std::string EncodeJournalEntry(const JournalEntry& entry);
std::optional<JournalEntry> DecodeJournalEntry(std::string_view payload);
std::string EncodeQuarantine(const QuarantineRecord& record);
std::optional<QuarantineRecord> DecodeQuarantine(std::string_view payload);

}  // namespace hiera

#endif  // HIERA_CACHE_RECORDS_H_
