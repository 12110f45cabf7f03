// MakeContract and MakeFormula; the typed operators have files of their own.
#include "runtime/task/constructors.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runtime/task/check.h"
#include "runtime/task/descriptor.h"
#include "runtime/task/lex.h"
#include "runtime/task/limits.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

static_assert(kMaxRank == HIERA_MAX_RANK);

Result<TensorSpec> MakeTensor(const std::string& who, const hiera_tensor& given) {
  if (given.name == nullptr) return InvalidArgument(who + "name is NULL");
  HIERA_RETURN_IF_ERROR(CheckRange(who + "dtype", given.dtype, HIERA_F64, HIERA_BOOL));
  HIERA_RETURN_IF_ERROR(CheckRange(who + "rank", given.rank, 0, kMaxRank));
  HIERA_RETURN_IF_ERROR(
      CheckRange(who + "outside", given.outside, HIERA_OUTSIDE_REFUSE, HIERA_OUTSIDE_KEEP));
  HIERA_RETURN_IF_ERROR(CheckRange(who + "reserved", given.reserved, 0, 0));
  TensorSpec tensor;
  tensor.name = given.name;
  tensor.dtype = static_cast<DType>(given.dtype);
  tensor.outside = static_cast<Outside>(given.outside);
  bool dense = true;
  for (uint32_t i = 0; i < given.rank; ++i) {
    const std::string axis = "[" + std::to_string(i) + "]";
    HIERA_RETURN_IF_ERROR(CheckRange(who + "extent" + axis, given.extent[i], 0, kMaxElements - 1));
    HIERA_RETURN_IF_ERROR(CheckRange(who + "stride" + axis, given.stride[i], 0, kMaxElements - 1));
    tensor.extents.push_back(given.extent[i]);
    tensor.strides.push_back(given.stride[i]);
    dense &= given.stride[i] == 0;
  }
  if (dense) tensor.strides = DenseStrides(tensor.extents);
  const Status valid = Validate(tensor);
  if (!valid.ok()) return InvalidArgument(who + "extent: " + valid.message());
  return tensor;
}

}  // namespace

Result<Contract> MakeContract(const hiera_contract* given) {
  Contract contract;
  if (given == nullptr) return contract;
  HIERA_RETURN_IF_ERROR(CheckRange("contract.arithmetic", given->arithmetic,
                                   HIERA_ARITHMETIC_DEFAULT, HIERA_ARITHMETIC_TF32));
  HIERA_RETURN_IF_ERROR(
      CheckRange("contract.inputs", given->inputs, HIERA_INPUTS_ANY, HIERA_INPUTS_POSITIVE));
  HIERA_RETURN_IF_ERROR(CheckRange("contract.deterministic", given->deterministic, 0, 1));
  HIERA_RETURN_IF_ERROR(CheckRange("contract.finite_only", given->finite_only, 0, 1));
  HIERA_RETURN_IF_ERROR(CheckRange("contract.reserved", given->reserved, 0, 0));
  if (given->accumulate != 0 && given->accumulate != HIERA_F32 && given->accumulate != HIERA_F64) {
    return InvalidArgument("contract.accumulate is " + std::to_string(given->accumulate) +
                           " (HIERA_F32, HIERA_F64, or 0 for the default)");
  }
  if (given->arithmetic != HIERA_ARITHMETIC_DEFAULT) {
    contract.arithmetic = static_cast<Arithmetic>(given->arithmetic);
  }
  contract.inputs = static_cast<Inputs>(given->inputs);
  if (given->error_scale != 0) contract.error_scale = given->error_scale;
  if (given->accumulate == HIERA_F64) contract.accumulate = DType::kF64;
  contract.deterministic = given->deterministic == 1;
  contract.special_values = given->finite_only == 0;
  if (given->workspace_bytes == UINT64_MAX) {
    contract.workspace_bytes = 0;
  } else if (given->workspace_bytes >= static_cast<uint64_t>(kMaxElements)) {
    return InvalidArgument("contract.workspace_bytes is " + std::to_string(given->workspace_bytes) +
                           " (below 2^62, or UINT64_MAX for none at all)");
  } else if (given->workspace_bytes != 0) {
    contract.workspace_bytes = static_cast<int64_t>(given->workspace_bytes);
  }
  contract.alignment = given->alignment;
  HIERA_RETURN_IF_ERROR(Validate(contract));
  return contract;
}

Result<Task> MakeFormula(const hiera_formula& formula) {
  if (formula.text == nullptr) return InvalidArgument("text is NULL");
  if (formula.tensors == nullptr && formula.tensor_count > 0) {
    return InvalidArgument("tensors is NULL, but tensor_count is " +
                           std::to_string(formula.tensor_count));
  }
  if (formula.scalars == nullptr && formula.scalar_count > 0) {
    return InvalidArgument("scalars is NULL, but scalar_count is " +
                           std::to_string(formula.scalar_count));
  }
  HIERA_RETURN_IF_ERROR(CheckRange("tensor_count", formula.tensor_count, 0, kMaxTensors));
  HIERA_RETURN_IF_ERROR(CheckRange("scalar_count", formula.scalar_count, 0, kMaxScalars));
  HIERA_RETURN_IF_ERROR(CheckRange("reserved", formula.reserved, 0, 0));
  if (formula.tensor_count == 0 && formula.scalar_count == 0) {
    if (formula.contract != nullptr) {
      return InvalidArgument(
          "contract must be NULL where the text declares its own tensors; say contract in the "
          "text");
    }
    return ParseTask(formula.text);
  }
  Task declared;
  for (uint32_t i = 0; i < formula.tensor_count; ++i) {
    Result<TensorSpec> tensor =
        MakeTensor("tensors[" + std::to_string(i) + "].", formula.tensors[i]);
    if (!tensor.ok()) return tensor.status();
    declared.tensors.push_back(std::move(*tensor));
  }
  declared.bound_count = static_cast<int>(declared.tensors.size());
  for (uint32_t i = 0; i < formula.scalar_count; ++i) {
    const std::string who = "scalars[" + std::to_string(i) + "].";
    const hiera_scalar& given = formula.scalars[i];
    if (given.name == nullptr) return InvalidArgument(who + "name is NULL");
    HIERA_RETURN_IF_ERROR(
        CheckRange(who + "value_class", given.value_class, HIERA_SCALAR_ANY, HIERA_SCALAR_ONE));
    HIERA_RETURN_IF_ERROR(CheckRange(who + "reserved", given.reserved, 0, 0));
    declared.scalars.push_back({given.name, static_cast<ScalarClass>(given.value_class)});
  }
  HIERA_RETURN_IF_ERROR(SetContract(formula.contract, &declared));
  return ParseTask(formula.text, std::move(declared.tensors), std::move(declared.scalars),
                   declared.contract);
}

}  // namespace hiera
