// TensorSpec: the layout of one bound tensor. A plain value.
#ifndef HIERA_RUNTIME_TASK_TENSOR_H_
#define HIERA_RUNTIME_TASK_TENSOR_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace hiera {

// Element types. The numbers are those of the C API and of stored records: append only.
enum class DType : uint8_t {
  kF64 = HIERA_F64,    // IEEE 754 binary64
  kF32 = HIERA_F32,    // IEEE 754 binary32
  kF16 = HIERA_F16,    // IEEE 754 binary16
  kBF16 = HIERA_BF16,  // the upper half of a binary32, rounded to nearest even
  kI32 = HIERA_I32,    // two's complement
  kBool = HIERA_BOOL,  // one byte, 0 or 1; any other value reads as true
};

int64_t SizeOf(DType dtype);              // bytes of one element
bool IsReal(DType dtype);                 // f64, f32, f16, bf16
std::string_view DTypeName(DType dtype);  // "f32", as in formulas
Result<DType> DTypeFromName(std::string_view name);

// What a read outside a tensor means. kRefuse: the task is rejected if such a read can happen.
enum class Outside : uint8_t {
  kRefuse = HIERA_OUTSIDE_REFUSE,
  kZero = HIERA_OUTSIDE_ZERO,    // the read yields 0
  kClamp = HIERA_OUTSIDE_CLAMP,  // the nearest element inside, axis by axis
  kWrap = HIERA_OUTSIDE_WRAP,    // periodic, axis by axis
  kKeep = HIERA_OUTSIDE_KEEP,    // the output element that needs the read is not written
};
std::string_view OutsideName(Outside rule);  // "zero", ...; "refuse" for kRefuse
Result<Outside> OutsideFromName(std::string_view name);

inline constexpr int kMaxRank = 8;
inline constexpr int64_t kWideAlignment = 16;  // bytes: the wider of the two alignment classes

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> extents;  // each >= 0; rank 0 is one element
  std::vector<int64_t> strides;  // in elements, each >= 0; same length as extents
  Outside outside = Outside::kRefuse;

  int rank() const { return static_cast<int>(extents.size()); }
  int64_t elements() const;    // product of the extents
  int64_t span_bytes() const;  // from the first element to the end of the last; 0 where empty

  friend bool operator==(const TensorSpec&, const TensorSpec&) = default;
};

// Row-major strides without gaps.
std::vector<int64_t> DenseStrides(const std::vector<int64_t>& extents);

// Ranks, extents and strides in range, and span_bytes() below 2^62. Names the field at fault.
Status Validate(const TensorSpec& tensor);

// Whether two different index tuples may reach one element (a zero stride, or overlapping rows).
// Such a tensor may be read, but not written. Layouts whose axes interleave without meeting are
// taken to overlap.
bool OverlapsItself(const TensorSpec& tensor);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_TENSOR_H_
