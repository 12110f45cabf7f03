// Walking over the elements of a strided tensor. Pure functions.
#ifndef HIERA_RUNTIME_EVALUATOR_ELEMENTS_H_
#define HIERA_RUNTIME_EVALUATOR_ELEMENTS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/task/tensor.h"

namespace hiera {

// Calls row(position, count, stride) for every row along the last axis of a tensor, positions and
// strides in elements from its first one. A tensor of rank 0 is one row of one element.
template <typename Row>
void ForEachRow(const TensorSpec& tensor, Row&& row) {
  if (tensor.elements() == 0) return;
  const int outer = std::max(tensor.rank() - 1, 0);
  const int64_t count = tensor.rank() == 0 ? 1 : tensor.extents.back();
  const int64_t stride = tensor.rank() == 0 ? 1 : tensor.strides.back();
  std::vector<int64_t> at(outer, 0);
  int64_t position = 0;
  for (;;) {
    row(position, count, stride);
    int axis = outer - 1;
    for (; axis >= 0; --axis) {
      position += tensor.strides[axis];
      if (++at[axis] < tensor.extents[axis]) break;
      position -= tensor.strides[axis] * tensor.extents[axis];
      at[axis] = 0;
    }
    if (axis < 0) return;
  }
}

// Whether the elements fill the tensor's span without gaps.
inline bool FillsItsSpan(const TensorSpec& tensor) {
  return tensor.elements() * SizeOf(tensor.dtype) == tensor.span_bytes();
}

// "name[i,j]" of the element at a position, for people.
std::string ElementName(const TensorSpec& tensor, int64_t position);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_ELEMENTS_H_
