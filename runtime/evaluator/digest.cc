#include "runtime/evaluator/digest.h"

#include <openssl/sha.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace hiera {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

}  // namespace

std::string DigestOf(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Result<std::string> DigestOfFile(const std::string& path) {
  auto content = ReadFile(path);
  if (!content.ok()) return content.status();
  return DigestOf(*content);
}

Result<std::string> ReadFile(const std::string& path) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "re"));
  if (file == nullptr) return Unavailable("cannot read " + path + ": " + std::strerror(errno));
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const size_t got = std::fread(buffer, 1, sizeof buffer, file.get());
    content.append(buffer, got);
    if (got < sizeof buffer) break;
  }
  if (std::ferror(file.get())) return Unavailable("cannot read " + path);
  return content;
}

Status WriteFile(const std::string& path, std::string_view content) {
  const std::string fresh = path + ".new";
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(fresh.c_str(), "we"));
  if (file == nullptr) return Unavailable("cannot write " + fresh + ": " + std::strerror(errno));
  const bool written = std::fwrite(content.data(), 1, content.size(), file.get()) == content.size();
  const bool closed = std::fclose(file.release()) == 0;
  if (!written || !closed || std::rename(fresh.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(fresh.c_str());
    return Unavailable("cannot write " + path + ": " + std::strerror(error));
  }
  return {};
}

}  // namespace hiera
