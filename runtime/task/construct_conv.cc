// MakeConv: see constructors.h and hiera_conv. Groups are an axis of their own before the channels
// of X, the filters of W and of Y, which the dense layouts allow as they are.
#include <string>
#include <utility>
#include <vector>

#include "runtime/task/constructors.h"
#include "runtime/task/descriptor.h"
#include "runtime/task/limits.h"

namespace hiera {
namespace {

int64_t OrOne(int64_t value) { return value == 0 ? 1 : value; }

Status CheckFields(const hiera_conv& c) {
  HIERA_RETURN_IF_ERROR(CheckReal("dtype", c.dtype));
  HIERA_RETURN_IF_ERROR(CheckRange("spatial_rank", c.spatial_rank, 1, HIERA_MAX_SPATIAL));
  HIERA_RETURN_IF_ERROR(CheckRange("channels_last", c.channels_last, 0, 1));
  HIERA_RETURN_IF_ERROR(CheckRange("has_bias", c.has_bias, 0, 1));
  HIERA_RETURN_IF_ERROR(CheckRange("activation", c.activation, 0, HIERA_ACTIVATION_SIGMOID));
  HIERA_RETURN_IF_ERROR(CheckRange("n", c.n, 0, kMaxElements - 1));
  HIERA_RETURN_IF_ERROR(CheckRange("c", c.c, 0, kMaxElements - 1));
  HIERA_RETURN_IF_ERROR(CheckRange("f", c.f, 0, kMaxElements - 1));
  HIERA_RETURN_IF_ERROR(CheckRange("groups", c.groups, 0, kMaxElements - 1));
  const int64_t groups = OrOne(c.groups);
  if (c.c % groups != 0 || c.f % groups != 0) {
    return InvalidArgument("groups is " + std::to_string(groups) + ", which does not divide c = " +
                           std::to_string(c.c) + " and f = " + std::to_string(c.f));
  }
  for (uint32_t i = 0; i < c.spatial_rank; ++i) {
    const std::string axis = "[" + std::to_string(i) + "]";
    HIERA_RETURN_IF_ERROR(CheckRange("input" + axis, c.input[i], 0, kMaxCoefficient));
    HIERA_RETURN_IF_ERROR(CheckRange("kernel" + axis, c.kernel[i], 1, kMaxCoefficient));
    HIERA_RETURN_IF_ERROR(CheckRange("stride" + axis, c.stride[i], 0, kMaxCoefficient));
    HIERA_RETURN_IF_ERROR(CheckRange("dilation" + axis, c.dilation[i], 0, kMaxCoefficient));
    HIERA_RETURN_IF_ERROR(CheckRange("pad_begin" + axis, c.pad_begin[i], 0, kMaxCoefficient));
    HIERA_RETURN_IF_ERROR(CheckRange("pad_end" + axis, c.pad_end[i], 0, kMaxCoefficient));
  }
  return {};
}

Result<std::vector<int64_t>> OutputExtents(const hiera_conv& c) {
  std::vector<int64_t> extents;
  for (uint32_t i = 0; i < c.spatial_rank; ++i) {
    const std::string axis = "[" + std::to_string(i) + "]";
    const Result<int64_t> reach =
        CheckedProduct("dilation" + axis, OrOne(c.dilation[i]), c.kernel[i] - 1);
    if (!reach.ok()) return reach.status();
    const int64_t room = c.input[i] + c.pad_begin[i] + c.pad_end[i] - *reach - 1;
    if (room < 0) {
      return InvalidArgument("kernel" + axis + " is " + std::to_string(c.kernel[i]) +
                             " and reaches over " + std::to_string(*reach + 1) +
                             " elements, more than input" + axis + " and its padding have");
    }
    extents.push_back(room / OrOne(c.stride[i]) + 1);
  }
  return extents;
}

// before, [groups,] channels and `spatial` in the order of the layout.
std::vector<int64_t> Extents(const hiera_conv& c, int64_t before, int64_t channels,
                             const std::vector<int64_t>& spatial, bool grouped) {
  std::vector<int64_t> extents = {before};
  if (c.channels_last) extents.insert(extents.end(), spatial.begin(), spatial.end());
  if (grouped) extents.push_back(OrOne(c.groups));
  extents.push_back(channels);
  if (!c.channels_last) extents.insert(extents.end(), spatial.begin(), spatial.end());
  return extents;
}

class ConvBuilder {
 public:
  ConvBuilder(const hiera_conv& conv, std::vector<int64_t> output)
      : conv_(conv), output_(std::move(output)), grouped_(OrOne(conv.groups) > 1) {}

