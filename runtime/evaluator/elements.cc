#include "runtime/evaluator/elements.h"

#include <numeric>

namespace hiera {

std::string ElementName(const TensorSpec& tensor, int64_t position) {
  std::vector<int> axes(tensor.rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](int a, int b) { return tensor.strides[a] > tensor.strides[b]; });
  std::vector<int64_t> index(tensor.rank(), 0);
  for (const int axis : axes) {
    if (tensor.extents[axis] <= 1 || tensor.strides[axis] == 0) continue;
    index[axis] = std::min(position / tensor.strides[axis], tensor.extents[axis] - 1);
    position -= index[axis] * tensor.strides[axis];
  }
  std::string name = tensor.name;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    name += (axis == 0 ? "[" : ",") + std::to_string(index[axis]);
  }
  return tensor.rank() == 0 ? name : name + "]";
}

}  // namespace hiera
