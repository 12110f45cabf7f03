#include "cache/record_store.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "cache/records.h"
#include "runtime/base/log.h"

namespace hiera {
namespace {

constexpr uint64_t kMaxJournalEntries = 2048;  // of one task; older ones go
constexpr size_t kMaxDamagedBytes = 64
                                    << 10;  // of a damaged record, kept for whoever looks into it

// Fastest first; what has no time comes last; equal times by identity, so that every process
// orders them alike.
// By the ratio to the baseline, which was measured in pairs: absolute times of different moments do
// not compare.
bool IsFaster(const Variant& a, const Variant& b) {
  const auto rank = [](const Variant& v) {
    return std::tuple(!(v.time_ns > 0), -v.ratio, v.time_ns, v.Identity());
  };
  return rank(a) < rank(b);
}

}  // namespace

RecordStore::RecordStore(Parts parts)
    : foundation_(std::move(parts.foundation)),
      database_(std::move(parts.database)),
      path_(std::move(parts.path)),
      durable_(parts.durable),
      options_(parts.options),
      artifacts_(path_ + "/artifacts"),
      artifact_bytes_(artifacts_.TotalBytes()) {}

void RecordStore::SetAside(Family family, const std::string& key, std::string_view value,
                           const char* why) {
  Log(LogLevel::kWarning, std::string("a record in the store's ") +
                              kFamilyNames[static_cast<size_t>(family)] +
                              " is damaged and was put into quarantine: " + why);
  const std::string damaged_key = DamagedRecordKey(family, key);
  const std::string sealed = SealRecord(Family::kQuarantine, damaged_key,
                                        value.substr(0, std::min(value.size(), kMaxDamagedBytes)));
  const Status status =
      database_->Write({{family, key, std::nullopt}, {Family::kQuarantine, damaged_key, sealed}});
  // It stays a miss either way; the next reader tries again.
  if (!status.ok()) Log(LogLevel::kDebug, status.message());
}

std::map<std::string, std::string> RecordStore::ReadAll(Family family, std::string_view prefix) {
  std::map<std::string, std::string> payloads;
  std::vector<std::tuple<std::string, std::string, std::string>> damaged;
  const Status status =
      database_->Scan(family, prefix, [&](std::string_view key, std::string_view value) {
        const Result<std::string_view> payload = OpenRecord(family, key, value);
        if (payload.ok()) {
          payloads.emplace(key, *payload);
        } else if (payload.status().code() == Code::kInvalidArgument) {
          damaged.emplace_back(key, value, payload.status().message());
        }
        return true;
      });
  if (!status.ok()) Log(LogLevel::kWarning, "the store can't be read: " + status.message());
  for (const auto& [key, value, why] : damaged) SetAside(family, key, value, why.c_str());
  return payloads;
}

std::optional<std::string> RecordStore::ReadOne(Family family, const std::string& key) {
  const Result<std::optional<std::string>> value = database_->Get(family, key);
  if (!value.ok()) {
    Log(LogLevel::kWarning, "the store can't be read: " + value.status().message());
    return std::nullopt;
  }
  if (!value->has_value()) return std::nullopt;
  const Result<std::string_view> payload = OpenRecord(family, key, **value);
  if (payload.ok()) return std::string(*payload);
  if (payload.status().code() == Code::kInvalidArgument) {
    SetAside(family, key, **value, payload.status().message().c_str());
  }
  return std::nullopt;
}

Status RecordStore::WriteOne(Family family, const std::string& key, std::string_view payload) {
  return database_->Write({{family, key, SealRecord(family, key, payload)}});
}

Status RecordStore::PutTask(const TaskRecord& record) {
  const std::lock_guard lock(mutex_);
  HIERA_RETURN_IF_ERROR(WriteOne(Family::kTasks, TaskRecordKey(record.key), EncodeTask(record)));
  EvictDownToLimit(record.key);
  return {};
}

std::optional<TaskRecord> RecordStore::GetTask(const Hash128& key) {
  const std::lock_guard lock(mutex_);
  const std::string record_key = TaskRecordKey(key);
  const std::optional<std::string> payload = ReadOne(Family::kTasks, record_key);
  if (!payload.has_value()) return std::nullopt;
  std::optional<TaskRecord> record = DecodeTask(*payload);
  if (record.has_value() && record->key == key) return record;
  SetAside(Family::kTasks, record_key, *payload, "its fields do not decode");
  return std::nullopt;
}

std::vector<TaskRecord> RecordStore::Tasks() {
  const std::lock_guard lock(mutex_);
  std::vector<TaskRecord> tasks;
  for (const auto& [key, payload] : ReadAll(Family::kTasks, "")) {
    std::optional<TaskRecord> record = DecodeTask(payload);
    if (record.has_value() && TaskRecordKey(record->key) == key) {
      tasks.push_back(*std::move(record));
    } else {
      SetAside(Family::kTasks, key, payload, "its fields do not decode");
    }
  }
  return tasks;
}

Status RecordStore::PutVariant(const Variant& variant) {
  const std::lock_guard lock(mutex_);
  HIERA_RETURN_IF_ERROR(WriteOne(Family::kVariants,
                                 VariantRecordKey(variant.key, variant.Identity()),
                                 EncodeVariant(variant)));
  awaited_artifacts_.erase(variant.artifact);
  EvictDownToLimit(variant.key);
  return {};
}

std::vector<Variant> RecordStore::ReadVariants(std::string_view prefix) {
  std::vector<Variant> variants;
  for (const auto& [key, payload] : ReadAll(Family::kVariants, prefix)) {
    Result<Variant> variant = DecodeVariant(payload);
    if (variant.ok() && VariantRecordKey(variant->key, variant->Identity()) == key) {
      variants.push_back(*std::move(variant));
    } else {
      SetAside(Family::kVariants, key, payload,
               variant.ok() ? "it lies under another key" : variant.status().message().c_str());
    }
  }
  return variants;
}

std::vector<Variant> RecordStore::Variants(const Hash128& key) {
  const std::lock_guard lock(mutex_);
  std::vector<Variant> variants = ReadVariants(TaskRecordKey(key));
  std::erase_if(variants,
                [&](const Variant& v) { return HasQuarantineRecord(v.key, v.Identity()); });
  std::sort(variants.begin(), variants.end(), IsFaster);
  return variants;
}

Status RecordStore::AppendJournal(const Hash128& key, const JournalEntry& entry) {
  const std::lock_guard lock(mutex_);
  const Result<std::optional<std::string>> last =
      database_->LastKey(Family::kJournal, TaskRecordKey(key));
  if (!last.ok()) return last.status();
  uint64_t number = 0;
  if (last->has_value()) number = NumberOfJournalKey(**last).value_or(0) + 1;
  const std::string record_key = JournalRecordKey(key, number);
  std::vector<Change> changes = {
      {Family::kJournal, record_key,
       SealRecord(Family::kJournal, record_key, EncodeJournalEntry(entry))}};
  if (number >= kMaxJournalEntries) {
    changes.push_back(
        {Family::kJournal, JournalRecordKey(key, number - kMaxJournalEntries), std::nullopt});
  }
  HIERA_RETURN_IF_ERROR(database_->Write(changes));
  EvictDownToLimit(key);
  return {};
}

std::vector<JournalEntry> RecordStore::Journal(const Hash128& key) {
  const std::lock_guard lock(mutex_);
  std::vector<JournalEntry> entries;
  for (const auto& [record_key, payload] : ReadAll(Family::kJournal, TaskRecordKey(key))) {
    std::optional<JournalEntry> entry = DecodeJournalEntry(payload);
    if (entry.has_value()) {
      entries.push_back(*std::move(entry));
    } else {
      SetAside(Family::kJournal, record_key, payload, "its fields do not decode");
    }
  }
  return entries;
}

Status RecordStore::Quarantine(const QuarantineRecord& record) {
  const std::lock_guard lock(mutex_);
  return WriteOne(Family::kQuarantine, QuarantineRecordKey(record.key, record.identity),
                  EncodeQuarantine(record));
}

// The key alone says it: a damaged record still keeps the variant out.
bool RecordStore::HasQuarantineRecord(const Hash128& key, const Hash128& identity) {
  const auto value = database_->Get(Family::kQuarantine, QuarantineRecordKey(key, identity));
  return value.ok() && value->has_value();
}

bool RecordStore::IsQuarantined(const Hash128& key, const Hash128& identity) {
  const std::lock_guard lock(mutex_);
  return HasQuarantineRecord(key, identity);
}

std::vector<QuarantineRecord> RecordStore::Quarantined() {
  const std::lock_guard lock(mutex_);
  std::vector<QuarantineRecord> records;
  const Status status = database_->Scan(
      Family::kQuarantine, kQuarantinedVariants, [&](std::string_view key, std::string_view value) {
        const auto payload = OpenRecord(Family::kQuarantine, key, value);
        std::optional<QuarantineRecord> record;
        if (payload.ok()) record = DecodeQuarantine(*payload);
        if (const auto names = VariantOfQuarantineKey(key); !record.has_value() && names) {
          record = QuarantineRecord{names->task, names->identity, "", "its record is damaged", 0};
        }
        if (record.has_value()) records.push_back(*std::move(record));
        return true;
      });
  if (!status.ok()) Log(LogLevel::kWarning, "the store can't be read: " + status.message());
  return records;
}

Status RecordStore::PutKnowledge(std::string_view name, std::string_view value) {
  const std::lock_guard lock(mutex_);
  return WriteOne(Family::kKnowledge, std::string(name), value);
}

std::optional<std::string> RecordStore::GetKnowledge(std::string_view name) {
  const std::lock_guard lock(mutex_);
  return ReadOne(Family::kKnowledge, std::string(name));
}

Status RecordStore::PutArtifact(const std::string& sha256, const std::string& file) {
  const auto size = [&] {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(artifacts_.PathOf(sha256), error);
    return error ? int64_t{0} : static_cast<int64_t>(bytes);
  };
  const std::lock_guard lock(mutex_);
  const int64_t before = size();
  HIERA_RETURN_IF_ERROR(artifacts_.Put(sha256, file));
  artifact_bytes_ += size() - before;
  awaited_artifacts_.insert(sha256);
  return {};
}

std::string RecordStore::ArtifactPath(const std::string& sha256) const {
  return artifacts_.PathOf(sha256);
}

bool RecordStore::VerifyArtifact(const std::string& sha256) { return artifacts_.Verify(sha256); }

Status RecordStore::Clear() {
  const std::lock_guard lock(mutex_);
  // The index first: nothing may lead a client to what is about to go.
  std::error_code error;
  std::filesystem::remove(path_ + "/index", error);
  if (error) return Unavailable("remove " + path_ + "/index: " + error.message());
  HIERA_RETURN_IF_ERROR(database_->Clear());
  artifacts_.RemoveAllBut({});
  awaited_artifacts_.clear();
  hopeless_bytes_ = 0;
  artifact_bytes_ = artifacts_.TotalBytes();
  return {};
}

std::set<std::string> RecordStore::NamedArtifacts() {
  std::set<std::string> names;
  for (const Variant& v : ReadVariants("")) {
    if (!HasQuarantineRecord(v.key, v.Identity())) names.insert(v.artifact);
  }
  return names;
}

int64_t RecordStore::CollectGarbage() {
  const std::lock_guard lock(mutex_);
  const int64_t removed = artifacts_.RemoveAllBut(NamedArtifacts());
  awaited_artifacts_.clear();
  artifact_bytes_ = artifacts_.TotalBytes();
  return removed;
}

// Tasks by when they were last asked for. What has no task record was asked for at no known time.
std::vector<std::pair<int64_t, Hash128>> RecordStore::OldestFirst() {
  std::map<Hash128, int64_t> last_asked;
  for (const Family family : {Family::kVariants, Family::kJournal}) {
    const Status scanned = database_->Scan(family, "", [&](std::string_view key, std::string_view) {
      if (const auto task = TaskOfKey(key)) last_asked.emplace(*task, 0);
      return true;
    });
    if (!scanned.ok()) Log(LogLevel::kWarning, "the store can't be read: " + scanned.message());
  }
  for (const auto& [key, payload] : ReadAll(Family::kTasks, "")) {
    const std::optional<TaskRecord> record = DecodeTask(payload);
    if (record.has_value()) last_asked[record->key] = record->last_unix_s;
  }
  std::vector<std::pair<int64_t, Hash128>> oldest_first;
  for (const auto& [key, time] : last_asked) oldest_first.emplace_back(time, key);
  std::sort(oldest_first.begin(), oldest_first.end());
  return oldest_first;
}

void RecordStore::EvictDownToLimit(const Hash128& protected_task) {
  if (TotalBytes() <= std::max(options_.max_bytes, hopeless_bytes_)) return;
  std::map<std::string, int> uses;
  std::set<std::string> kept = awaited_artifacts_;
  for (const Variant& v : ReadVariants("")) {
    if (v.artifact.empty()) continue;
    ++uses[v.artifact];
    kept.insert(v.artifact);
  }
  artifacts_.RemoveAllBut(kept);
  artifact_bytes_ = artifacts_.TotalBytes();
  // A little further than the limit, so that the next write does not evict again.
  const int64_t tenth = options_.max_bytes / 10;
  int64_t forgotten = 0;
  for (const auto& [time, key] : OldestFirst()) {
    if (TotalBytes() <= options_.max_bytes - tenth) break;
    if (key == protected_task) continue;
    Forget(key, uses);
    ++forgotten;
  }
  hopeless_bytes_ = TotalBytes() > options_.max_bytes ? TotalBytes() + tenth : 0;
  if (forgotten > 0) {
    Log(LogLevel::kInfo, "the store reached its limit of " + std::to_string(options_.max_bytes) +
                             " bytes: forgot " + std::to_string(forgotten) + " tasks");
  }
}

void RecordStore::Forget(const Hash128& task, std::map<std::string, int>& uses) {
  const std::string prefix = TaskRecordKey(task);
  std::vector<std::string> orphans;
  for (const Variant& v : ReadVariants(prefix)) {
    const auto use = uses.find(v.artifact);
    if (use != uses.end() && --use->second == 0) orphans.push_back(v.artifact);
  }
  std::vector<Change> changes;
  for (const Family family : {Family::kTasks, Family::kVariants, Family::kJournal}) {
    const Status status =
        database_->Scan(family, prefix, [&](std::string_view key, std::string_view) {
          changes.push_back({family, std::string(key), std::nullopt});
          return true;
        });
    if (!status.ok()) Log(LogLevel::kWarning, "the store can't be read: " + status.message());
  }
  if (const Status status = database_->Write(changes); !status.ok()) {
    Log(LogLevel::kWarning, "the store can't forget a task: " + status.message());
    return;
  }
  for (const std::string& artifact : orphans) artifact_bytes_ -= artifacts_.Remove(artifact);
}

}  // namespace hiera
