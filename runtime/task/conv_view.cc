// AsConv: every index gets a part by where it occurs: outputs that only X has are images, those
// only W has filters, those both have groups; sums that both have plainly are channels, those in a
// window of X taps.
#include "runtime/task/conv_view.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/task/affine.h"
#include "runtime/task/check.h"
#include "runtime/task/classify.h"
#include "runtime/task/linear_terms.h"

namespace hiera {
namespace {

using Strides = std::map<int, int64_t>;  // index -> stride

class ConvReader {
 public:
  explicit ConvReader(const Task& task) : task_(task), formula_(task.formula) {}

  Result<ConvView> Read() {
    if (Classify(task_) != TaskClass::kConv) return Unsupported("not a convolution");
    const Statement& statement = formula_.statements[0];
    view_.y = statement.output;
    for (size_t i = 0; i < statement.indices.size(); ++i) {
      out_[statement.indices[i]] = task_.tensors[view_.y].strides[i];
    }
    LinearTerms linear = LinearTermsOf(task_, statement.root);
    view_.activation = std::move(linear.activation);
    for (LinearTerm& term : linear.terms) HIERA_RETURN_IF_ERROR(ReadTerm(&term));
    HIERA_RETURN_IF_ERROR(ReadX());
    HIERA_RETURN_IF_ERROR(ReadRest());
    HIERA_RETURN_IF_ERROR(ReadBias());
    return std::move(view_);
  }

 private:
  int64_t Extent(int index) const { return formula_.indices[index].extent; }

  Status ReadTerm(LinearTerm* term) {
    int x = -1;
    int y = -1;
    if (!IsSumOfProducts(task_, term, &x, &y, &bound_)) {
      bias_ = &formula_.nodes[term->core[0]];
      if (term->factor != 1 || term->scalar >= 0) return Unsupported("a bias with a factor");
      view_.bias = bias_->target;
      return {};
    }
    if (term->factor != 1 || term->scalar >= 0 || !term->plain) {
      return Unsupported("a convolution with a factor");
    }
    std::vector<std::pair<int, int64_t>> strides;
    // The weights are read plainly, the image in windows.
    if (!PlainStrides(task_, formula_.nodes[y], &strides)) {
      std::swap(x, y);
      strides.clear();
      if (!PlainStrides(task_, formula_.nodes[y], &strides)) return Unsupported("no plain weights");
    }
    x_ = &formula_.nodes[x];
    view_.x = x_->target;
    view_.w = formula_.nodes[y].target;
    w_ = Strides(strides.begin(), strides.end());
    return {};
  }

  Status ReadX() {
    if (task_.tensors[view_.x].outside != Outside::kZero && CanReadOutside(task_, view_.x)) {
      return Unsupported("reads outside the image are not zero");
    }
    for (size_t axis = 0; axis < x_->subscripts.size(); ++axis) {
      const Affine& affine = x_->subscripts[axis].affine;
      const int64_t stride = task_.tensors[view_.x].strides[axis];
      if (affine.terms.empty()) {
        if (affine.offset != 0) return Unsupported("a fixed position of the image");
        continue;
      }
      if (IsPlain(affine)) {
        HIERA_RETURN_IF_ERROR(ReadPlain(affine.terms[0].first, static_cast<int>(axis), stride));
      } else {
        HIERA_RETURN_IF_ERROR(ReadWindow(affine, static_cast<int>(axis), stride));
      }
    }
    return {};
  }

