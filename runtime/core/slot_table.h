// SlotTable: every slot of an engine, found by key and baseline. Owns them; a slot keeps its
// address and is never removed. Not thread-safe: used under the engine's mutex.
#ifndef HIERA_RUNTIME_CORE_SLOT_TABLE_H_
#define HIERA_RUNTIME_CORE_SLOT_TABLE_H_

#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/core/slot.h"

namespace hiera {

class SlotTable {
 public:
  static constexpr size_t kMaxPlanned = 65'536;  // slots beyond are kept on their baselines

  // Operators share a slot where task, device and baseline are the same. Null where there is none.
  Slot* Find(const Hash128& key, hiera_baseline_fn function, const void* user) const;
  Slot* Insert(std::unique_ptr<Slot> slot);

  // Every slot of a key, whatever its baseline.
  std::vector<Slot*> WithKey(const Hash128& key) const;
  // In the order of insertion.
  const std::vector<std::unique_ptr<Slot>>& all() const { return slots_; }
  bool full() const { return slots_.size() >= kMaxPlanned; }

 private:
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unordered_multimap<Hash128, Slot*> by_key_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_SLOT_TABLE_H_
