#include "cache/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "cache/store.h"

namespace hiera {

Sha256Hasher::Sha256Hasher() : context_(EVP_MD_CTX_new()) {
  failed_ = context_ == nullptr || EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) != 1;
}

Sha256Hasher::~Sha256Hasher() { EVP_MD_CTX_free(context_); }

void Sha256Hasher::Add(std::string_view bytes) {
  if (!failed_) failed_ = EVP_DigestUpdate(context_, bytes.data(), bytes.size()) != 1;
}

std::string Sha256Hasher::Finish() {
  static constexpr char kDigits[] = "0123456789abcdef";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (failed_ || EVP_DigestFinal_ex(context_, digest, &size) != 1) return {};
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

bool IsSha256(std::string_view text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string Sha256(std::string_view bytes) {
  Sha256Hasher hasher;
  hasher.Add(bytes);
  return hasher.Finish();
}

Result<std::string> Sha256OfFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Unavailable("open " + path + ": " + std::strerror(errno));
  Sha256Hasher hasher;
  std::vector<char> buffer(256 << 10);
  ssize_t n;
  while ((n = read(fd, buffer.data(), buffer.size())) != 0) {
    if (n > 0) {
      hasher.Add({buffer.data(), static_cast<size_t>(n)});
    } else if (errno != EINTR) {
      break;
    }
  }
  const int error = errno;
  close(fd);
  if (n < 0) return Unavailable("read " + path + ": " + std::strerror(error));
  std::string hex = hasher.Finish();
  if (hex.empty()) return Internal("SHA-256 failed for " + path);
  return hex;
}

}  // namespace hiera
