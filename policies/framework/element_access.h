// ElementAccess: how generated code names tensors, indices and constants, and reads and writes one
// element. Names are positional (t0, i3, s1), as in the canonical text. Borrows the task, which
// must outlive it. Immutable after construction.
#ifndef HIERA_POLICIES_FRAMEWORK_ELEMENT_ACCESS_H_
#define HIERA_POLICIES_FRAMEWORK_ELEMENT_ACCESS_H_

#include <string>
#include <vector>

#include "runtime/task/task.h"

namespace hiera {

std::string TensorName(int tensor);  // "t0"
std::string IndexName(int index);    // "i0"
std::string ScalarName(int scalar);  // "s0"

// The C++ type that values of `type` are computed in: "real" (a typedef), "long" or "bool".
std::string_view ValueTypeText(ValueType type);
// A constant of that type, exactly; reals rounded to the accumulation type.
std::string ConstantText(double value, ValueType type, DType accumulate);

// "2 * i1 + i2 - 1"; the divisor is not looked at. `names` gives each index's text.
std::string AffineText(const Affine& affine, const std::vector<std::string>& names);

class ElementAccess {
 public:
  // Tensors for which `symbolic` is true have run-time strides, named "t0_stride1".
  ElementAccess(const Task& task, std::vector<bool> symbolic);

  const Task& task() const { return task_; }
  bool symbolic(int tensor) const { return symbolic_[tensor]; }
  std::string Stride(int tensor, int axis) const;

  // The element offset of a read whose axes are all affine and undivided.
  std::string Offset(int tensor, const std::vector<Subscript>& subscripts,
                     const std::vector<std::string>& names) const;
  // The element offset at plain indices (a statement's left side).
  std::string Offset(int tensor, const std::vector<int>& indices,
                     const std::vector<std::string>& names) const;

  std::string_view StorageType(int tensor) const;  // "float", "fn::half", ...
  std::string Read(int tensor, const std::string& offset) const {
    return ReadFrom(tensor, TensorName(tensor) + "[" + offset + "]");
  }
  std::string Write(int tensor, const std::string& offset, const std::string& value) const {
    return WriteTo(tensor, TensorName(tensor) + "[" + offset + "]", value);
  }
  // The same where `element` names a copy of the element, in the tensor's storage type.
  std::string ReadFrom(int tensor, const std::string& element) const;
  std::string WriteTo(int tensor, const std::string& element, const std::string& value) const;

 private:
  const Task& task_;
  std::vector<bool> symbolic_;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_FRAMEWORK_ELEMENT_ACCESS_H_
