#include "runtime/task/parse.h"

#include <string>
#include <utility>

#include "runtime/task/check.h"
#include "runtime/task/limits.h"
#include "runtime/task/resolve.h"
#include "runtime/task/syntax.h"

namespace hiera {
namespace {

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

Status DeclareTensors(std::string_view text, const Syntax& syntax, Task* task) {
  for (const TensorItem& item : syntax.tensors) {
    if (static_cast<int>(task->tensors.size()) >= kMaxTensors) {
      return ErrorAt(text, item.offset, "more than " + std::to_string(kMaxTensors) + " tensors");
    }
    for (const TensorSpec& other : task->tensors) {
      if (other.name == item.spec.name) {
        return ErrorAt(text, item.offset, Quoted(other.name) + " is declared twice");
      }
    }
    const Status valid = Validate(item.spec);
    if (!valid.ok()) return ErrorAt(text, item.offset, valid.message());
    task->tensors.push_back(item.spec);
  }
  task->bound_count = static_cast<int>(task->tensors.size());
  return {};
}

Status DeclareScalars(std::string_view text, const Syntax& syntax, Task* task) {
  for (const ScalarItem& item : syntax.scalars) {
    if (static_cast<int>(task->scalars.size()) >= kMaxScalars) {
      return ErrorAt(text, item.offset, "more than " + std::to_string(kMaxScalars) + " scalars");
    }
    for (const ScalarSpec& other : task->scalars) {
      if (other.name == item.name) {
        return ErrorAt(text, item.offset, Quoted(item.name) + " is declared twice");
      }
    }
    for (const TensorSpec& tensor : task->tensors) {
      if (tensor.name == item.name) {
        return ErrorAt(text, item.offset, Quoted(item.name) + " is a tensor already");
      }
    }
    const ScalarClass value_class = item.value < 0    ? ScalarClass::kAny
                                    : item.value == 0 ? ScalarClass::kZero
                                                      : ScalarClass::kOne;
    task->scalars.push_back({std::string(item.name), value_class});
  }
  return {};
}

// One field of a contract item. Empty where it is good, else what is wrong with it.
std::string SetContractField(const ContractField& field, Contract* contract) {
  const std::string_view value = field.value.text;
  const bool number = field.value.kind == TokenKind::kNumber;
  auto flag = [&](bool* to) {
    *to = value == "1";
    return number && (value == "0" || value == "1") ? std::string() : "expected 0 or 1";
  };
  auto integer = [&](int64_t* to) {
    *to = field.value.value;
    return field.value.integer ? std::string() : "expected an integer";
  };
  if (field.name == "error") {
    contract->error_scale = field.value.number;
    return number ? "" : "expected a number";
  }
  if (field.name == "arithmetic") {
    const Result<Arithmetic> parsed = ArithmeticFromName(value);
    if (parsed.ok()) contract->arithmetic = *parsed;
    return parsed.status().message();
  }
  if (field.name == "inputs") {
    const Result<Inputs> parsed = InputsFromName(value);
    if (parsed.ok()) contract->inputs = *parsed;
    return parsed.status().message();
  }
  if (field.name == "accumulate") {
    contract->accumulate = value == "f64" ? DType::kF64 : DType::kF32;
    return value == "f64" || value == "f32" ? "" : "expected f32 or f64";
  }
  if (field.name == "deterministic") return flag(&contract->deterministic);
  if (field.name == "special") return flag(&contract->special_values);
  if (field.name == "workspace") return integer(&contract->workspace_bytes);
  if (field.name == "align") return integer(&contract->alignment);
  return "unknown word of a contract (error, arithmetic, inputs, accumulate, deterministic, "
         "special, workspace or align)";
}

Status ReadContract(std::string_view text, const Syntax& syntax, Task* task) {
  bool narrow = false;
  uint32_t accumulate_offset = 0;
  for (size_t i = 0; i < syntax.contract.size(); ++i) {
    const ContractField& field = syntax.contract[i];
    for (size_t j = 0; j < i; ++j) {
      if (syntax.contract[j].name == field.name) {
        return ErrorAt(text, field.offset, Quoted(field.name) + " is stated twice");
      }
    }
    const std::string fault = SetContractField(field, &task->contract);
    if (!fault.empty()) {
      return ErrorAt(text, field.offset,
                     "contract " + std::string(field.name) + "=" + std::string(field.value.text) +
                         ": " + fault);
    }
    if (field.name == "accumulate" && task->contract.accumulate == DType::kF32) {
      narrow = true;
      accumulate_offset = field.offset;
    }
  }
  const Status valid = Validate(task->contract);
  if (!valid.ok()) return ErrorAt(text, syntax.contract_offset, valid.message());
  SettleAccumulation(task);
  if (narrow && task->contract.accumulate == DType::kF64) {
    return ErrorAt(text, accumulate_offset,
                   "contract accumulate=f32: a tensor is f64 (say accumulate=f64, or nothing)");
  }
  return {};
}

int FindBound(const Task& task, std::string_view name) {
  for (int i = 0; i < task.bound_count; ++i) {
    if (task.tensors[i].name == name) return i;
  }
  return -1;
}

bool IsWritten(const Task& task, int tensor) {
  for (const Statement& statement : task.formula.statements) {
    if (statement.output == tensor) return true;
  }
  return false;
}

Status ResolveSteps(std::string_view text, const StepsItem& item, Task* task) {
  std::vector<Carry>& carries = task->formula.carries;
  for (const StepsItem::Pair& pair : item.pairs) {
    const Carry carry{FindBound(*task, pair.state), FindBound(*task, pair.source)};
    if (carry.state < 0 || IsWritten(*task, carry.state)) {
      return ErrorAt(text, pair.state_offset,
                     Quoted(pair.state) + " cannot be a state (an input tensor can)");
    }
    for (const Carry& other : carries) {
      if (other.state == carry.state) {
        return ErrorAt(text, pair.state_offset, Quoted(pair.state) + " is carried twice");
      }
    }
    if (carry.source < 0) {
      return ErrorAt(text, pair.source_offset,
                     Quoted(pair.source) + " cannot be carried (an output or a state can)");
    }
    const TensorSpec& state = task->tensors[carry.state];
    const TensorSpec& source = task->tensors[carry.source];
    if (state.extents != source.extents || state.dtype != source.dtype) {
      return ErrorAt(text, pair.state_offset,
                     Quoted(state.name) + " and " + Quoted(source.name) +
                         " differ in extents or element type, so neither can become the other");
    }
    carries.push_back(carry);
  }
  for (size_t i = 0; i < carries.size(); ++i) {
    bool state = false;
    for (const Carry& other : carries) state |= other.state == carries[i].source;
    if (!state && !IsWritten(*task, carries[i].source)) {
      return ErrorAt(
          text, item.pairs[i].source_offset,
          Quoted(item.pairs[i].source) + " is neither an output nor a state, so it never changes");
    }
  }
  task->formula.steps = item.steps;
  if (item.steps == 1) carries.clear();
  return {};
}

Status Build(std::string_view text, const Syntax& syntax, Task* task) {
  if (syntax.statements.empty()) {
    return InvalidArgument("the text has no statement (expected NAME[indices] = value)");
  }
  Resolver resolver(text, syntax, task);
  HIERA_RETURN_IF_ERROR(resolver.Run());
  if (const std::optional<Fault> fault = FindFault(*task)) {
    const uint32_t offset = fault->node >= 0 ? resolver.position_of(fault->node)
                                             : syntax.statements[fault->statement].offset;
    return ErrorAt(text, offset, fault->what);
  }
  bool output = false;
  for (int i = 0; i < task->bound_count; ++i) output |= IsWritten(*task, i);
  if (!output) {
    return ErrorAt(text, syntax.statements[0].offset,
                   "no statement writes a declared tensor, so there is no output");
  }
  if (syntax.steps.present) return ResolveSteps(text, syntax.steps, task);
  return {};
}

}  // namespace

Result<Task> ParseTask(std::string_view text) {
  Result<Syntax> syntax = ParseSyntax(text);
  if (!syntax.ok()) return syntax.status();
  Task task;
  HIERA_RETURN_IF_ERROR(DeclareTensors(text, *syntax, &task));
  HIERA_RETURN_IF_ERROR(DeclareScalars(text, *syntax, &task));
  HIERA_RETURN_IF_ERROR(ReadContract(text, *syntax, &task));
  HIERA_RETURN_IF_ERROR(Build(text, *syntax, &task));
  return task;
}

Result<Task> ParseTask(std::string_view text, std::vector<TensorSpec> tensors,
                       std::vector<ScalarSpec> scalars, const Contract& contract) {
  Result<Syntax> syntax = ParseSyntax(text);
  if (!syntax.ok()) return syntax.status();
  constexpr std::string_view kDeclared =
      " is declared in the text, but here the caller declares (remove it)";
  if (!syntax->tensors.empty()) {
    return ErrorAt(text, syntax->tensors[0].offset,
                   "tensor " + Quoted(syntax->tensors[0].spec.name) + std::string(kDeclared));
  }
  if (!syntax->scalars.empty()) {
    return ErrorAt(text, syntax->scalars[0].offset,
                   "scalar " + Quoted(syntax->scalars[0].name) + std::string(kDeclared));
  }
  if (syntax->has_contract) {
    return ErrorAt(text, syntax->contract_offset, "a contract" + std::string(kDeclared));
  }
  Task task;
  task.tensors = std::move(tensors);
  task.bound_count = static_cast<int>(task.tensors.size());
  task.scalars = std::move(scalars);
  task.contract = contract;
  HIERA_RETURN_IF_ERROR(CheckDeclarations(task));
  SettleAccumulation(&task);
  HIERA_RETURN_IF_ERROR(Build(text, *syntax, &task));
  return task;
}

}  // namespace hiera
