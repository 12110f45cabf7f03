// Classification: which family a task belongs to, and the view of it that policies and libraries
// map to templates and calls. Derived from the formula alone, however it was spelt. Pure functions.
#ifndef HIERA_RUNTIME_TASK_CLASSIFY_H_
#define HIERA_RUNTIME_TASK_CLASSIFY_H_

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/task/task.h"

namespace hiera {

enum class TaskClass : uint8_t {
  kGemm,
  kBatchedGemm,
  kConv,
  kStencil,    // one output, all reads of tensors of its rank at constant offsets from the output
               // index
  kRowWise,    // reductions or scans over one or more trailing output axes' rows, then pointwise
  kPointwise,  // no reduction, no scan, reads at permuted or broadcast indices
  kGeneric,
};
std::string_view TaskClassName(TaskClass c);  // "gemm", "batched gemm", "conv", ...

TaskClass Classify(const Task& task);

// C[b..., m, n] = activation(alpha * sum_k A[b..., m, k] * B[b..., k, n] + beta * C + bias).
// Strides are in elements. An operand that is constant along a batch axis has stride 0 there.
struct GemmView {
  struct BatchAxis {
    int64_t extent;
    int64_t stride_a, stride_b, stride_c, stride_bias;
  };
  int64_t m = 1, n = 1, k = 1;
  int a = -1, b = -1, c = -1;  // bound tensors
  int64_t a_m = 0, a_k = 0;    // stride of A along m, along k
  int64_t b_k = 0, b_n = 0;
  int64_t c_m = 0, c_n = 0;
  std::vector<BatchAxis> batch;  // outermost first
  // A factor is the constant `value`, or scalars[scalar] where scalar >= 0. beta 0: C is not read.
  struct Factor {
    double value = 0;
    int scalar = -1;
  };
  Factor alpha{1, -1};
  Factor beta{0, -1};
  int bias = -1;  // bound tensor
  int64_t bias_m = 0, bias_n = 0;
  std::vector<Op> activation;  // unary operations, applied in this order

  int64_t batch_count() const;
};
// A gemm or batched gemm seen as one; empty for anything else. A matrix-vector product has n = 1
// or m = 1.
std::optional<GemmView> AsGemm(const Task& task);

struct StencilView {
  struct Read {
    int tensor;                   // bound
    std::vector<int64_t> offset;  // one per axis
    int node;                     // the kLoad
  };
  int output = -1;
  int state = -1;           // the tensor that carries, or the one with offset reads; -1: several
  std::vector<Read> reads;  // all loads, deduplicated by (tensor, offset)
  std::vector<int64_t> extent;     // of the output
  std::vector<int64_t> low, high;  // per axis: the largest reach below and above, both >= 0
  Outside outside = Outside::kRefuse;
  // Where the value is a linear combination of the state's reads with constant coefficients: one
  // per entry of `reads`. Empty otherwise.
  std::vector<double> coefficients;
};
std::optional<StencilView> AsStencil(const Task& task);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CLASSIFY_H_
