// The published index: the best variant of every known task, in one immutable file that clients
// map. The planner writes it; a reader needs no lock, no planner and no descriptor after opening.
//
// Layout (docs/index-format.md): a header with magic, version, generation, flags, counts and a
// checksum; keys sorted; records, each with its own checksum. The file is never changed in place: a
// new one is renamed over it, so a mapping stays valid for as long as it is held.
#ifndef HIERA_RUNTIME_IPC_INDEX_H_
#define HIERA_RUNTIME_IPC_INDEX_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/status.h"
#include "runtime/task/variant.h"

namespace hiera {

struct IndexContents {
  uint64_t generation = 0;        // grows with every file
  bool switched_off = false;      // the kill switch: clients run baselines
  std::vector<Variant> variants;  // at most one per key
};

// Writes the file beside its final place, syncs it and renames it. Thread safety: one writer.
Status WriteIndex(const std::string& path, const IndexContents& contents);

// An open index. Immutable; any thread.
class PublishedIndex {
 public:
  // Errors: kUnavailable (there is none), kInvalidArgument (damaged, another version, or the file
  // or its folder can be written by someone else).
  static Result<std::shared_ptr<const PublishedIndex>> Open(const std::string& path);
  ~PublishedIndex();
  PublishedIndex(const PublishedIndex&) = delete;
  PublishedIndex& operator=(const PublishedIndex&) = delete;

  // The variant of a key; empty where there is none or its record is damaged. Below a microsecond.
  std::optional<Variant> Find(const Hash128& key) const;
  uint64_t generation() const;
  bool switched_off() const;
  size_t size() const;
  // Of the whole file: what frozen mode pins.
  Hash128 digest() const;
  // Whether the file at the path is no longer this one. One stat call.
  bool Superseded() const;

 private:
  PublishedIndex() = default;
  struct Mapping;
  std::unique_ptr<Mapping> mapping_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_IPC_INDEX_H_
