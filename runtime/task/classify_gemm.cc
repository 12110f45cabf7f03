// AsGemm: see classify.h. Every index gets its strides in A, B, C and the bias; those only A has
// are rows, those only B has columns, the rest batch axes. Axes that lie like one are merged.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/task/classify.h"
#include "runtime/task/linear_terms.h"

namespace hiera {
namespace {

enum Operand { kA, kB, kC, kBias, kOperands };

struct Axis {
  int64_t extent = 1;
  std::array<int64_t, kOperands> stride = {0, 0, 0, 0};
  std::array<bool, kOperands> has = {false, false, false, false};
};

class GemmReader {
 public:
  explicit GemmReader(const Task& task) : task_(task), formula_(task.formula) {}

  std::optional<GemmView> Read() {
    if (formula_.statements.size() != 1 || formula_.steps != 1) return std::nullopt;
    const Statement& statement = formula_.statements[0];
    LinearTerms linear = LinearTermsOf(task_, statement.root);
    view_.c = statement.output;
    if (!IsReal(task_.tensors[view_.c].dtype)) return std::nullopt;
    view_.activation = std::move(linear.activation);
    for (LinearTerm& term : linear.terms) {
      if (!ReadTerm(&term)) return std::nullopt;
    }
    if (view_.a < 0 || !ReadAxes(statement)) return std::nullopt;
    Assign();
    return view_;
  }

 private:
  bool ReadTerm(LinearTerm* term) {
    int x = -1;
    int y = -1;
    if (IsSumOfProducts(task_, term, &x, &y, &bound_)) {
      if (view_.a >= 0) return false;  // a second product
      loads_[kA] = &formula_.nodes[x];
      loads_[kB] = &formula_.nodes[y];
      view_.a = loads_[kA]->target;
      view_.b = loads_[kB]->target;
      return SetFactor(*term, &view_.alpha);
    }
    if (term->core.size() != 1 || formula_.nodes[term->core[0]].op != Op::kLoad) return false;
    const Node& load = formula_.nodes[term->core[0]];
    if (load.target == view_.c) {
      const bool first = view_.beta.value == 0 && view_.beta.scalar < 0;
      return first && SetFactor(*term, &view_.beta);
    }
    if (view_.bias >= 0 || term->factor != 1 || term->scalar >= 0) return false;
    loads_[kBias] = &load;
    view_.bias = load.target;
    return IsReal(task_.tensors[load.target].dtype);
  }

  static bool SetFactor(const LinearTerm& term, GemmView::Factor* factor) {
    // A literal 0 reads what it multiplies, which a factor of 0 in a view does not.
    if (!term.plain || (term.scalar >= 0 && term.factor != 1) || term.factor == 0) return false;
    factor->value = term.scalar >= 0 ? 0 : term.factor;
    factor->scalar = term.scalar;
    return true;
  }

  bool ReadAxes(const Statement& statement) {
    axes_.resize(formula_.indices.size());
    for (size_t i = 0; i < axes_.size(); ++i) axes_[i].extent = formula_.indices[i].extent;
    for (const Operand operand : {kA, kB, kBias}) {
      if (loads_[operand] == nullptr) continue;
      std::vector<std::pair<int, int64_t>> strides;
      if (!PlainStrides(task_, *loads_[operand], &strides)) return false;
      for (const auto& [index, stride] : strides) {
        axes_[index].stride[operand] = stride;
        axes_[index].has[operand] = true;
      }
    }
    for (size_t i = 0; i < statement.indices.size(); ++i) {
      Axis& axis = axes_[statement.indices[i]];
      axis.stride[kC] = task_.tensors[view_.c].strides[i];
      axis.has[kC] = true;
    }
    return ReadSums() && ReadOutputs(statement);
  }

  // The summed axes, which both operands must have, as one.
  bool ReadSums() {
    std::vector<Axis> sums;
    for (const int i : bound_) {
      if (!axes_[i].has[kA] || !axes_[i].has[kB]) return false;
      sums.push_back(axes_[i]);
    }
    std::stable_sort(sums.begin(), sums.end(), [](const Axis& a, const Axis& b) {
      return a.stride[kA] != b.stride[kA] ? a.stride[kA] > b.stride[kA]
                                          : a.stride[kB] > b.stride[kB];
    });
    MergeAlike(&sums);
    if (sums.size() != 1) return false;
    view_.k = sums[0].extent;
    view_.a_k = sums[0].stride[kA];
    view_.b_k = sums[0].stride[kB];
    return true;
  }

