#include "runtime/core/slot_table.h"

namespace hiera {

Slot* SlotTable::Find(const Hash128& key, hiera_baseline_fn function, const void* user) const {
  const auto [begin, end] = by_key_.equal_range(key);
  for (auto it = begin; it != end; ++it) {
    const Baseline& baseline = it->second->baseline();
    if (baseline.function == function && baseline.user == user) return it->second;
  }
  return nullptr;
}

Slot* SlotTable::Insert(std::unique_ptr<Slot> slot) {
  slots_.push_back(std::move(slot));
  Slot* inserted = slots_.back().get();
  by_key_.emplace(inserted->key(), inserted);
  return inserted;
}

std::vector<Slot*> SlotTable::WithKey(const Hash128& key) const {
  std::vector<Slot*> found;
  const auto [begin, end] = by_key_.equal_range(key);
  for (auto it = begin; it != end; ++it) found.push_back(it->second);
  return found;
}

}  // namespace hiera
