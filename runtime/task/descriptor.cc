#include "runtime/task/descriptor.h"

#include <cmath>
#include <utility>

#include "runtime/task/check.h"
#include "runtime/task/constructors.h"
#include "runtime/task/limits.h"

namespace hiera {

Status CheckRange(const std::string& field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return {};
  return InvalidArgument(field + " is " + std::to_string(value) + " (" + std::to_string(low) +
                         (high >= kMaxElements - 1 ? " or more, below 2^62)"
                          : high == low + 1        ? " or " + std::to_string(high) + ")"
                                                   : " to " + std::to_string(high) + ")"));
}

Status CheckReal(const std::string& field, uint32_t dtype) {
  if (dtype >= HIERA_F64 && dtype <= HIERA_BF16) return {};
  return InvalidArgument(field + " is " + std::to_string(dtype) +
                         " (HIERA_F64, HIERA_F32, HIERA_F16 or HIERA_BF16)");
}

Result<int64_t> CheckedProduct(const std::string& field, int64_t a, int64_t b) {
  const __int128 product = static_cast<__int128>(a) * b;
  if (product < kMaxElements) return static_cast<int64_t>(product);
  return InvalidArgument(field + " makes a tensor reach past 2^62 elements");
}

TensorSpec DenseTensor(std::string name, uint32_t dtype, std::vector<int64_t> extents) {
  TensorSpec tensor;
  tensor.name = std::move(name);
  tensor.dtype = static_cast<DType>(dtype);
  tensor.strides = DenseStrides(extents);
  tensor.extents = std::move(extents);
  return tensor;
}

Status SetContract(const hiera_contract* contract, Task* task) {
  Result<Contract> made = MakeContract(contract);
  if (!made.ok()) return made.status();
  task->contract = *made;
  SettleAccumulation(task);
  if (contract != nullptr && contract->accumulate == HIERA_F32 &&
      task->contract.accumulate == DType::kF64) {
    return InvalidArgument(
        "contract.accumulate is HIERA_F32, but a tensor is f64 (HIERA_F64, or 0 for the default)");
  }
  return {};
}

int Activated(uint32_t activation, int value, FormulaBuilder* builder) {
  switch (activation) {
    case HIERA_ACTIVATION_RELU:
      return builder->Unary(Op::kRelu, value);
    case HIERA_ACTIVATION_GELU:
      return builder->Unary(Op::kGelu, value);
    case HIERA_ACTIVATION_SILU:
      return builder->Unary(Op::kSilu, value);
    case HIERA_ACTIVATION_TANH:
      return builder->Unary(Op::kTanh, value);
    case HIERA_ACTIVATION_SIGMOID:
      return builder->Unary(Op::kSigmoid, value);
    default:
      return value;
  }
}

Subscript PlainSubscript(int index) {
  Subscript subscript;
  subscript.affine.terms.emplace_back(index, 1);
  return subscript;
}

Status Finish(const std::string& who, int output, std::vector<int> indices, int root,
              FormulaBuilder* builder, Task* task) {
  if (root == FormulaBuilder::kBad) return InvalidArgument(who + ": " + builder->error());
  task->formula.statements.push_back({output, std::move(indices), root});
  builder->Compact();
  HIERA_RETURN_IF_ERROR(CheckDeclarations(*task));
  if (const std::optional<Fault> fault = FindFault(*task)) {
    return InvalidArgument(who + ": " + fault->what);
  }
  return {};
}

}  // namespace hiera
