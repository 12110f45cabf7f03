// Store: what was learnt, kept across processes and reboots. One process owns it at a time (the
// planner); everyone else reads the published index (runtime/ipc/index.h).
//
// On disk, in a folder that belongs to the user and is closed to others:
//   db/                 RocksDB; column families tasks, variants, journal, quarantine, knowledge
//   db.seal             record counts and sequence, to notice a truncated manifest before RocksDB
//                       acts on it
//   artifacts/ab/ab12…  code, named by its SHA-256
//   index               the published index
//   lock                held by the owner
// A record carries a schema version and a checksum. One that does not decode is a miss: it is put
// into quarantine, logged once, and never an error for the caller.
//
// Thread safety: every method may be called from any thread. Writes are durable on return.
#ifndef HIERA_CACHE_STORE_H_
#define HIERA_CACHE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/status.h"
#include "runtime/task/variant.h"

namespace hiera {

// A task that was asked for.
struct TaskRecord {
  Hash128 key;
  std::string canonical;    // the task's canonical text
  std::string fingerprint;  // the device's text
  double baseline_ns = 0;   // as the application last measured it
  std::string baseline_name;
  bool settled = false;  // planned to the end
  std::string outcome;   // one line: what won and why, or why nothing did
  int64_t first_unix_s = 0;
  int64_t last_unix_s = 0;  // last asked for
};

// One line of a task's history: a decision, a trial, a swap, a rollback.
struct JournalEntry {
  int64_t unix_s = 0;
  std::string kind;  // "plan", "trial", "win", "settled", "report"
  std::string text;  // plain words
};

struct QuarantineRecord {
  Hash128 key;
  Hash128 identity;  // Variant::Identity()
  std::string variant_name;
  std::string reason;
  int64_t unix_s = 0;
};

class Store {
 public:
  virtual ~Store() = default;

  // False for the memory-only store that serves where the folder can't be used.
  virtual bool durable() const = 0;
  virtual const std::string& path() const = 0;

  virtual Status PutTask(const TaskRecord& record) = 0;
  virtual std::optional<TaskRecord> GetTask(const Hash128& key) = 0;
  virtual std::vector<TaskRecord> Tasks() = 0;  // by key

  // Variants of a task, best ratio to the baseline first, without the quarantined ones.
  virtual Status PutVariant(const Variant& variant) = 0;
  virtual std::vector<Variant> Variants(const Hash128& key) = 0;

  virtual Status AppendJournal(const Hash128& key, const JournalEntry& entry) = 0;
  virtual std::vector<JournalEntry> Journal(const Hash128& key) = 0;  // oldest first

  virtual Status Quarantine(const QuarantineRecord& record) = 0;
  virtual bool IsQuarantined(const Hash128& key, const Hash128& identity) = 0;
  virtual std::vector<QuarantineRecord> Quarantined() = 0;

  // Free-form values by name: machine facts, what worked for which class and device.
  virtual Status PutKnowledge(std::string_view name, std::string_view value) = 0;
  virtual std::optional<std::string> GetKnowledge(std::string_view name) = 0;

  // Takes the file's content (by hard link or copy), verifies it against its name on the way.
  virtual Status PutArtifact(const std::string& sha256, const std::string& file) = 0;
  // Where an artifact lies, whether or not it exists.
  virtual std::string ArtifactPath(const std::string& sha256) const = 0;
  // Whether it exists and its content has that hash.
  virtual bool VerifyArtifact(const std::string& sha256) = 0;

  // Deletes everything, artifacts included; the folder and its lock stay.
  virtual Status Clear() = 0;

  // Deletes artifacts that no variant names; returns how many went.
  virtual int64_t CollectGarbage() = 0;
};

struct StoreOptions {
  int64_t max_bytes = int64_t{1} << 30;  // artifacts and records; least recently asked for go first
};

// Opens or creates the store in `path`. Damage is repaired or set aside, and told in the log.
// Errors: kInvalidArgument (the folder belongs to another user, or others can write to it),
// kUnavailable (locked by another process), kUnsupported (made by a newer version; left untouched),
// kInternal (neither opened nor repaired).
Result<std::unique_ptr<Store>> OpenStore(const std::string& path, const StoreOptions& options = {});

// Keeps everything in memory, artifacts in a temporary folder that goes with it; path() is that
// folder.
std::unique_ptr<Store> MakeMemoryStore();

// OpenStore; where that fails one warning in the log, and a memory store.
std::unique_ptr<Store> OpenStoreOrMemory(const std::string& path, const StoreOptions& options = {});

// Lower-case hexadecimal SHA-256.
std::string Sha256(std::string_view bytes);
Result<std::string> Sha256OfFile(const std::string& path);

}  // namespace hiera

#endif  // HIERA_CACHE_STORE_H_
