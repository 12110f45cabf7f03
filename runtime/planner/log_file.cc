#include "runtime/planner/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"

namespace hiera {
namespace {

constexpr off_t kMaxBytes = 1 << 20;

int log_fd = -1;

void WriteLine(void*, uint32_t level, const char* text) {
  const time_t now = UnixSeconds();
  tm local;
  localtime_r(&now, &local);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%F %T", &local);
  static constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};
  const std::string line = std::string(stamp) + " [" + std::to_string(getpid()) + "] " +
                           kLevels[level < 4 ? level : 3] + ": " + text + "\n";
  // One write, so that lines stay whole; a full disk loses the line and nothing else.
  [[maybe_unused]] const ssize_t written = write(log_fd, line.data(), line.size());
}

}  // namespace

void LogToFile(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) == 0 && file.st_size > kMaxBytes) {
    std::rename(path.c_str(), (path + ".1").c_str());
  }
  log_fd = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (log_fd >= 0) SetLogSink(WriteLine, nullptr);
}

}  // namespace hiera
