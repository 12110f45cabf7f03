// Monotonic time in nanoseconds. Any thread; costs one vDSO call (about 25 ns).
#ifndef HIERA_RUNTIME_BASE_CLOCK_H_
#define HIERA_RUNTIME_BASE_CLOCK_H_

#include <time.h>

#include <cstdint>

namespace hiera {

inline int64_t MonotonicNs() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Seconds since 1970; for records that people read, never for measuring.
inline int64_t UnixSeconds() {
  timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec;
}

}  // namespace hiera

#endif  // HIERA_RUNTIME_BASE_CLOCK_H_
