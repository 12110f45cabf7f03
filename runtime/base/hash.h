// Hash128: the 128-bit XXH3 hash of a byte string, used for keys and for noticing corruption. It is
// not a cryptographic hash: what must resist forgery (artifacts) is named by SHA-256 in cache/.
#ifndef HIERA_RUNTIME_BASE_HASH_H_
#define HIERA_RUNTIME_BASE_HASH_H_

#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace hiera {

struct Hash128 {
  uint64_t high = 0;
  uint64_t low = 0;

  friend auto operator<=>(const Hash128&, const Hash128&) = default;

  // 32 lower-case hexadecimal digits, most significant first.
  std::string ToHex() const;
  static Result<Hash128> FromHex(std::string_view hex);
};

Hash128 HashBytes(std::string_view bytes);    // XXH3, 128 bits, seed 0
uint64_t Checksum64(std::string_view bytes);  // XXH3, 64 bits, seed 0

}  // namespace hiera

template <>
struct std::hash<hiera::Hash128> {
  size_t operator()(const hiera::Hash128& h) const noexcept { return h.low; }
};

#endif  // HIERA_RUNTIME_BASE_HASH_H_
