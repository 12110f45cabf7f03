#include "runtime/evaluator/duty.h"

#include <algorithm>
#include <cmath>

namespace hiera {
namespace {

constexpr double kYoungNs = 3e9;
constexpr double kYoungShare = 0.25;
constexpr double kOldShare = 0.05;
constexpr size_t kMostBuckets = 64;
constexpr double kFelt = 0.1;  // of the processors

}  // namespace

void Duty::Enter(const std::string& key, int64_t now_ns) {
  const auto found = std::find_if(buckets_.begin(), buckets_.end(),
                                  [&](const Bucket& bucket) { return bucket.key == key; });
  if (found != buckets_.end()) {
    buckets_.splice(buckets_.begin(), buckets_, found);
    return;
  }
  buckets_.push_front({key, now_ns, 0});
  if (buckets_.size() > kMostBuckets) buckets_.pop_back();
}

bool Duty::IsYoung(int64_t now_ns) const {
  return !buckets_.empty() && static_cast<double>(now_ns - buckets_.front().since_ns) < kYoungNs;
}

void Duty::Charge(double device_ns) {
  if (!buckets_.empty()) buckets_.front().used_ns += std::max(device_ns, 0.0);
}

int64_t Duty::WaitNs(int64_t now_ns) const {
  if (buckets_.empty()) return 0;
  const Bucket& bucket = buckets_.front();
  const double beyond = bucket.used_ns - kYoungShare * kYoungNs;
  if (beyond <= 0) return 0;
  const double free_at = static_cast<double>(bucket.since_ns) + kYoungNs + beyond / kOldShare;
  return std::max<int64_t>(0, std::llround(free_at - static_cast<double>(now_ns)));
}

bool OthersAreBusy(const ProcessorTimes& before, const ProcessorTimes& after) {
  const int64_t total = after.total - before.total;
  const int64_t yielding = (after.idle - before.idle) + (after.niced - before.niced);
  return static_cast<double>(total - yielding) > kFelt * static_cast<double>(total);
}

}  // namespace hiera
