#include "runtime/evaluator/machine.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/device/host/thread_pool.h"
#include "runtime/evaluator/digest.h"
#include "runtime/evaluator/peak.h"
#include "runtime/library/library.h"

namespace hiera {
namespace {

// The number that a text starts with, times its K or M; 0 where there is none.
int64_t SizeIn(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return 0;
  if (end < text.data() + text.size() && *end == 'K') value <<= 10;
  if (end < text.data() + text.size() && *end == 'M') value <<= 20;
  return value;
}

std::string Line(const std::string& path) {
  auto text = ReadFile(path);
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

// The kilobytes of a field of /proc/meminfo, in bytes; negative where it is not there.
int64_t MemoryField(std::string_view meminfo, std::string_view name) {
  const size_t at = meminfo.find(name);
  if (at == std::string_view::npos) return -1;
  std::string_view rest = meminfo.substr(at + name.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" :"), rest.size()));
  return SizeIn(rest) << 10;
}

int VectorBytes() {
  if (__builtin_cpu_supports("avx512f")) return 64;
  return __builtin_cpu_supports("avx") ? 32 : 16;
}

}  // namespace

void ReadCacheSizes(const std::string& folder, MachineFacts& facts) {
  for (int index = 0; index < 8; ++index) {
    const std::string cache = folder + "/index" + std::to_string(index);
    const std::string level = Line(cache + "/level");
    const int64_t bytes = SizeIn(Line(cache + "/size"));
    if (bytes <= 0 || Line(cache + "/type") == "Instruction") continue;
    if (level == "1") facts.l1_bytes = bytes;
    if (level == "2") facts.l2_bytes = bytes;
    if (level == "3") facts.l3_bytes = bytes;
  }
}

int64_t AvailableMemory(const std::string& root) {
  int64_t available = std::numeric_limits<int64_t>::max();
  if (auto meminfo = ReadFile(root + "/proc/meminfo"); meminfo.ok()) {
    const int64_t bytes = MemoryField(*meminfo, "MemAvailable");
    if (bytes >= 0) available = bytes;
  }
  const std::string groups = root + "/sys/fs/cgroup";
  const std::string pairs[2][2] = {
      {groups + "/memory.max", groups + "/memory.current"},
      {groups + "/memory/memory.limit_in_bytes", groups + "/memory/memory.usage_in_bytes"}};
  for (const auto& [limit_path, usage_path] : pairs) {
    const int64_t limit = SizeIn(Line(limit_path));
    if (limit <= 0) continue;  // "max": none
    available = std::min(available, std::max<int64_t>(0, limit - SizeIn(Line(usage_path))));
  }
  return available;
}

MachineFacts MeasureMachine(int threads, const Compilers& compilers) {
  MachineFacts facts;
  facts.threads = threads;
  ReadCacheSizes("/sys/devices/system/cpu/cpu0/cache", facts);
  facts.vector_bytes = VectorBytes();
  facts.has_gcc = !compilers.gcc.path.empty();
  facts.has_clang = !compilers.clang.path.empty();
  if (auto library = LibraryRequirement(); library.ok()) {
    facts.blas = library->identity;
    facts.blas_what = library->what;
  }
  const ThreadPool pool(threads);
  facts.copy_gbps = MeasureCopyRate(pool, facts.l3_bytes);
  facts.flops_f32 = MeasurePeak(pool, DType::kF32);
  facts.flops_f64 = MeasurePeak(pool, DType::kF64);
  return facts;
}

}  // namespace hiera