  Result<Task> Build() {
    AddTensors();
    HIERA_RETURN_IF_ERROR(SetContract(conv_.contract, &task_));
    FormulaBuilder f(&task_);
    AddIndices(&f);
    const int product =
        f.Binary(Op::kMul, f.Load(0, Input()), f.Load(1, Axes(filter_, channel_, taps_, true)));
    std::vector<int> bound = {channel_};
    bound.insert(bound.end(), taps_.begin(), taps_.end());
    int value = f.Reduce(Reduction::kSum, std::move(bound), product);
    if (conv_.has_bias) {
      std::vector<Subscript> subscripts;
      if (grouped_) subscripts.push_back(PlainSubscript(group_));
      subscripts.push_back(PlainSubscript(filter_));
      value = f.Binary(Op::kAdd, value, f.Load(3, std::move(subscripts)));
    }
    value = Activated(conv_.activation, value, &f);
    std::vector<int> indices;
    for (const Subscript& s : Axes(image_, filter_, places_, false)) {
      indices.push_back(s.affine.terms[0].first);
    }
    HIERA_RETURN_IF_ERROR(Finish("conv", 2, std::move(indices), value, &f, &task_));
    return std::move(task_);
  }

 private:
  void AddTensors() {
    const int64_t groups = OrOne(conv_.groups);
    const int64_t channels = conv_.c / groups;
    const int64_t filters = conv_.f / groups;
    const std::vector<int64_t> input(conv_.input, conv_.input + conv_.spatial_rank);
    const std::vector<int64_t> kernel(conv_.kernel, conv_.kernel + conv_.spatial_rank);
    TensorSpec x =
        DenseTensor("X", conv_.dtype, Extents(conv_, conv_.n, channels, input, grouped_));
    for (uint32_t i = 0; i < conv_.spatial_rank; ++i) {
      if (conv_.pad_begin[i] > 0 || conv_.pad_end[i] > 0) x.outside = Outside::kZero;
    }
    std::vector<int64_t> weights = Extents(conv_, filters, channels, kernel, false);
    if (grouped_) weights.insert(weights.begin(), groups);
    task_.tensors = {
        std::move(x), DenseTensor("W", conv_.dtype, std::move(weights)),
        DenseTensor("Y", conv_.dtype, Extents(conv_, conv_.n, filters, output_, grouped_))};
    if (conv_.has_bias) {
      std::vector<int64_t> extents = {filters};
      if (grouped_) extents.insert(extents.begin(), groups);
      task_.tensors.push_back(DenseTensor("bias", conv_.dtype, std::move(extents)));
    }
    task_.bound_count = static_cast<int>(task_.tensors.size());
  }

  void AddIndices(FormulaBuilder* f) {
    const int64_t groups = OrOne(conv_.groups);
    image_ = f->AddIndex("n", conv_.n);
    if (grouped_) group_ = f->AddIndex("g", groups);
    filter_ = f->AddIndex("f", conv_.f / groups);
    channel_ = f->AddIndex("c", conv_.c / groups);
    for (uint32_t i = 0; i < conv_.spatial_rank; ++i) {
      places_.push_back(f->AddIndex("y" + std::to_string(i), output_[i]));
      taps_.push_back(f->AddIndex("r" + std::to_string(i), conv_.kernel[i]));
    }
  }

  // The subscripts of W (group first) or, with an image before, of X and Y.
  std::vector<Subscript> Axes(int before, int channel, const std::vector<int>& spatial,
                              bool weights) const {
    std::vector<Subscript> axes;
    if (weights && grouped_) axes.push_back(PlainSubscript(group_));
    axes.push_back(PlainSubscript(before));
    auto add_spatial = [&] {
      for (const int index : spatial) axes.push_back(PlainSubscript(index));
    };
    if (conv_.channels_last) add_spatial();
    if (!weights && grouped_) axes.push_back(PlainSubscript(group_));
    axes.push_back(PlainSubscript(channel));
    if (!conv_.channels_last) add_spatial();
    return axes;
  }

  std::vector<Subscript> Input() const {
    std::vector<Subscript> axes = Axes(image_, channel_, places_, false);
    for (Subscript& axis : axes) {
      for (uint32_t i = 0; i < conv_.spatial_rank; ++i) {
        if (axis.affine.terms[0].first != places_[i]) continue;
        axis.affine.terms = {{places_[i], OrOne(conv_.stride[i])},
                             {taps_[i], OrOne(conv_.dilation[i])}};
        axis.affine.offset = -conv_.pad_begin[i];
        break;
      }
    }
    return axes;
  }

  const hiera_conv& conv_;
  std::vector<int64_t> output_;
  bool grouped_;
  Task task_;
  int image_ = -1, group_ = -1, filter_ = -1, channel_ = -1;
  std::vector<int> places_, taps_;
};

}  // namespace

Result<Task> MakeConv(const hiera_conv& conv) {
  HIERA_RETURN_IF_ERROR(CheckFields(conv));
  Result<std::vector<int64_t>> output = OutputExtents(conv);
  if (!output.ok()) return output.status();
  return ConvBuilder(conv, std::move(*output)).Build();
}

}  // namespace hiera
