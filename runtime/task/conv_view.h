// ConvView: the view of a convolution that libraries map to a call. Derived from the formula alone,
// however it was spelt. Pure functions.
#ifndef HIERA_RUNTIME_TASK_CONV_VIEW_H_
#define HIERA_RUNTIME_TASK_CONV_VIEW_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

// Y[n,g,f,y...] = activation(sum(c,r...: X[n,g,c,stride*y+dilation*r-pad] * W[g,f,c,r...]) +
// bias[g,f]). Strides in elements; an axis that the task does not have is one of extent 1.
struct ConvView {
  struct Spatial {
    int64_t input = 1, output = 1, taps = 1;
    int64_t stride = 1, dilation = 1;
    int64_t pad_before = 0, pad_after = 0;  // the same where that makes the same output
    int64_t x = 0, w = 0, y = 0;            // strides
  };
  int x = -1, w = -1, y = -1, bias = -1;                      // bound tensors
  int64_t images = 1, groups = 1, channels = 1, filters = 1;  // channels, filters: of one group
  int64_t x_image = 0, x_group = 0, x_channel = 0;
  int64_t w_group = 0, w_filter = 0, w_channel = 0;
  int64_t y_image = 0, y_group = 0, y_filter = 0;
  int64_t bias_group = 0, bias_filter = 0;
  std::vector<Spatial> spatial;  // in the order of X's axes
  std::vector<Op> activation;    // unary operations, applied in this order
};

// Errors: kUnsupported with the reason, for anything that is no such convolution.
Result<ConvView> AsConv(const Task& task);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CONV_VIEW_H_
