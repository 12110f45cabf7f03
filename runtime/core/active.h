// Active: what a slot runs at the moment. Immutable once a slot has published it, and never freed
// while the engine lives, so that a call which has just loaded the pointer can use it without a
// reference count, a lock or an epoch.
#ifndef HIERA_RUNTIME_CORE_ACTIVE_H_
#define HIERA_RUNTIME_CORE_ACTIVE_H_

#include <cstdint>

#include "runtime/device/device.h"
#include "runtime/task/variant.h"

namespace hiera {

struct Active {
  enum class Kind : uint8_t {
    kBaseline,  // its status is the status of the run
    kVariant,   // where it cannot take a call, the baseline does
    kTrial,     // a LiveTrial, which deals with all of that itself
  };
  const Executable* executable = nullptr;
  // Bits that must be clear in every pointer of a call; 0 where nothing is asked for.
  uintptr_t misaligned_bits = 0;
  // What runs, for those who ask; null: the baseline. Of a trial: its incumbent's.
  const Variant* variant = nullptr;
  Kind kind = Kind::kBaseline;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_ACTIVE_H_
