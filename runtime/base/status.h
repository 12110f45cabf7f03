// Status and Result<T>: how every fallible function inside HIERA answers. No exception crosses a
// folder; a function that can fail returns one of these and the caller must look at it.
// Values are immutable after construction apart from assignment; no thread safety of their own.
#ifndef HIERA_RUNTIME_BASE_STATUS_H_
#define HIERA_RUNTIME_BASE_STATUS_H_

#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "hiera/hiera.h"

namespace hiera {

// The codes of the C API, so that a status passes the boundary unchanged.
enum class Code : int32_t {
  kOk = HIERA_OK,
  kInvalidArgument = HIERA_INVALID_ARGUMENT,
  kUnsupported = HIERA_UNSUPPORTED,
  kOutOfMemory = HIERA_OUT_OF_MEMORY,
  kTimeout = HIERA_TIMEOUT,
  kDeviceError = HIERA_DEVICE_ERROR,
  kInternal = HIERA_INTERNAL,
  kUnavailable = HIERA_UNAVAILABLE,
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {
    assert(code != Code::kOk);
  }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

inline Status InvalidArgument(std::string m) { return {Code::kInvalidArgument, std::move(m)}; }
inline Status Unsupported(std::string m) { return {Code::kUnsupported, std::move(m)}; }
inline Status OutOfMemory(std::string m) { return {Code::kOutOfMemory, std::move(m)}; }
inline Status Timeout(std::string m) { return {Code::kTimeout, std::move(m)}; }
inline Status DeviceError(std::string m) { return {Code::kDeviceError, std::move(m)}; }
inline Status Internal(std::string m) { return {Code::kInternal, std::move(m)}; }
inline Status Unavailable(std::string m) { return {Code::kUnavailable, std::move(m)}; }

// Either a value or the status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT: converts on purpose
  Result(Status status) : status_(std::move(status)) { assert(!status_.ok()); }  // NOLINT

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // The value; only where ok().
  T& operator*() & { return value_.value(); }
  const T& operator*() const& { return value_.value(); }
  T&& operator*() && { return std::move(value_).value(); }
  T* operator->() { return &value_.value(); }
  const T* operator->() const { return &value_.value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace hiera

// Returns the status of `expression` from the calling function where it is not success.
#define HIERA_RETURN_IF_ERROR(expression)          \
  do {                                             \
    ::hiera::Status hiera_status_ = (expression);  \
    if (!hiera_status_.ok()) return hiera_status_; \
  } while (false)

#endif  // HIERA_RUNTIME_BASE_STATUS_H_
