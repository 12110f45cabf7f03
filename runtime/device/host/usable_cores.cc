#include "runtime/device/host/usable_cores.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

namespace hiera {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// quota / period rounded up, or 0 where either is missing, "max" or negative.
int Cores(const char* quota_text, const char* period_text) {
  const double quota = std::strtod(quota_text, nullptr);
  const double period = std::strtod(period_text, nullptr);
  if (!(quota > 0) || !(period > 0)) return 0;
  return std::max(1, static_cast<int>(std::ceil(std::min(quota / period, 1e6))));
}

int QuotaAt(const std::string& folder, bool version_2) {
  if (version_2) {
    const std::string text = ReadFile(folder + "/cpu.max");  // "QUOTA PERIOD" or "max PERIOD"
    const size_t space = text.find(' ');
    return space == std::string::npos ? 0 : Cores(text.c_str(), text.c_str() + space);
  }
  const std::string quota = ReadFile(folder + "/cpu.cfs_quota_us");
  const std::string period = ReadFile(folder + "/cpu.cfs_period_us");
  return Cores(quota.c_str(), period.c_str());
}

// The tightest quota from `group` ("/a/b") up to the mount's root.
int TightestQuota(const std::string& mount, std::string group, bool version_2) {
  int tightest = 0;
  while (true) {
    const int cores = QuotaAt(mount + (group == "/" ? "" : group), version_2);
    if (cores > 0 && (tightest == 0 || cores < tightest)) tightest = cores;
    if (group.empty() || group == "/") return tightest;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

bool HasController(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == name) return true;
    list = comma == std::string_view::npos ? "" : list.substr(comma + 1);
  }
  return false;
}

}  // namespace

int QuotaCores(std::string_view proc_cgroup, const std::string& root) {
  int tightest = 0;
  // Each line is "ID:CONTROLLERS:GROUP"; version 2 has ID 0 and no controllers.
  while (!proc_cgroup.empty()) {
    const size_t newline = proc_cgroup.find('\n');
    const std::string_view line = proc_cgroup.substr(0, newline);
    proc_cgroup = newline == std::string_view::npos ? "" : proc_cgroup.substr(newline + 1);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool version_2 = controllers.empty();
    if (!version_2 && !HasController(controllers, "cpu")) continue;
    const std::string mount = version_2 ? root : root + "/cpu";
    const int cores = TightestQuota(mount, std::string(line.substr(second + 1)), version_2);
    if (cores > 0 && (tightest == 0 || cores < tightest)) tightest = cores;
  }
  return tightest;
}

int UsableCores() {
  int cores = 1;
  // A mask that is too small for the machine is refused with EINVAL: grow it.
  for (int bits = 1024; bits <= (1 << 20); bits *= 4) {
    std::vector<cpu_set_t> mask(bits / CPU_SETSIZE);
    const size_t bytes = mask.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, mask.data()) == 0) {
      cores = std::max(1, CPU_COUNT_S(bytes, mask.data()));
      break;
    }
  }
  const int quota = QuotaCores(ReadFile("/proc/self/cgroup"), "/sys/fs/cgroup");
  return quota > 0 ? std::min(cores, quota) : cores;
}

}  // namespace hiera
