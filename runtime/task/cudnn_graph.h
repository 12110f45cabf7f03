// CudnnGraph: a convolution task as an operation graph of cuDNN's backend, and CudnnEngine: one way
// to run it, by structure. Plain values derived from the task alone, or read from a text; pure
// functions.
#ifndef HIERA_RUNTIME_TASK_CUDNN_GRAPH_H_
#define HIERA_RUNTIME_TASK_CUDNN_GRAPH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

// y = activation(conv(x, w) + bias): cross-correlation, then up to two pointwise operations, whose
// inputs are virtual tensors. Axes are image, channel, spatial...; at least two spatial ones.
struct CudnnGraph {
  struct Tensor {
    int number = -1;  // bound tensor
    std::vector<int64_t> extents, strides;

    friend bool operator==(const Tensor&, const Tensor&) = default;
  };
  DType dtype = DType::kF32;    // of every tensor
  DType compute = DType::kF32;  // f32 or f64
  bool tf32 = false;            // engines may round f32 operands to TF32
  bool deterministic = false;   // engines whose results differ from run to run are left out
  Tensor x, w, y, bias;         // bias.number -1: none
  std::vector<int64_t> pad_before, pad_after, stride, dilation;
  std::vector<Op> activation;  // at most one of relu, gelu, silu, tanh, sigmoid
  int64_t alignment = 1;       // bytes that every address is a multiple of

  // "cudnn_conv compute=f32 type=f16 x=t0:32,64,56,56:200704,1,3584,64 ...": equal texts are equal
  // graphs.
  std::string Text() const;
  double flops() const;  // multiply-adds of the convolution count twice

  friend bool operator==(const CudnnGraph&, const CudnnGraph&) = default;
};

// The task as a graph; plain f32 never becomes TF32 unless the contract admits it. Errors:
// kUnsupported with the reason.
Result<CudnnGraph> CudnnGraphOf(const Task& task);

// An engine by its number and the values of its knobs, sorted by knob. Both are cuDNN's own and
// mean the same only in the version that gave them, which a variant therefore requires.
struct CudnnEngine {
  int64_t id = 0;
  std::vector<std::pair<int64_t, int64_t>> knobs;  // cudnnBackendKnobType_t -> value

  std::string Text() const;  // "engine=38 k2=1 k13=0"
  friend bool operator==(const CudnnEngine&, const CudnnEngine&) = default;
  friend auto operator<=>(const CudnnEngine&, const CudnnEngine&) = default;
};

// Reads back what Text wrote, and nothing else. Errors: kInvalidArgument, naming what is wrong.
Result<CudnnEngine> ParseCudnnEngine(std::string_view text);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CUDNN_GRAPH_H_
