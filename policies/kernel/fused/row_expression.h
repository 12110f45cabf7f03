// RowExpression: the values of a row program as C++ text: scalars outside the row, and along it
// either vectors or, where each thread is a lane, scalars too. Borrows program and access, which
// must outlive it.
#ifndef HIERA_POLICIES_KERNEL_FUSED_ROW_EXPRESSION_H_
#define HIERA_POLICIES_KERNEL_FUSED_ROW_EXPRESSION_H_

#include <map>
#include <string>
#include <vector>

#include "policies/framework/element_access.h"
#include "policies/framework/source_text.h"
#include "policies/kernel/fused/row_program.h"

namespace hiera {

class RowExpression {
 public:
  enum class Lanes { kVectors, kThreads };
  RowExpression(const Task& task, const RowProgram& program, const ElementAccess& access,
                Lanes lanes = Lanes::kVectors);

  void set_out(SourceText* out) { out_ = out; }
  void OpenScope() { scopes_.emplace_back(); }
  void CloseScope() { scopes_.pop_back(); }
  void Define(int value, std::string text) { scopes_.back()[value] = std::move(text); }

  // The value at the present place: a vector where it changes along the row's last axis.
  std::string Value(int v);
  // The same, as a vector always.
  std::string Vector(int v);
  bool IsVector(int v) const {
    return lanes_ == Lanes::kVectors && program_.values[v].depends[lane_axis()];
  }

  int lane_axis() const { return static_cast<int>(program_.axes.size()) - 1; }
  // The element offset at the present place, the lane axis' position being `lane`.
  std::string Offset(const std::vector<int64_t>& coefficients, int64_t offset) const;
  static std::string AxisName(int axis) { return "a" + std::to_string(axis); }

  // "vec" or "mask" along the row; "real", "long" or "bool" outside.
  std::string TypeText(int v) const;

 private:
  std::string Text(int v);
  std::string Load(const RowValue& value);
  std::string IndexValue(const RowValue& value);
  std::string Unary(const RowValue& value, bool vector);
  std::string Operand(int v, bool vector) { return vector ? Vector(v) : Value(v); }

  const Task& task_;
  const RowProgram& program_;
  const ElementAccess& access_;
  const Lanes lanes_;
  SourceText* out_ = nullptr;
  std::vector<int> uses_;
  std::vector<std::map<int, std::string>> scopes_;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_FUSED_ROW_EXPRESSION_H_
