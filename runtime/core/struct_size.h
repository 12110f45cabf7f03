// The rule of the C API for structs that grow: they begin with struct_size, fields are only ever
// appended, and zero means the default. A caller built against an older header passes a shorter
// struct, whose missing fields read as zero; one built against a newer header passes a longer one,
// whose unknown fields must be zero. Pure functions.
#ifndef HIERA_RUNTIME_CORE_STRUCT_SIZE_H_
#define HIERA_RUNTIME_CORE_STRUCT_SIZE_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "runtime/base/status.h"

namespace hiera {

inline constexpr uint32_t kLargestStruct = 4096;  // larger sizes were never set by an _INIT macro

template <typename T>
Status CheckStructSize(const T* given, const char* name) {
  if (given == nullptr) return InvalidArgument(std::string(name) + " is NULL");
  const uint32_t size = given->struct_size;
  if (size < alignof(T) || size > kLargestStruct || size % alignof(T) != 0) {
    return InvalidArgument(std::string(name) + ".struct_size is " + std::to_string(size) +
                           "; start the struct from its _INIT macro");
  }
  return {};
}

// Errors: kInvalidArgument, naming struct_size.
template <typename T>
Status CopyIn(const T* given, const char* name, T* copy) {
  HIERA_RETURN_IF_ERROR(CheckStructSize(given, name));
  const uint32_t size = given->struct_size;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (uint32_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] == 0) continue;
    return InvalidArgument(std::string(name) + ".struct_size is " + std::to_string(size) +
                           ", and byte " + std::to_string(i) +
                           " sets a field that this version of the library does not know");
  }
  *copy = T{};
  std::memcpy(copy, given, std::min<size_t>(size, sizeof(T)));
  copy->struct_size = sizeof(T);
  return {};
}

// Writes the fields that the caller's struct has, and zeros where it has more than we know; its
// struct_size stays. Errors: as CopyIn.
template <typename T>
Status CopyOut(const T& from, const char* name, T* given) {
  HIERA_RETURN_IF_ERROR(CheckStructSize(given, name));
  const uint32_t size = given->struct_size;
  auto* bytes = reinterpret_cast<unsigned char*>(given);
  std::memcpy(bytes, &from, std::min<size_t>(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(bytes + sizeof(T), 0, size - sizeof(T));
  given->struct_size = size;
  return {};
}

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_STRUCT_SIZE_H_
