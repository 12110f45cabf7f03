// RecordStore: the store's promises, over any database and a folder of artifacts. Damaged records,
// order, limits and eviction are decided here, once for the durable store and the one in memory.
#ifndef HIERA_CACHE_RECORD_STORE_H_
#define HIERA_CACHE_RECORD_STORE_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/artifacts.h"
#include "cache/database.h"
#include "cache/store.h"

namespace hiera {

class RecordStore : public Store {
 public:
  struct Parts {
    // What must outlive the database and goes last: the lock, or the temporary folder.
    std::shared_ptr<void> foundation;
    std::unique_ptr<Database> database;
    std::string path;
    bool durable = false;
    StoreOptions options;
  };
  explicit RecordStore(Parts parts);

  bool durable() const override { return durable_; }
  const std::string& path() const override { return path_; }

  Status PutTask(const TaskRecord& record) override;
  std::optional<TaskRecord> GetTask(const Hash128& key) override;
  std::vector<TaskRecord> Tasks() override;
  Status PutVariant(const Variant& variant) override;
  std::vector<Variant> Variants(const Hash128& key) override;
  Status AppendJournal(const Hash128& key, const JournalEntry& entry) override;
  std::vector<JournalEntry> Journal(const Hash128& key) override;
  Status Quarantine(const QuarantineRecord& record) override;
  bool IsQuarantined(const Hash128& key, const Hash128& identity) override;
  std::vector<QuarantineRecord> Quarantined() override;
  Status PutKnowledge(std::string_view name, std::string_view value) override;
  std::optional<std::string> GetKnowledge(std::string_view name) override;
  Status PutArtifact(const std::string& sha256, const std::string& file) override;
  std::string ArtifactPath(const std::string& sha256) const override;
  bool VerifyArtifact(const std::string& sha256) override;
  Status Clear() override;
  int64_t CollectGarbage() override;

 private:
  // The payloads below a prefix, by key. Damaged ones go into quarantine on the way.
  std::map<std::string, std::string> ReadAll(Family family, std::string_view prefix);
  std::optional<std::string> ReadOne(Family family, const std::string& key);
  Status WriteOne(Family family, const std::string& key, std::string_view payload);
  void SetAside(Family family, const std::string& key, std::string_view value, const char* why);
  bool HasQuarantineRecord(const Hash128& key, const Hash128& identity);

  // Variants of a task, or of every task with an empty prefix; no order, quarantined ones included.
  std::vector<Variant> ReadVariants(std::string_view prefix);
  std::set<std::string> NamedArtifacts();
  int64_t TotalBytes() const { return database_->Bytes() + artifact_bytes_; }

  std::vector<std::pair<int64_t, Hash128>> OldestFirst();
  // Over the limit: deletes artifacts that nobody names, then forgets least recently asked tasks
  // until the limit is kept; never `protected_task`.
  void EvictDownToLimit(const Hash128& protected_task);
  // Deletes a task's records, and artifacts that no other task names. `uses` counts names.
  void Forget(const Hash128& task, std::map<std::string, int>& uses);

  const std::shared_ptr<void> foundation_;
  const std::unique_ptr<Database> database_;
  const std::string path_;
  const bool durable_;
  const StoreOptions options_;

  std::mutex mutex_;  // makes composite operations atomic
  ArtifactFolder artifacts_;
  int64_t artifact_bytes_ = 0;
  // Put by this process, and no variant has named them yet: its record is about to come.
  std::set<std::string> awaited_artifacts_;
  // Below so many bytes eviction has been found to be of no use.
  int64_t hopeless_bytes_ = 0;
};

}  // namespace hiera

#endif  // HIERA_CACHE_RECORD_STORE_H_
