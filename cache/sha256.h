// Sha256Hasher: SHA-256 of bytes that arrive in pieces. Not thread-safe.
#ifndef HIERA_CACHE_SHA256_H_
#define HIERA_CACHE_SHA256_H_

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace hiera {

class Sha256Hasher {
 public:
  Sha256Hasher();
  ~Sha256Hasher();
  Sha256Hasher(const Sha256Hasher&) = delete;
  Sha256Hasher& operator=(const Sha256Hasher&) = delete;

  void Add(std::string_view bytes);
  // Lower-case hexadecimal; ends the hasher's use. Empty where the library failed.
  std::string Finish();

 private:
  evp_md_ctx_st* context_;
  bool failed_ = false;
};

// 64 lower-case hexadecimal digits: what may become part of a path.
bool IsSha256(std::string_view text);

}  // namespace hiera

#endif  // HIERA_CACHE_SHA256_H_
