#include "runtime/task/contract.h"

#include <array>
#include <string>
#include <utility>

#include "runtime/task/limits.h"

namespace hiera {
namespace {

constexpr std::array<std::pair<Arithmetic, std::string_view>, 3> kArithmetics = {{
    {Arithmetic::kExact, "exact"},
    {Arithmetic::kReassociate, "reassociate"},
    {Arithmetic::kTf32, "tf32"},
}};
constexpr std::array<std::pair<Inputs, std::string_view>, 3> kInputs = {{
    {Inputs::kAny, "any"},
    {Inputs::kNormal, "normal"},
    {Inputs::kPositive, "positive"},
}};

template <typename Rows, typename T>
std::string_view NameIn(const Rows& rows, T value) {
  for (const auto& [known, name] : rows) {
    if (known == value) return name;
  }
  return "unknown";
}

}  // namespace

std::string_view ArithmeticName(Arithmetic arithmetic) { return NameIn(kArithmetics, arithmetic); }
std::string_view InputsName(Inputs inputs) { return NameIn(kInputs, inputs); }

Result<Arithmetic> ArithmeticFromName(std::string_view name) {
  for (const auto& [arithmetic, known] : kArithmetics) {
    if (known == name) return arithmetic;
  }
  return InvalidArgument("unknown arithmetic \"" + std::string(name) +
                         "\" (exact, reassociate or tf32)");
}

Result<Inputs> InputsFromName(std::string_view name) {
  for (const auto& [inputs, known] : kInputs) {
    if (known == name) return inputs;
  }
  return InvalidArgument("unknown inputs \"" + std::string(name) + "\" (any, normal or positive)");
}

Status Validate(const Contract& contract) {
  if (!(contract.error_scale > 0 && contract.error_scale <= 1e6)) {
    return InvalidArgument("contract.error_scale is " + std::to_string(contract.error_scale) +
                           " (above 0, at most 1e6)");
  }
  if (ArithmeticName(contract.arithmetic) == "unknown") {
    return InvalidArgument("contract.arithmetic is unknown");
  }
  if (InputsName(contract.inputs) == "unknown") {
    return InvalidArgument("contract.inputs is unknown");
  }
  if (contract.accumulate != DType::kF32 && contract.accumulate != DType::kF64) {
    return InvalidArgument("contract.accumulate is neither f32 nor f64");
  }
  if (contract.workspace_bytes < 0 || contract.workspace_bytes >= kMaxElements) {
    return InvalidArgument("contract.workspace_bytes is " +
                           std::to_string(contract.workspace_bytes) + " (0 to 2^62 - 1)");
  }
  if (contract.alignment != 0 && contract.alignment != 1 && contract.alignment != kWideAlignment) {
    return InvalidArgument("contract.alignment is " + std::to_string(contract.alignment) +
                           " (0, 1 or 16)");
  }
  return {};
}

}  // namespace hiera
