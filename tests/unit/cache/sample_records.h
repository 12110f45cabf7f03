// Records for the store's tests, distinct by a number.
#ifndef HIERA_TESTS_UNIT_CACHE_SAMPLE_RECORDS_H_
#define HIERA_TESTS_UNIT_CACHE_SAMPLE_RECORDS_H_

#include <string>

#include "cache/store.h"

namespace hiera {

inline Hash128 SampleKey(uint64_t n) { return HashBytes("task " + std::to_string(n)); }

inline TaskRecord SampleTask(uint64_t n) {
  const std::string text = std::to_string(n);
  return {.key = SampleKey(n),
          .canonical = "C[i] = A[i] + " + text,
          .fingerprint = "device=host\n",
          .baseline_ns = 100.0 + static_cast<double>(n),
          .baseline_name = "interpreter",
          .settled = n % 2 == 1,
          .outcome = "outcome " + text,
          .first_unix_s = 1000,
          .last_unix_s = static_cast<int64_t>(2000 + n)};
}

inline Variant SampleVariant(const Hash128& key, int n) {
  Variant v;
  v.key = key;
  v.space = Space::kKernel;
  v.family = "gemm";
  v.name = "tile " + std::to_string(n);
  v.plan = {"object", 64, 1};
  v.artifact = Sha256("code " + std::to_string(n));
  v.requirements = {{"library libm.so.6", "77aa"}};
  v.baseline_name = "interpreter";
  v.baseline_ns = 1000;
  v.time_ns = 100.0 + n;
  v.ratio = 1000 / v.time_ns;
  v.ratio_low = v.ratio * 0.95;
  v.measured_unix_s = 1'700'000'000;
  return v;
}

inline bool operator==(const TaskRecord& a, const TaskRecord& b) {
  return a.key == b.key && a.canonical == b.canonical && a.fingerprint == b.fingerprint &&
         a.baseline_ns == b.baseline_ns && a.baseline_name == b.baseline_name &&
         a.settled == b.settled && a.outcome == b.outcome && a.first_unix_s == b.first_unix_s &&
         a.last_unix_s == b.last_unix_s;
}

inline bool operator==(const JournalEntry& a, const JournalEntry& b) {
  return a.unix_s == b.unix_s && a.kind == b.kind && a.text == b.text;
}

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_CACHE_SAMPLE_RECORDS_H_
