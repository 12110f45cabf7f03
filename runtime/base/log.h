// The only way the library speaks. Without a sink set by the application, messages go to standard
// error where HIERA_VERBOSE asks for them (1: information and above, 2: everything), and nowhere
// otherwise. The processes of the project install a sink that writes their log file.
// Any thread. A sink must not call HIERA.
#ifndef HIERA_RUNTIME_BASE_LOG_H_
#define HIERA_RUNTIME_BASE_LOG_H_

#include <string_view>

#include "hiera/hiera.h"

namespace hiera {

enum class LogLevel : uint32_t {
  kDebug = HIERA_LOG_DEBUG,
  kInfo = HIERA_LOG_INFO,
  kWarning = HIERA_LOG_WARNING,
  kError = HIERA_LOG_ERROR,
};

// Installs a sink, or removes it with null. Blocks until a call of the old sink has returned.
void SetLogSink(hiera_log_fn sink, void* user);

void Log(LogLevel level, std::string_view text);

}  // namespace hiera

#endif  // HIERA_RUNTIME_BASE_LOG_H_
