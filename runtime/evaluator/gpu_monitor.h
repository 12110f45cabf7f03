// GpuMonitor: what else goes on on the GPU while something is measured: clocks, reasons for lower
// ones, other processes. From NVML (libnvidia-ml.so.1), opened at run time; a machine without it is
// measured without. Changes nothing. Not thread-safe.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_MONITOR_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_MONITOR_H_

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/base/status.h"

namespace hiera {

class GpuMonitor {
 public:
  // `uuid`: "GPU-...". Errors: kUnavailable (no NVML, or it does not know the device).
  static Result<std::unique_ptr<GpuMonitor>> Open(const std::string& uuid);
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  struct Reading {
    unsigned sm_mhz = 0;   // 0: not told
    uint64_t reasons = 0;  // for clocks below the highest, NVML's bits
    int64_t unix_us = 0;
  };
  Reading Read() const;

  // Whether a measurement between two readings, both taken under load, was disturbed: clocks that
  // fell by a tenth or more, heat, power, or another process at work. `note` says what was read.
  struct Account {
    bool disturbed = false;
    std::string note;
  };
  Account Between(const Reading& first, const Reading& last) const;

  // How many processes beside `own` have used a twentieth of the device or more since then. In a
  // container `own` may bear another number to NVML; then one of them is taken for it.
  int OthersAtWork(int64_t since_unix_us, int64_t own) const;

 private:
  struct Entries;
  GpuMonitor();

  std::unique_ptr<Entries> entries_;
  void* device_ = nullptr;
};

// The part of it that needs no device, for tests.
GpuMonitor::Account AccountOf(const GpuMonitor::Reading& first, const GpuMonitor::Reading& last,
                              int other_processes);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_MONITOR_H_
