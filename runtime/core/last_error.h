// The detail of a thread's last failure. Kept in a fixed block of thread-local storage, so that an
// allocation that failed can be told of, and so that nothing is left to free when a thread ends.
#ifndef HIERA_RUNTIME_CORE_LAST_ERROR_H_
#define HIERA_RUNTIME_CORE_LAST_ERROR_H_

#include <string_view>

namespace hiera {

inline constexpr size_t kLastErrorBytes = 1024;  // longer text is cut

void SetLastError(std::string_view text) noexcept;
const char* LastError() noexcept;  // "" where nothing has failed in this thread

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_LAST_ERROR_H_
