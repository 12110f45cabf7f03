#include "runtime/task/cudnn_graph.h"

#include <algorithm>
#include <charconv>

#include "runtime/task/conv_view.h"

namespace hiera {
namespace {

std::string List(const std::vector<int64_t>& values) {
  std::string text;
  for (const int64_t value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

std::string TensorText(const CudnnGraph::Tensor& t) {
  return "t" + std::to_string(t.number) + ":" + List(t.extents) + ":" + List(t.strides);
}

const char* ActivationName(Op op) {
  switch (op) {
    case Op::kRelu:
      return "relu";
    case Op::kGelu:
      return "gelu";
    case Op::kSilu:
      return "silu";
    case Op::kTanh:
      return "tanh";
    case Op::kSigmoid:
      return "sigmoid";
    default:
      return nullptr;
  }
}

// Groups and channels as the one axis that cuDNN has; false where one stride does not say it.
bool Joined(int64_t groups, int64_t within, int64_t group_stride, int64_t stride,
            CudnnGraph::Tensor* tensor) {
  if (groups > 1 && within > 1 && group_stride != within * stride) return false;
  tensor->extents.push_back(groups * within);
  tensor->strides.push_back(within > 1 ? stride : groups > 1 ? group_stride : stride);
  return true;
}

// The stride of an axis of one element says nothing to us, but tells cuDNN the order of the axes:
// it becomes the size of all that lies inside the axis. Channels are innermost where `last`, else
// outside the spatial axes.
void SettleUnitStrides(bool last, CudnnGraph::Tensor* t) {
  const size_t rank = t->extents.size();
  for (size_t axis = 0; axis < rank; ++axis) {
    if (t->extents[axis] != 1) continue;
    int64_t inside = 1;
    for (size_t other = 0; other < rank; ++other) {
      const bool inner = axis == 1 ? !last && other > 1 : other > axis || (last && other == 1);
      if (inner && axis != other && t->extents[other] > 1) {
        inside = std::max(inside, t->extents[other] * t->strides[other]);
      }
    }
    t->strides[axis] = inside;
  }
}

Status AddSpatial(const ConvView& view, CudnnGraph* graph) {
  if (view.spatial.size() > 3) return Unsupported("cuDNN convolves along three axes at most");
  std::vector<ConvView::Spatial> spatial = view.spatial;
  while (spatial.size() < 2) spatial.insert(spatial.begin(), ConvView::Spatial{});
  for (const ConvView::Spatial& s : spatial) {
    graph->x.extents.push_back(s.input);
    graph->x.strides.push_back(s.x);
    graph->w.extents.push_back(s.taps);
    graph->w.strides.push_back(s.w);
    graph->y.extents.push_back(s.output);
    graph->y.strides.push_back(s.y);
    graph->pad_before.push_back(s.pad_before);
    graph->pad_after.push_back(s.pad_after);
    graph->stride.push_back(s.stride);
    graph->dilation.push_back(s.dilation);
  }
  return {};
}

Status CheckTypes(const Task& task, const ConvView& view, CudnnGraph* graph) {
  graph->dtype = task.tensors[view.x].dtype;
  for (const int tensor : {view.w, view.y, view.bias}) {
    if (tensor >= 0 && task.tensors[tensor].dtype != graph->dtype) {
      return Unsupported("operands of different element types");
    }
  }
  if (!IsReal(graph->dtype)) return Unsupported("no reals");
  if (task.contract.arithmetic == Arithmetic::kExact) {
    return Unsupported("a library does not promise the order of exact arithmetic");
  }
  graph->compute = task.contract.accumulate;
  if (graph->compute != (graph->dtype == DType::kF64 ? DType::kF64 : DType::kF32)) {
    return Unsupported("the sums are kept in " + std::string(DTypeName(graph->compute)) +
                       ", which cuDNN does not do for " + std::string(DTypeName(graph->dtype)));
  }
  graph->tf32 = graph->dtype == DType::kF32 && task.contract.arithmetic == Arithmetic::kTf32;
  graph->deterministic = task.contract.deterministic;
  graph->alignment = std::max(task.contract.alignment, SizeOf(graph->dtype));
  return {};
}

Status CheckFilled(const CudnnGraph& graph) {
  for (const CudnnGraph::Tensor* tensor : {&graph.x, &graph.w, &graph.y}) {
    for (const int64_t extent : tensor->extents) {
      if (extent == 0) return Unsupported("cuDNN refuses empty tensors");
    }
  }
  return {};
}

}  // namespace

std::string CudnnGraph::Text() const {
  std::string text = "cudnn_conv";
  const auto add = [&text](const char* name, const std::string& value) {
    text += std::string(" ") + name + "=" + value;
  };
  add("compute", tf32 ? "tf32" : std::string(DTypeName(compute)));
  add("type", std::string(DTypeName(dtype)));
  add("x", TensorText(x));
  add("w", TensorText(w));
  add("y", TensorText(y));
  add("pad", List(pad_before) + ":" + List(pad_after));
  add("stride", List(stride));
  add("dilation", List(dilation));
  if (bias.number >= 0) add("bias", TensorText(bias));
  for (const Op op : activation) add("then", ActivationName(op));
  if (deterministic) add("repeatable", "yes");
  add("align", std::to_string(alignment));
  return text;
}

double CudnnGraph::flops() const {
  double flops = 2;
  for (const int64_t extent : y.extents) flops *= static_cast<double>(extent);
  for (size_t i = 1; i < w.extents.size(); ++i) flops *= static_cast<double>(w.extents[i]);
  return flops;
}

Result<CudnnGraph> CudnnGraphOf(const Task& task) {
  const Result<ConvView> conv = AsConv(task);
  if (!conv.ok()) return conv.status();
  const ConvView& view = *conv;
  CudnnGraph graph;
  HIERA_RETURN_IF_ERROR(CheckTypes(task, view, &graph));
  if (view.activation.size() > 1) return Unsupported("more than one activation");
  for (const Op op : view.activation) {
    if (ActivationName(op) == nullptr) return Unsupported("no such activation in cuDNN");
  }
  graph.activation = view.activation;
  graph.x.number = view.x;
  graph.w.number = view.w;
  graph.y.number = view.y;
  graph.x.extents = {view.images};
  graph.x.strides = {view.x_image};
  graph.y.extents = {view.images};
  graph.y.strides = {view.y_image};
  if (!Joined(view.groups, view.channels, view.x_group, view.x_channel, &graph.x) ||
      !Joined(view.groups, view.filters, view.w_group, view.w_filter, &graph.w) ||
      !Joined(view.groups, view.filters, view.y_group, view.y_filter, &graph.y)) {
    return Unsupported("groups and channels do not lie side by side");
  }
  graph.w.extents.push_back(view.channels);
  graph.w.strides.push_back(view.w_channel);
  HIERA_RETURN_IF_ERROR(AddSpatial(view, &graph));
  HIERA_RETURN_IF_ERROR(CheckFilled(graph));
  const bool last = graph.x.extents[1] > 1 && graph.x.strides[1] == 1;
  for (CudnnGraph::Tensor* tensor : {&graph.x, &graph.w, &graph.y}) {
    SettleUnitStrides(last, tensor);
  }
  if (view.bias >= 0) {
    graph.bias.number = view.bias;
    graph.bias.extents = {1};
    graph.bias.strides = {1};
    if (!Joined(view.groups, view.filters, view.bias_group, view.bias_filter, &graph.bias)) {
      return Unsupported("groups and filters of the bias do not lie side by side");
    }
    if (graph.bias.extents[1] > 1 && graph.bias.strides[1] != 1) {
      return Unsupported("a bias with gaps");
    }
    graph.bias.extents.resize(graph.y.extents.size(), 1);
    // In the order of Y's axes: filters innermost, as both layouts can take it.
    graph.bias.strides.assign(graph.y.extents.size(), graph.bias.extents[1]);
    graph.bias.strides[1] = 1;
  }
  return graph;
}

std::string CudnnEngine::Text() const {
  std::string text = "engine=" + std::to_string(id);
  for (const auto& [knob, value] : knobs) {
    text += " k" + std::to_string(knob) + "=" + std::to_string(value);
  }
  return text;
}

Result<CudnnEngine> ParseCudnnEngine(std::string_view text) {
  const auto wrong = [text](const std::string& why) {
    return InvalidArgument("cuDNN engine \"" + std::string(text) + "\": " + why);
  };
  CudnnEngine engine;
  std::string_view rest = text;
  const auto number = [&rest](int64_t* value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), *value);
    if (error != std::errc()) return false;
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    return true;
  };
  const auto literal = [&rest](std::string_view expected) {
    if (rest.substr(0, expected.size()) != expected) return false;
    rest.remove_prefix(expected.size());
    return true;
  };
  if (!literal("engine=") || !number(&engine.id)) return wrong("engine=NUMBER comes first");
  while (!rest.empty()) {
    int64_t knob = 0;
    int64_t value = 0;
    if (!literal(" k") || !number(&knob) || !literal("=") || !number(&value)) {
      return wrong("kNUMBER=NUMBER is expected at \"" + std::string(rest) + "\"");
    }
    if (!engine.knobs.empty() && engine.knobs.back().first >= knob) {
      return wrong("knobs are sorted and stand once each");
    }
    engine.knobs.emplace_back(knob, value);
  }
  if (engine.Text() != text) return wrong("it is not in its canonical spelling");
  return engine;
}

}  // namespace hiera
