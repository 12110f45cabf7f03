#include "policies/framework/element_access.h"

#include <charconv>
#include <cmath>
#include <map>

#include "policies/framework/source_text.h"

namespace hiera {
namespace {

template <typename T>
std::string Shortest(T value, std::string_view suffix) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  text += suffix;
  return value < 0 || std::signbit(value) ? "(" + text + ")" : text;
}

// Adds "coefficient * name" to a sum.
void AddTerm(std::string* sum, int64_t coefficient, const std::string& name) {
  if (coefficient == 0) return;
  const int64_t magnitude = coefficient < 0 ? -coefficient : coefficient;
  if (sum->empty()) {
    if (coefficient < 0) *sum += "-";
  } else {
    *sum += coefficient < 0 ? " - " : " + ";
  }
  if (name.empty()) {
    *sum += std::to_string(magnitude);
  } else {
    *sum += magnitude == 1 ? name : std::to_string(magnitude) + " * " + name;
  }
}

}  // namespace

std::string TensorName(int tensor) { return "t" + std::to_string(tensor); }
std::string IndexName(int index) { return "i" + std::to_string(index); }
std::string ScalarName(int scalar) { return "s" + std::to_string(scalar); }

std::string_view ValueTypeText(ValueType type) {
  switch (type) {
    case ValueType::kReal:
      return "real";
    case ValueType::kInt:
      return "long";
    case ValueType::kBool:
      return "bool";
  }
  return "";
}

std::string ConstantText(double value, ValueType type, DType accumulate) {
  if (type == ValueType::kBool) return value != 0 ? "true" : "false";
  if (type == ValueType::kInt) {
    const std::string text = std::to_string(static_cast<int64_t>(value)) + "L";
    return value < 0 ? "(" + text + ")" : text;
  }
  const bool f32 = accumulate == DType::kF32;
  const double rounded = f32 ? static_cast<double>(static_cast<float>(value)) : value;
  if (std::isnan(rounded)) return "(real)__builtin_nan(\"\")";
  if (std::isinf(rounded)) return rounded < 0 ? "(real)-__builtin_inf()" : "(real)__builtin_inf()";
  return f32 ? Shortest(static_cast<float>(rounded), "f") : Shortest(rounded, "");
}

std::string AffineText(const Affine& affine, const std::vector<std::string>& names) {
  std::string sum;
  for (const auto& [index, coefficient] : affine.terms) AddTerm(&sum, coefficient, names[index]);
  AddTerm(&sum, affine.offset, "");
  return sum.empty() ? "0" : sum;
}

ElementAccess::ElementAccess(const Task& task, std::vector<bool> symbolic)
    : task_(task), symbolic_(std::move(symbolic)) {}

std::string ElementAccess::Stride(int tensor, int axis) const {
  if (symbolic_[tensor]) return TensorName(tensor) + "_stride" + std::to_string(axis);
  return std::to_string(task_.tensors[tensor].strides[axis]);
}

std::string ElementAccess::Offset(int tensor, const std::vector<Subscript>& subscripts,
                                  const std::vector<std::string>& names) const {
  if (symbolic_[tensor]) {
    std::string sum;
    for (size_t axis = 0; axis < subscripts.size(); ++axis) {
      if (axis > 0) sum += " + ";
      sum += "(" + AffineText(subscripts[axis].affine, names) + ") * ";
      sum += Stride(tensor, static_cast<int>(axis));
    }
    return sum.empty() ? "0" : sum;
  }
  std::map<int, int64_t> coefficients;
  Affine flat;
  for (size_t axis = 0; axis < subscripts.size(); ++axis) {
    const int64_t stride = task_.tensors[tensor].strides[axis];
    for (const auto& [index, c] : subscripts[axis].affine.terms) coefficients[index] += c * stride;
    flat.offset += subscripts[axis].affine.offset * stride;
  }
  flat.terms.assign(coefficients.begin(), coefficients.end());
  return AffineText(flat, names);
}

std::string ElementAccess::Offset(int tensor, const std::vector<int>& indices,
                                  const std::vector<std::string>& names) const {
  std::vector<Subscript> subscripts;
  for (int index : indices) {
    Subscript subscript;
    subscript.affine.terms = {{index, 1}};
    subscripts.push_back(subscript);
  }
  return Offset(tensor, subscripts, names);
}

std::string_view ElementAccess::StorageType(int tensor) const {
  switch (task_.tensors[tensor].dtype) {
    case DType::kF64:
      return "double";
    case DType::kF32:
      return "float";
    case DType::kF16:
      return "fn::half";
    case DType::kBF16:
      return "fn::bfloat";
    case DType::kI32:
      return "int";
    case DType::kBool:
      return "unsigned char";
  }
  return "";
}

std::string ElementAccess::ReadFrom(int tensor, const std::string& element) const {
  const bool f64 = task_.contract.accumulate == DType::kF64;
  switch (task_.tensors[tensor].dtype) {
    case DType::kF64:
      return f64 ? element : "(real)" + element;
    case DType::kF32:
      return f64 ? "(real)" + element : element;
    case DType::kF16:
    case DType::kBF16:
      return (f64 ? "(real)fn::widen(" : "fn::widen(") + element + ")";
    case DType::kI32:
      return "(long)" + element;
    case DType::kBool:
      return "(" + element + " != 0)";
  }
  return "";
}

std::string ElementAccess::WriteTo(int tensor, const std::string& element,
                                   const std::string& value) const {
  const bool f64 = task_.contract.accumulate == DType::kF64;
  const std::string narrowed = f64 ? "fn::round_to_odd(" + Bare(value) + ")" : Bare(value);
  switch (task_.tensors[tensor].dtype) {
    case DType::kF64:
      return element + " = " + Bare(value) + ";";
    case DType::kF32:
      return element + (f64 ? " = (float)" + value : " = " + Bare(value)) + ";";
    case DType::kF16:
      return element + " = fn::narrow_half(" + narrowed + ");";
    case DType::kBF16:
      return element + " = fn::narrow_bfloat(" + narrowed + ");";
    case DType::kI32:
      return element + " = (int)" + value + ";";
    case DType::kBool:
      return element + " = " + value + ";";
  }
  return "";
}

}  // namespace hiera
