// Polls for a condition, up to a deadline that only a broken build reaches.
#ifndef HIERA_TESTS_EVENTUALLY_H_
#define HIERA_TESTS_EVENTUALLY_H_

#include <poll.h>

#include <cstdint>

#include "runtime/base/clock.h"

namespace hiera {

template <typename Condition>
bool Eventually(Condition condition, int64_t seconds = 30) {
  const int64_t end_ns = MonotonicNs() + seconds * 1'000'000'000;
  while (!condition()) {
    if (MonotonicNs() > end_ns) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace hiera

#endif  // HIERA_TESTS_EVENTUALLY_H_
