#include "cache/records.h"

#include <utility>

#include "runtime/base/bytes.h"

namespace hiera {
namespace {

constexpr size_t kHashBytes = 16;
constexpr size_t kEnvelopeBytes = 12;

void AppendBigEndian(std::string& out, uint64_t v) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(v >> shift & 255);
}

void AppendHash(std::string& out, const Hash128& hash) {
  AppendBigEndian(out, hash.high);
  AppendBigEndian(out, hash.low);
}

uint64_t ReadBigEndian(std::string_view bytes) {
  uint64_t v = 0;
  for (size_t i = 0; i < 8; ++i) v = v << 8 | static_cast<unsigned char>(bytes[i]);
  return v;
}

Hash128 ReadHash(std::string_view bytes) {
  return {ReadBigEndian(bytes), ReadBigEndian(bytes.substr(8))};
}

uint64_t RecordChecksum(uint32_t schema, Family family, std::string_view key,
                        std::string_view payload) {
  ByteWriter w;
  w.U32(schema);
  w.U8(static_cast<uint8_t>(family));
  w.String(key);
  w.String(payload);
  return Checksum64(w.bytes());
}

void PutHash(ByteWriter& w, const Hash128& hash) {
  w.U64(hash.high);
  w.U64(hash.low);
}

Hash128 TakeHash(ByteReader& r) {
  const uint64_t high = r.U64();
  return {high, r.U64()};
}

}  // namespace

std::string TaskRecordKey(const Hash128& task) {
  std::string key;
  AppendHash(key, task);
  return key;
}

std::string VariantRecordKey(const Hash128& task, const Hash128& identity) {
  std::string key = TaskRecordKey(task);
  AppendHash(key, identity);
  return key;
}

std::string JournalRecordKey(const Hash128& task, uint64_t number) {
  std::string key = TaskRecordKey(task);
  AppendBigEndian(key, number);
  return key;
}

std::string QuarantineRecordKey(const Hash128& task, const Hash128& identity) {
  return std::string(kQuarantinedVariants) + VariantRecordKey(task, identity);
}

std::string DamagedRecordKey(Family family, std::string_view key) {
  std::string damaged(kDamagedRecords);
  damaged += static_cast<char>(family);
  return damaged.append(key);
}

std::optional<Hash128> TaskOfKey(std::string_view key) {
  if (key.size() < kHashBytes) return std::nullopt;
  return ReadHash(key);
}

std::optional<uint64_t> NumberOfJournalKey(std::string_view key) {
  if (key.size() != kHashBytes + 8) return std::nullopt;
  return ReadBigEndian(key.substr(kHashBytes));
}

std::optional<QuarantinedVariant> VariantOfQuarantineKey(std::string_view key) {
  if (key.size() != 1 + 2 * kHashBytes || !key.starts_with(kQuarantinedVariants)) {
    return std::nullopt;
  }
  return QuarantinedVariant{ReadHash(key.substr(1)), ReadHash(key.substr(1 + kHashBytes))};
}

std::string SealRecord(Family family, std::string_view key, std::string_view payload) {
  ByteWriter w;
  w.U32(kStoreSchema);
  w.U64(RecordChecksum(kStoreSchema, family, key, payload));
  return std::move(w).bytes().append(payload);
}

Result<std::string_view> OpenRecord(Family family, std::string_view key, std::string_view value) {
  ByteReader r(value);
  const uint32_t schema = r.U32();
  const uint64_t checksum = r.U64();
  if (!r.ok()) return InvalidArgument("a record is cut short");
  const std::string_view payload = value.substr(kEnvelopeBytes);
  if (checksum != RecordChecksum(schema, family, key, payload)) {
    return InvalidArgument("a record's checksum does not match");
  }
  if (schema != kStoreSchema) {
    return Unsupported("a record is of schema " + std::to_string(schema));
  }
  return payload;
}

std::string EncodeTask(const TaskRecord& t) {
  ByteWriter w;
  PutHash(w, t.key);
  w.String(t.canonical);
  w.String(t.fingerprint);
  w.F64(t.baseline_ns);
  w.String(t.baseline_name);
  w.U8(t.settled ? 1 : 0);
  w.String(t.outcome);
  w.I64(t.first_unix_s);
  w.I64(t.last_unix_s);
  return std::move(w).bytes();
}

std::optional<TaskRecord> DecodeTask(std::string_view payload) {
  ByteReader r(payload);
  TaskRecord t;
  t.key = TakeHash(r);
  t.canonical = r.String();
  t.fingerprint = r.String();
  t.baseline_ns = r.F64();
  t.baseline_name = r.String();
  t.settled = r.U8() != 0;
  t.outcome = r.String();
  t.first_unix_s = r.I64();
  t.last_unix_s = r.I64();
  if (!r.done()) return std::nullopt;
  return t;
}

std::string EncodeJournalEntry(const JournalEntry& entry) {
  ByteWriter w;
  w.I64(entry.unix_s);
  w.String(entry.kind);
  w.String(entry.text);
  return std::move(w).bytes();
}

std::optional<JournalEntry> DecodeJournalEntry(std::string_view payload) {
  ByteReader r(payload);
  JournalEntry entry;
  entry.unix_s = r.I64();
  entry.kind = r.String();
  entry.text = r.String();
  if (!r.done()) return std::nullopt;
  return entry;
}

std::string EncodeQuarantine(const QuarantineRecord& record) {
  ByteWriter w;
  PutHash(w, record.key);
  PutHash(w, record.identity);
  w.String(record.variant_name);
  w.String(record.reason);
  w.I64(record.unix_s);
  return std::move(w).bytes();
}

std::optional<QuarantineRecord> DecodeQuarantine(std::string_view payload) {
  ByteReader r(payload);
  QuarantineRecord record;
  record.key = TakeHash(r);
  record.identity = TakeHash(r);
  record.variant_name = r.String();
  record.reason = r.String();
  record.unix_s = r.I64();
  if (!r.done()) return std::nullopt;
  return record;
}

}  // namespace hiera
