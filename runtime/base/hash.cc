#include "runtime/base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hiera {

std::string Hash128::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(32, '0');
  for (int i = 0; i < 16; ++i) {
    hex[15 - i] = kDigits[(high >> (4 * i)) & 15];
    hex[31 - i] = kDigits[(low >> (4 * i)) & 15];
  }
  return hex;
}

Result<Hash128> Hash128::FromHex(std::string_view hex) {
  if (hex.size() != 32) return InvalidArgument("a key has 32 hexadecimal digits");
  uint64_t words[2] = {0, 0};
  for (size_t i = 0; i < 32; ++i) {
    const char c = hex[i];
    uint64_t digit;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return InvalidArgument("a key has 32 lower-case hexadecimal digits");
    }
    words[i / 16] = words[i / 16] << 4 | digit;
  }
  return Hash128{words[0], words[1]};
}

Hash128 HashBytes(std::string_view bytes) {
  const XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.high64, h.low64};
}

uint64_t Checksum64(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace hiera