  Status ReadPlain(int index, int axis, int64_t stride) {
    const bool in_output = out_.count(index) > 0;
    const bool in_weights = w_.count(index) > 0;
    if (in_output && in_weights) {
      if (has_group_) return Unsupported("two axes of groups");
      has_group_ = true;
      view_.groups = Extent(index);
      view_.x_group = stride;
      view_.w_group = w_[index];
      view_.y_group = out_[index];
    } else if (in_output && !has_image_) {
      has_image_ = true;
      view_.images = Extent(index);
      view_.x_image = stride;
      view_.y_image = out_[index];
    } else if (in_output) {  // one more axis that the weights know nothing of: one tap
      ConvView::Spatial s;
      s.input = task_.tensors[view_.x].extents[axis];
      s.output = Extent(index);
      s.x = stride;
      s.y = out_[index];
      view_.spatial.push_back(s);
    } else {
      if (has_channel_) return Unsupported("two axes of channels");
      has_channel_ = true;
      view_.channels = Extent(index);
      view_.x_channel = stride;
      view_.w_channel = w_[index];
    }
    seen_.push_back(index);
    return {};
  }

  Status ReadWindow(const Affine& affine, int axis, int64_t stride) {
    ConvView::Spatial s;
    s.input = task_.tensors[view_.x].extents[axis];
    s.x = stride;
    bool placed = false;
    for (const auto& [index, step] : affine.terms) {
      seen_.push_back(index);
      if (out_.count(index) > 0) {
        placed = true;
        s.output = Extent(index);
        s.stride = step;
        s.y = out_[index];
      } else {
        s.taps = Extent(index);
        s.dilation = step;
        s.w = w_[index];
      }
    }
    s.pad_before = -affine.offset;
    if (!placed || s.stride < 1 || s.dilation < 1 || s.pad_before < 0) {
      return Unsupported("a window that runs backwards or begins inside the image");
    }
    const int64_t reach = (s.output - 1) * s.stride + (s.taps - 1) * s.dilation + 1;
    const int64_t needed = reach - s.pad_before - s.input;
    if (needed <= -s.stride) return Unsupported("windows that leave out the image's end");
    // Up to a stride more than what is needed makes no further window. Padding that is the same at
    // both ends is what libraries do best.
    const bool even = s.pad_before >= needed && s.pad_before < needed + s.stride;
    s.pad_after = even ? s.pad_before : std::max<int64_t>(needed, 0);
    view_.spatial.push_back(s);
    return {};
  }

  // What only the weights have, and what nobody has.
  Status ReadRest() {
    bool has_filter = false;
    for (const auto& [index, stride] : w_) {
      if (std::find(seen_.begin(), seen_.end(), index) != seen_.end()) continue;
      if (out_.count(index) == 0) return Unsupported("a sum over weights alone");
      if (has_filter) return Unsupported("two axes of filters");
      has_filter = true;
      filter_ = index;
      view_.filters = Extent(index);
      view_.w_filter = stride;
      view_.y_filter = out_[index];
      seen_.push_back(index);
    }
    for (const auto& [index, stride] : out_) {
      if (std::find(seen_.begin(), seen_.end(), index) == seen_.end()) {
        return Unsupported("an output axis that neither image nor weights have");
      }
    }
    return {};
  }

  Status ReadBias() {
    if (bias_ == nullptr) return {};
    std::vector<std::pair<int, int64_t>> strides;
    if (!PlainStrides(task_, *bias_, &strides)) return Unsupported("a bias that is not plain");
    for (const auto& [index, stride] : strides) {
      if (index == filter_) {
        view_.bias_filter = stride;
      } else if (out_.count(index) > 0 && w_.count(index) > 0) {
        view_.bias_group = stride;
      } else {
        return Unsupported("a bias along more than the filters");
      }
    }
    const bool whole = (view_.filters == 1 || view_.bias_filter > 0) &&
                       (view_.groups == 1 || view_.bias_group > 0);
    if (!whole) return Unsupported("a bias along fewer than the filters");
    return {};
  }

  const Task& task_;
  const Formula& formula_;
  ConvView view_;
  std::vector<int> bound_;
  const Node* x_ = nullptr;
  const Node* bias_ = nullptr;
  Strides w_, out_;
  std::vector<int> seen_;
  int filter_ = -1;
  bool has_image_ = false, has_group_ = false, has_channel_ = false;
};

}  // namespace

Result<ConvView> AsConv(const Task& task) { return ConvReader(task).Read(); }

}  // namespace hiera
