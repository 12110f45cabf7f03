// Catalogue: the planner's view of the store, and the index that it publishes from it. What wins
// goes through here, so that store, artifacts and index stay in step.
//
// Owns the store. Thread safety: any thread.
#ifndef HIERA_RUNTIME_PLANNER_CATALOGUE_H_
#define HIERA_RUNTIME_PLANNER_CATALOGUE_H_

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cache/store.h"
#include "runtime/base/status.h"

namespace hiera {

class Catalogue {
 public:
  // index_path empty: nothing is published (the store can't be used, so neither can its folder).
  Catalogue(std::unique_ptr<Store> store, std::string index_path);

  Store& store() { return *store_; }

  // The fastest variant of a task that is not in quarantine.
  std::optional<Variant> Best(const Hash128& key);

  // Keeps the code and the record, and marks the index as due. Returns where the code lies; the
  // given path where there is no code or it could not be kept.
  std::string Keep(const Variant& variant, const std::string& artifact_file);

  // Never again, for whatever reason was reported. Marks the index as due.
  void Ban(const QuarantineRecord& record);

  void Clear();

  // Writes the index if it is due and the last one is at least a second old, or `now` asks for it.
  void PublishIfDue(bool now);

 private:
  std::unique_ptr<Store> store_;
  const std::string index_path_;
  std::mutex mutex_;  // guards what follows
  bool due_ = true;   // the first index is written at the start
  uint64_t generation_ = 0;
  int64_t published_ns_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_CATALOGUE_H_
