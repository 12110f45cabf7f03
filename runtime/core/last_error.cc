#include "runtime/core/last_error.h"

#include <algorithm>
#include <cstring>

namespace hiera {
namespace {

thread_local char t_last_error[kLastErrorBytes];

}  // namespace

void SetLastError(std::string_view text) noexcept {
  const size_t size = std::min(text.size(), kLastErrorBytes - 1);
  std::memcpy(t_last_error, text.data(), size);
  t_last_error[size] = '\0';
}

const char* LastError() noexcept { return t_last_error; }

}  // namespace hiera
