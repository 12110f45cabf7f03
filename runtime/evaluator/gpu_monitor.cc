#include "runtime/evaluator/gpu_monitor.h"

#include <dlfcn.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <type_traits>
#include <vector>

namespace hiera {
namespace {

constexpr int kSuccess = 0;
constexpr int kSmClock = 1;  // NVML_CLOCK_SM

// NVML's bits of reasons that a measurement suffers from: hardware slowdown, software thermal,
// hardware thermal, power brake. A power cap alone is how a busy GPU lives.
constexpr uint64_t kSlowed = 0x8 | 0x20 | 0x40 | 0x80;
constexpr uint64_t kPowerCap = 0x4;
constexpr double kSteady = 0.9;  // of the clock at the first reading
constexpr unsigned kAtWork = 5;  // percent of the multiprocessors' time
constexpr size_t kMostProcesses = 64;

// nvmlProcessUtilizationSample_t. Declared here because NVML's header comes with the toolkit only.
struct ProcessSample {
  unsigned pid;
  unsigned long long time_stamp;
  unsigned sm, memory, encoder, decoder;
};

int64_t UnixUs() {
  timeval now;
  gettimeofday(&now, nullptr);
  return int64_t{now.tv_sec} * 1'000'000 + now.tv_usec;
}

}  // namespace

struct GpuMonitor::Entries {
  int (*init)() = nullptr;
  int (*device_by_uuid)(const char* uuid, void** device) = nullptr;
  int (*clock)(void* device, int type, unsigned* mhz) = nullptr;
  int (*reasons)(void* device, unsigned long long* bits) = nullptr;
  int (*processes)(void* device, ProcessSample* samples, unsigned* count,
                   unsigned long long since) = nullptr;

  bool Find(void* library) {
    const auto find = [&](const char* name, auto* entry) {
      void* address = dlsym(library, name);
      *entry = reinterpret_cast<std::remove_pointer_t<decltype(entry)>>(address);
      return address != nullptr;
    };
    return find("nvmlInit_v2", &init) && find("nvmlDeviceGetHandleByUUID", &device_by_uuid) &&
           find("nvmlDeviceGetClockInfo", &clock) &&
           find("nvmlDeviceGetCurrentClocksThrottleReasons", &reasons) &&
           find("nvmlDeviceGetProcessUtilization", &processes);
  }
};

GpuMonitor::GpuMonitor() = default;
GpuMonitor::~GpuMonitor() = default;

Result<std::unique_ptr<GpuMonitor>> GpuMonitor::Open(const std::string& uuid) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Unavailable("no NVML (libnvidia-ml.so.1) on this machine");
  auto entries = std::make_unique<Entries>();
  void* device = nullptr;
  if (!entries->Find(library) || entries->init() != kSuccess ||
      entries->device_by_uuid(uuid.c_str(), &device) != kSuccess) {
    return Unavailable("NVML does not tell of " + uuid);
  }
  std::unique_ptr<GpuMonitor> monitor(new GpuMonitor);
  monitor->entries_ = std::move(entries);
  monitor->device_ = device;
  return monitor;  // the library stays open: NVML is never shut down here
}

GpuMonitor::Reading GpuMonitor::Read() const {
  Reading reading;
  unsigned long long bits = 0;
  if (entries_->clock(device_, kSmClock, &reading.sm_mhz) != kSuccess) reading.sm_mhz = 0;
  if (entries_->reasons(device_, &bits) == kSuccess) reading.reasons = bits;
  reading.unix_us = UnixUs();
  return reading;
}

int GpuMonitor::OthersAtWork(int64_t since_unix_us, int64_t own) const {
  std::vector<ProcessSample> samples(kMostProcesses);
  auto count = static_cast<unsigned>(samples.size());
  const auto since = static_cast<unsigned long long>(since_unix_us);
  if (entries_->processes(device_, samples.data(), &count, since) != kSuccess) return 0;
  samples.resize(std::min<size_t>(count, samples.size()));
  std::set<int64_t> busy;
  for (const ProcessSample& sample : samples) {
    if (sample.sm >= kAtWork) busy.insert(sample.pid);
  }
  if (busy.erase(own) == 0 && !busy.empty()) busy.erase(busy.begin());
  return static_cast<int>(busy.size());
}

GpuMonitor::Account GpuMonitor::Between(const Reading& first, const Reading& last) const {
  return AccountOf(first, last, OthersAtWork(first.unix_us, getpid()));
}

GpuMonitor::Account AccountOf(const GpuMonitor::Reading& first, const GpuMonitor::Reading& last,
                              int other_processes) {
  GpuMonitor::Account account;
  if (last.sm_mhz > 0) account.note = std::to_string(last.sm_mhz) + " MHz";
  const auto add = [&account](const std::string& text) {
    account.note += (account.note.empty() ? "" : ", ") + text;
  };
  if (last.sm_mhz > 0 && last.sm_mhz < kSteady * first.sm_mhz) {
    account.disturbed = true;
    add("fallen from " + std::to_string(first.sm_mhz));
  }
  const uint64_t reasons = first.reasons | last.reasons;
  if ((reasons & kSlowed) != 0) {
    account.disturbed = true;
    add("slowed by heat or power");
  } else if ((reasons & kPowerCap) != 0) {
    add("at its power cap");
  }
  if (other_processes > 0) {
    account.disturbed = true;
    add(std::to_string(other_processes) + " other processes at work");
  }
  return account;
}

}  // namespace hiera
