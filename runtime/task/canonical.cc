// CanonicalText: see task.h.
#include <algorithm>
#include <string>
#include <vector>

#include "runtime/task/canonical_expression.h"
#include "runtime/task/parse.h"
#include "runtime/task/task.h"

namespace hiera {
namespace {

constexpr int kMaxRounds = 32;

void AppendList(const std::vector<int64_t>& values, std::string* text) {
  *text += "[";
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) *text += ",";
    *text += std::to_string(values[i]);
  }
  *text += "]";
}

void AppendTensor(int number, const TensorSpec& tensor, std::string* text) {
  *text += "tensor t" + std::to_string(number) + ":";
  *text += DTypeName(tensor.dtype);
  AppendList(tensor.extents, text);
  if (tensor.strides != DenseStrides(tensor.extents)) {
    *text += " strides";
    AppendList(tensor.strides, text);
  }
  if (tensor.outside != Outside::kRefuse) {
    *text += " outside ";
    *text += OutsideName(tensor.outside);
  }
  *text += "\n";
}

void AppendScalar(int number, const ScalarSpec& scalar, std::string* text) {
  *text += "scalar s" + std::to_string(number);
  if (scalar.value_class == ScalarClass::kZero) *text += "=0";
  if (scalar.value_class == ScalarClass::kOne) *text += "=1";
  *text += "\n";
}

void AppendContract(const Contract& contract, std::string* text) {
  *text += "contract error=" + RealText(contract.error_scale);
  *text += " arithmetic=";
  *text += ArithmeticName(contract.arithmetic);
  *text += " inputs=";
  *text += InputsName(contract.inputs);
  *text += " accumulate=";
  *text += DTypeName(contract.accumulate);
  *text += contract.deterministic ? " deterministic=1" : " deterministic=0";
  *text += contract.special_values ? " special=1" : " special=0";
  *text += " workspace=" + std::to_string(contract.workspace_bytes);
  *text += " align=" + std::to_string(contract.alignment) + "\n";
}

void AppendSteps(const Formula& formula, std::string* text) {
  if (formula.steps == 1) return;
  std::vector<Carry> carries = formula.carries;
  std::sort(carries.begin(), carries.end(),
            [](const Carry& a, const Carry& b) { return a.state < b.state; });
  *text += "steps " + std::to_string(formula.steps) + " (";
  for (size_t i = 0; i < carries.size(); ++i) {
    if (i > 0) *text += ",";
    *text += "t" + std::to_string(carries[i].state) + "=t" + std::to_string(carries[i].source);
  }
  *text += ")\n";
}

// A local states its ranges, for nothing else does, and its rule.
void AppendLeftSide(const Task& task, const Statement& statement, std::string* text) {
  const TensorSpec& output = task.tensors[statement.output];
  const bool local = task.is_local(statement.output);
  *text += "t" + std::to_string(statement.output);
  for (int axis = 0; axis < output.rank(); ++axis) {
    *text += axis == 0 ? "[i" : ",i";
    *text += std::to_string(axis);
    if (local) *text += "<" + std::to_string(output.extents[axis]);
  }
  if (output.rank() > 0) *text += "]";
  if (local && output.outside != Outside::kRefuse) {
    *text += " outside ";
    *text += OutsideName(output.outside);
  }
  *text += "=";
}

// The text, and whether printing what it says may give another.
std::string TextOf(const Task& task, bool* collapsed) {
  std::string text;
  text.reserve(512);
  for (int i = 0; i < task.bound_count; ++i) AppendTensor(i, task.tensors[i], &text);
  for (size_t i = 0; i < task.scalars.size(); ++i) {
    AppendScalar(static_cast<int>(i), task.scalars[i], &text);
  }
  AppendContract(task.contract, &text);
  AppendSteps(task.formula, &text);
  CanonicalExpression expression(task);
  for (const Statement& statement : task.formula.statements) {
    AppendLeftSide(task, statement, &text);
    text += expression.Of(statement) + "\n";
  }
  *collapsed = expression.collapsed();
  return text;
}

}  // namespace

std::string CanonicalText(const Task& task) {
  bool collapsed = false;
  std::string text = TextOf(task, &collapsed);
  // Where operands fell together, what is left may meet its neighbours: (x*2/2 + y) + z is one sum
  // only once x*2/2 is x. Each round leaves fewer operands.
  for (int round = 0; collapsed && round < kMaxRounds; ++round) {
    const Result<Task> again = ParseTask(text);
    if (!again.ok()) break;
    std::string next = TextOf(*again, &collapsed);
    if (next == text) break;
    text = std::move(next);
  }
  return text;
}

}  // namespace hiera
