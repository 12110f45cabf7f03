#include "runtime/task/tensor.h"

#include <algorithm>
#include <array>
#include <string>

#include "runtime/task/limits.h"

namespace hiera {
namespace {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  int64_t size;
};
constexpr std::array<DTypeRow, 6> kDTypes = {{{DType::kF64, "f64", 8},
                                              {DType::kF32, "f32", 4},
                                              {DType::kF16, "f16", 2},
                                              {DType::kBF16, "bf16", 2},
                                              {DType::kI32, "i32", 4},
                                              {DType::kBool, "bool", 1}}};

constexpr std::array<std::string_view, 5> kOutsideNames = {"refuse", "zero", "clamp", "wrap",
                                                           "keep"};

const DTypeRow* Find(DType dtype) {
  for (const DTypeRow& row : kDTypes) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

}  // namespace

int64_t SizeOf(DType dtype) {
  const DTypeRow* row = Find(dtype);
  return row ? row->size : 0;
}

bool IsReal(DType dtype) { return dtype != DType::kI32 && dtype != DType::kBool; }

std::string_view DTypeName(DType dtype) {
  const DTypeRow* row = Find(dtype);
  return row ? row->name : "unknown";
}

Result<DType> DTypeFromName(std::string_view name) {
  for (const DTypeRow& row : kDTypes) {
    if (row.name == name) return row.dtype;
  }
  return InvalidArgument("unknown element type " + Quoted(name) +
                         " (f64, f32, f16, bf16, i32 or bool)");
}

std::string_view OutsideName(Outside rule) {
  const size_t i = static_cast<size_t>(rule);
  return i < kOutsideNames.size() ? kOutsideNames[i] : "unknown";
}

Result<Outside> OutsideFromName(std::string_view name) {
  for (size_t i = 0; i < kOutsideNames.size(); ++i) {
    if (kOutsideNames[i] == name) return static_cast<Outside>(i);
  }
  return InvalidArgument("unknown rule " + Quoted(name) +
                         " for reads outside (refuse, zero, clamp, wrap or keep)");
}

int64_t TensorSpec::elements() const {
  int64_t product = 1;
  for (const int64_t e : extents) product *= e;
  return product;
}

int64_t TensorSpec::span_bytes() const {
  int64_t last = 0;
  for (size_t i = 0; i < extents.size(); ++i) {
    if (extents[i] == 0) return 0;
    last += (extents[i] - 1) * strides[i];
  }
  return (last + 1) * SizeOf(dtype);
}

std::vector<int64_t> DenseStrides(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t i = extents.size(); i-- > 0;) {
    strides[i] = stride;
    // Wraps only where Validate refuses the extents; an extent of 0 leaves the outer strides as if
    // it were 1.
    stride = static_cast<int64_t>(static_cast<uint64_t>(stride) *
                                  static_cast<uint64_t>(std::max<int64_t>(extents[i], 1)));
  }
  return strides;
}

Status Validate(const TensorSpec& tensor) {
  const std::string who = "tensor " + Quoted(tensor.name) + ": ";
  if (Find(tensor.dtype) == nullptr) {
    return InvalidArgument(who + "dtype " + std::to_string(static_cast<int>(tensor.dtype)) +
                           " is unknown");
  }
  if (static_cast<size_t>(tensor.outside) >= kOutsideNames.size()) {
    return InvalidArgument(who + "outside " + std::to_string(static_cast<int>(tensor.outside)) +
                           " is no rule for reads outside");
  }
  if (tensor.rank() > kMaxRank) {
    return InvalidArgument(who + "rank " + std::to_string(tensor.rank()) + " is above " +
                           std::to_string(kMaxRank));
  }
  if (tensor.strides.size() != tensor.extents.size()) {
    return InvalidArgument(who + std::to_string(tensor.strides.size()) + " strides for " +
                           std::to_string(tensor.rank()) + " extents (one stride an axis)");
  }
  __int128 elements = 1;
  __int128 span = 1;
  bool empty = false;
  for (int i = 0; i < tensor.rank(); ++i) {
    const std::string axis = "[" + std::to_string(i) + "] = ";
    if (tensor.extents[i] < 0 || tensor.extents[i] >= kMaxElements) {
      return InvalidArgument(who + "extent" + axis + std::to_string(tensor.extents[i]) +
                             " (0 to 2^62 - 1)");
    }
    if (tensor.strides[i] < 0 || tensor.strides[i] >= kMaxElements) {
      return InvalidArgument(who + "stride" + axis + std::to_string(tensor.strides[i]) +
                             " (0 to 2^62 - 1; negative strides are not supported)");
    }
    empty |= tensor.extents[i] == 0;
    elements *= std::max<int64_t>(tensor.extents[i], 1);
    span += static_cast<__int128>(std::max<int64_t>(tensor.extents[i], 1) - 1) * tensor.strides[i];
    if (elements >= kMaxElements || span * SizeOf(tensor.dtype) >= kMaxElements) {
      return InvalidArgument(who + "extents and strides reach past 2^62");
    }
  }
  return {};
}

bool OverlapsItself(const TensorSpec& tensor) {
  // Axes by growing stride: an axis is clear of the smaller ones where its stride is above their
  // combined reach. Layouts that interleave and are free of overlap all the same (strides 2 and 3,
  // extents 2 and 2) are taken to overlap: none occurs in practice, and refusing is the safe
  // answer.
  std::vector<std::pair<int64_t, int64_t>> axes;  // stride, extent
  for (int i = 0; i < tensor.rank(); ++i) {
    if (tensor.extents[i] == 0) return false;
    if (tensor.extents[i] > 1) axes.emplace_back(tensor.strides[i], tensor.extents[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t reach = 0;
  for (const auto& [stride, extent] : axes) {
    if (stride <= reach) return true;
    reach += stride * (extent - 1);
  }
  return false;
}

}  // namespace hiera
