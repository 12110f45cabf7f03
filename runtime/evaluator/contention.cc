#include "runtime/evaluator/contention.h"

#include <charconv>
#include <string>

#include "runtime/evaluator/digest.h"

namespace hiera {
namespace {

constexpr int64_t kFewestTicks = 8;
constexpr double kStealLimit = 0.05;
constexpr double kOthersLimit = 0.25;

// The next number of a line of blanks and numbers; 0 where there is none.
int64_t Next(std::string_view& text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return 0;
  text.remove_prefix(begin);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return error == std::errc() ? value : 0;
}

}  // namespace

ProcessorTimes ParseTimes(std::string_view stat, std::string_view process_stat) {
  // cpu user nice system idle iowait irq softirq steal; guest times are within user's.
  ProcessorTimes times;
  if (stat.substr(0, 4) == "cpu ") {
    std::string_view rest = stat.substr(4, stat.find('\n') - 4);
    for (int field = 0; field < 8; ++field) {
      const int64_t ticks = Next(rest);
      times.total += ticks;
      if (field == 3 || field == 4) times.idle += ticks;
      if (field == 1) times.niced = ticks;
      if (field == 7) times.steal = ticks;
    }
  }
  // utime and stime are fields 14 and 15; the name in field 2 may hold anything but ends with ')'.
  const size_t name_end = process_stat.rfind(')');
  if (name_end != std::string_view::npos && name_end + 4 < process_stat.size()) {
    std::string_view rest = process_stat.substr(name_end + 4);  // ") S "
    for (int field = 4; field <= 15; ++field) {
      const int64_t value = Next(rest);
      if (field >= 14) times.own += value;
    }
  }
  return times;
}

ProcessorTimes ReadTimes(pid_t process) {
  auto stat = ReadFile("/proc/stat");
  auto own = ReadFile("/proc/" + std::to_string(process) + "/stat");
  return ParseTimes(stat.ok() ? *stat : std::string(), own.ok() ? *own : std::string());
}

bool IsContended(const ProcessorTimes& before, const ProcessorTimes& after) {
  const int64_t total = after.total - before.total;
  if (total < kFewestTicks) return false;
  const int64_t steal = after.steal - before.steal;
  const int64_t busy = total - (after.idle - before.idle) - steal;
  const int64_t others = busy - (after.own - before.own);
  return static_cast<double>(steal) > kStealLimit * static_cast<double>(total) ||
         static_cast<double>(others) > kOthersLimit * static_cast<double>(total);
}

}  // namespace hiera
