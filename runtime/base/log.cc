#include "runtime/base/log.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <string>

#include "runtime/base/environment.h"

namespace hiera {
namespace {

struct Sink {
  std::mutex mutex;
  hiera_log_fn function = nullptr;
  void* user = nullptr;
};

// Never destroyed: threads may log while the process exits. In the child of a fork, the thread that
// was logging is not there to unlock it.
Sink& TheSink() {
  static Sink& sink = []() -> Sink& {
    static Sink* const made = new Sink;
    pthread_atfork(nullptr, nullptr, [] { new (&made->mutex) std::mutex; });
    return *made;
  }();
  return sink;
}

constexpr const char* Name(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "?";
}

}  // namespace

void SetLogSink(hiera_log_fn function, void* user) {
  Sink& sink = TheSink();
  const std::lock_guard lock(sink.mutex);
  sink.function = function;
  sink.user = user;
}

void Log(LogLevel level, std::string_view text) {
  Sink& sink = TheSink();
  const std::string line(text);
  const std::lock_guard lock(sink.mutex);
  if (sink.function != nullptr) {
    sink.function(sink.user, static_cast<uint32_t>(level), line.c_str());
    return;
  }
  const int verbose = GetEnvironment().verbose;
  if (verbose == 0 || (verbose == 1 && level < LogLevel::kInfo)) return;
  const std::string message = std::string("hiera ") + Name(level) + ": " + line + "\n";
  // Best effort: where standard error is closed there is nowhere left to say so.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
}

}  // namespace hiera
