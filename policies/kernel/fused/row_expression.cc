#include "policies/kernel/fused/row_expression.h"

#include "policies/framework/expression_writer.h"

namespace hiera {
namespace {

constexpr size_t kLongestInline = 60;  // longer values get a line of their own

}  // namespace

RowExpression::RowExpression(const Task& task, const RowProgram& program,
                             const ElementAccess& access, Lanes lanes)
    : task_(task),
      program_(program),
      access_(access),
      lanes_(lanes),
      uses_(program.values.size(), 0) {
  for (const RowValue& value : program.values) {
    for (int operand : value.operands) ++uses_[operand];
  }
  for (const RowOutput& output : program.outputs) ++uses_[output.value];
}

std::string RowExpression::Offset(const std::vector<int64_t>& coefficients, int64_t offset) const {
  Affine affine;
  affine.offset = offset;
  std::vector<std::string> names;
  for (int a = 0; a < static_cast<int>(coefficients.size()); ++a) {
    names.push_back(a == lane_axis() ? "x" : AxisName(a));
    if (coefficients[a] != 0) affine.terms.emplace_back(a, coefficients[a]);
  }
  return AffineText(affine, names);
}

std::string RowExpression::TypeText(int v) const {
  const ValueType type = program_.values[v].type;
  if (!IsVector(v)) return std::string(ValueTypeText(type));
  return type == ValueType::kReal ? "vec" : "mask";
}

std::string RowExpression::Value(int v) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto known = scope->find(v);
    if (known != scope->end()) return known->second;
  }
  std::string text = Text(v);
  const Op op = program_.values[v].op;
  const bool leaf = op == Op::kConstant || op == Op::kScalar;
  if (!leaf && (uses_[v] > 1 || text.size() > kLongestInline)) {
    const std::string name = "v" + std::to_string(v);
    out_->Line("const " + TypeText(v) + " " + name + " = " + Bare(text) + ";");
    text = name;
  }
  Define(v, text);
  return text;
}

std::string RowExpression::Vector(int v) {
  const std::string text = Value(v);
  if (IsVector(v)) return text;
  if (program_.values[v].type == ValueType::kReal) return "vm::all<vec>(" + Bare(text) + ")";
  if (program_.values[v].type == ValueType::kInt) return "vm::all<mask>(" + Bare(text) + ")";
  return "vm::all<mask>(-(int)" + text + ")";
}

std::string RowExpression::Load(const RowValue& value) {
  const std::string offset = Offset(value.coefficients, value.offset);
  const int64_t stride = value.coefficients[lane_axis()];
  if (stride == 0 || lanes_ == Lanes::kThreads) return access_.Read(value.target, offset);
  const std::string from = TensorName(value.target) + (offset == "0" ? "" : " + " + offset);
  if (stride == 1) return "vm::load<vec>(" + from + ", lanes)";
  return "vm::load<vec>(" + from + ", " + std::to_string(stride) + ", lanes)";
}

std::string RowExpression::IndexValue(const RowValue& value) {
  const std::string first = Offset(value.coefficients, value.offset);
  const int64_t step = value.coefficients[lane_axis()];
  if (lanes_ == Lanes::kThreads) return "(long)(" + first + ")";
  if (step == 0) return "(" + first + ")";
  return "vm::count_up<mask>(" + first + ", " + std::to_string(step) + ")";
}

std::string RowExpression::Unary(const RowValue& value, bool vector) {
  const std::string operand = Operand(value.operands[0], vector);
  if (value.op == Op::kNeg) return "(-" + operand + ")";
  if (value.op == Op::kNot) return (vector ? "(~" : "(!") + operand + ")";
  if (value.op == Op::kToReal) {
    if (!vector) return "(real)" + operand;
    const bool from_bool = program_.values[value.operands[0]].type == ValueType::kBool;
    return from_bool ? "vm::to_real<vec>(-" + operand + ")" : "vm::to_real<vec>(" + operand + ")";
  }
  return (vector ? "vm::" : "fn::") + std::string(FunctionName(value.op)) + "(" + Bare(operand) +
         ")";
}

std::string RowExpression::Text(int v) {
  const RowValue& value = program_.values[v];
  const bool vector = IsVector(v);
  switch (value.op) {
    case Op::kConstant:
      return ConstantText(value.constant, value.type, task_.contract.accumulate);
    case Op::kScalar:
      return ScalarName(value.target);
    case Op::kLoad:
      return Load(value);
    case Op::kIndex:
      return IndexValue(value);
    case Op::kSelect: {
      const std::string condition = Value(value.operands[0]);
      return "(" + condition + " ? " + Operand(value.operands[1], vector) + " : " +
             Operand(value.operands[2], vector) + ")";
    }
    default:
      break;
  }
  if (value.operands.size() == 1) return Unary(value, vector);
  const std::string left = Operand(value.operands[0], vector);
  const std::string right = Operand(value.operands[1], vector);
  const std::string infix(OperatorText(value.op));
  if (!infix.empty()) return "(" + left + infix + right + ")";
  return (vector ? "vm::" : "fn::") + std::string(FunctionName(value.op)) + "(" + Bare(left) +
         ", " + Bare(right) + ")";
}

}  // namespace hiera