  bool ReadOutputs(const Statement& statement) {
    // The operand with the last index of its own is B: its columns come last in C. With one such
    // operand, a vector times a matrix, its own indices are rows.
    bool has_own[kOperands] = {};
    bool last_is_a = false;
    for (const int i : statement.indices) {
      if (axes_[i].has[kA] == axes_[i].has[kB]) continue;
      last_is_a = axes_[i].has[kA];
      has_own[last_is_a ? kA : kB] = true;
    }
    if (!has_own[kA] && !has_own[kB]) return false;
    const bool both = has_own[kA] && has_own[kB];
    if (both == last_is_a) SwapOperands();
    for (const int i : statement.indices) {
      const Axis& axis = axes_[i];
      (axis.has[kA] == axis.has[kB] ? batch_ : axis.has[kA] ? rows_ : columns_).push_back(axis);
    }
    return true;
  }

  void SwapOperands() {
    std::swap(view_.a, view_.b);
    std::swap(view_.a_k, view_.b_k);
    auto swap = [](Axis* axis) {
      std::swap(axis->stride[kA], axis->stride[kB]);
      std::swap(axis->has[kA], axis->has[kB]);
    };
    for (Axis& axis : axes_) swap(&axis);
  }

  // Drops axes of one element beside others, and makes one axis of two neighbours wherever a step
  // along the outer is a whole run along the inner, in every operand.
  static void MergeAlike(std::vector<Axis>* axes) {
    for (size_t i = axes->size(); i-- > 0 && axes->size() > 1;) {
      if ((*axes)[i].extent == 1) axes->erase(axes->begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (size_t i = axes->size(); i-- > 1;) {
      Axis& outer = (*axes)[i - 1];
      const Axis& inner = (*axes)[i];
      bool alike = true;
      for (int o = 0; o < kOperands; ++o) {
        alike &= outer.stride[o] == inner.stride[o] * inner.extent;
      }
      if (!alike) continue;
      outer.stride = inner.stride;
      outer.extent *= inner.extent;
      axes->erase(axes->begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  void Assign() {
    MergeAlike(&rows_);
    MergeAlike(&columns_);
    view_.m = rows_.back().extent;
    view_.a_m = rows_.back().stride[kA];
    view_.c_m = rows_.back().stride[kC];
    view_.bias_m = rows_.back().stride[kBias];
    rows_.pop_back();
    if (!columns_.empty()) {
      view_.n = columns_.back().extent;
      view_.b_n = columns_.back().stride[kB];
      view_.c_n = columns_.back().stride[kC];
      view_.bias_n = columns_.back().stride[kBias];
      columns_.pop_back();
    }
    // Rows and columns beyond one axis are batch axes along which the other operand is constant.
    batch_.insert(batch_.end(), rows_.begin(), rows_.end());
    batch_.insert(batch_.end(), columns_.begin(), columns_.end());
    std::stable_sort(batch_.begin(), batch_.end(),
                     [](const Axis& a, const Axis& b) { return a.stride[kC] > b.stride[kC]; });
    MergeAlike(&batch_);
    for (const Axis& axis : batch_) {
      if (axis.extent == 1) continue;
      view_.batch.push_back(
          {axis.extent, axis.stride[kA], axis.stride[kB], axis.stride[kC], axis.stride[kBias]});
    }
  }

  const Task& task_;
  const Formula& formula_;
  GemmView view_;
  std::array<const Node*, kOperands> loads_ = {};
  std::vector<int> bound_;
  std::vector<Axis> axes_;  // per index
  std::vector<Axis> batch_, rows_, columns_;
};

}  // namespace

int64_t GemmView::batch_count() const {
  int64_t count = 1;
  for (const BatchAxis& axis : batch) count *= axis.extent;
  return count;
}

std::optional<GemmView> AsGemm(const Task& task) { return GemmReader(task).Read(); }

}  // namespace hiera
