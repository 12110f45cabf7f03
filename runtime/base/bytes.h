// ByteWriter and ByteReader: little-endian encoding of the project's records and messages. The
// reader never reads past its input: after the first short or over-long field it stays failed and
// yields zeros and empty strings, so a decoder checks ok() once, at its end.
// Not thread-safe; a reader borrows its bytes.
#ifndef HIERA_RUNTIME_BASE_BYTES_H_
#define HIERA_RUNTIME_BASE_BYTES_H_

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace hiera {

static_assert(std::endian::native == std::endian::little, "records are little-endian in memory");

class ByteWriter {
 public:
  void U8(uint8_t v) { Raw(&v, sizeof v); }
  void U32(uint32_t v) { Raw(&v, sizeof v); }
  void U64(uint64_t v) { Raw(&v, sizeof v); }
  void I64(int64_t v) { Raw(&v, sizeof v); }
  void F64(double v) { Raw(&v, sizeof v); }
  // A 32-bit length, then the bytes.
  void String(std::string_view s) {
    U32(static_cast<uint32_t>(s.size()));
    bytes_.append(s);
  }

  const std::string& bytes() const& { return bytes_; }
  std::string bytes() && { return std::move(bytes_); }

 private:
  void Raw(const void* data, size_t size) { bytes_.append(static_cast<const char*>(data), size); }
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  uint8_t U8() { return Raw<uint8_t>(); }
  uint32_t U32() { return Raw<uint32_t>(); }
  uint64_t U64() { return Raw<uint64_t>(); }
  int64_t I64() { return Raw<int64_t>(); }
  double F64() { return Raw<double>(); }
  std::string String() { return std::string(View()); }
  std::string_view View() {
    const uint32_t size = U32();
    if (size > rest_.size()) failed_ = true;
    if (failed_) return {};
    const std::string_view view = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return view;
  }

  // Every field so far was there.
  bool ok() const { return !failed_; }
  // ... and nothing is left over.
  bool done() const { return !failed_ && rest_.empty(); }

 private:
  template <typename T>
  T Raw() {
    T v{};
    if (sizeof v > rest_.size()) failed_ = true;
    if (failed_) return v;
    std::memcpy(&v, rest_.data(), sizeof v);
    rest_.remove_prefix(sizeof v);
    return v;
  }
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_BASE_BYTES_H_
