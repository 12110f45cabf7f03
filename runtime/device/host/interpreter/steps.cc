#include "runtime/device/host/interpreter/steps.h"

#include <cstring>

namespace hiera::interpreter {
namespace {

void CopyAxis(const View& from, const View& to, const Buffer& shape, size_t axis,
              int64_t from_offset, int64_t to_offset) {
  const int64_t bytes = StorageBytes(shape.storage);
  if (axis == shape.extents.size()) {
    std::memcpy(to.base + to_offset * bytes, from.base + from_offset * bytes, bytes);
    return;
  }
  const bool row =
      axis + 1 == shape.extents.size() && from.strides[axis] == 1 && to.strides[axis] == 1;
  if (row) {
    std::memcpy(to.base + to_offset * bytes, from.base + from_offset * bytes,
                shape.extents[axis] * bytes);
    return;
  }
  for (int64_t i = 0; i < shape.extents[axis]; ++i) {
    CopyAxis(from, to, shape, axis + 1, from_offset + i * from.strides[axis],
             to_offset + i * to.strides[axis]);
  }
}

}  // namespace

void CopyTensor(const View& from, const View& to, const Buffer& shape) {
  for (const int64_t extent : shape.extents) {
    if (extent == 0) return;
  }
  CopyAxis(from, to, shape, 0, 0, 0);
}

}  // namespace hiera::interpreter
