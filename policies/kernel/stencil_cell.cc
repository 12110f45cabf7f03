#include "policies/kernel/stencil_cell.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace hiera {
namespace {

// Longer texts are given a name, so that no expression nests deeper than compilers allow.
constexpr size_t kMaxText = 400;

class CellWriter {
 public:
  CellWriter(const Task& task, const std::function<std::string(int)>& read)
      : task_(task),
        nodes_(task.formula.nodes),
        read_(read),
        values_(nodes_.size()),
        uses_(nodes_.size(), 0) {}

  Result<StencilCell> Write() {
    const int root = task_.formula.statements[0].root;
    CountUses(root);
    for (int n = 0; n <= root; ++n) {
      if (uses_[n] > 0) HIERA_RETURN_IF_ERROR(WriteNode(n));
    }
    cell_.body += "return " + Packed(root) + ";\n";
    return std::move(cell_);
  }

 private:
  // A value's text. Plain ones are numbers that are the same in every cell; masks are packs of
  // truth values.
  struct Value {
    std::string text;
    bool plain = false;
    std::optional<double> constant;
  };

  const Node& Operand(int n, int i) const { return nodes_[nodes_[n].operands[i]]; }
  Value& ValueOf(int n, int i) { return values_[nodes_[n].operands[i]]; }
  std::string Packed(int n) const {
    const Value& value = values_[n];
    return value.plain ? "R::Value::Splat(" + value.text + ")" : value.text;
  }
  std::string PackedOperand(int n, int i) const { return Packed(nodes_[n].operands[i]); }
  std::string Literal(double x) const { return RealLiteral(x, task_.contract.accumulate); }

  void CountUses(int root) {
    uses_[root] = 1;
    for (int n = root; n >= 0; --n) {
      if (uses_[n] == 0) continue;
      for (int operand : nodes_[n].operands) ++uses_[operand];
    }
  }

  Status WriteNode(int n) {
    const Node& node = nodes_[n];
    for (int operand : node.operands) {
      if (nodes_[operand].type == ValueType::kInt) return Refuse("computes with integers");
    }
    Value value;
    if (Status status = WriteValue(n, &value); !status.ok()) return status;
    const bool leaf = node.operands.empty() && node.op != Op::kLoad;
    if (!leaf && (uses_[n] > 1 || value.text.size() > kMaxText)) {
      const std::string name = "t" + std::to_string(names_++);
      cell_.body += "const auto " + name + " = " + value.text + ";\n";
      value.text = name;
    }
    values_[n] = std::move(value);
    return {};
  }

  Status WriteValue(int n, Value* value) {
    const Node& node = nodes_[n];
    switch (node.op) {
      case Op::kConstant:
        if (node.type != ValueType::kReal) return Refuse("uses a constant that is not real");
        *value = {Literal(node.constant), true, node.constant};
        return {};
      case Op::kScalar:
        return WriteScalar(node, value);
      case Op::kLoad:
        *value = {read_(n), false, {}};
        return {};
      case Op::kIndex:
        return Refuse("uses the value of an index");
      case Op::kToReal:
        *value = {"Select(" + PackedOperand(n, 0) + ", R::Value::Splat(1), R::Value::Splat(0))",
                  false,
                  {}};
        ++cell_.work.operations;
        return {};
      default:
        return node.operands.size() == 1 ? WriteUnary(n, value) : WriteOther(n, value);
    }
  }

  Status WriteScalar(const Node& node, Value* value) {
    const ScalarClass value_class = task_.scalars[node.target].value_class;
    if (value_class != ScalarClass::kAny) {
      const double known = value_class == ScalarClass::kOne ? 1 : 0;
      *value = {Literal(known), true, known};
      return {};
    }
    size_t at = 0;
    while (at < cell_.scalars.size() && cell_.scalars[at] != node.target) ++at;
    if (at == cell_.scalars.size()) cell_.scalars.push_back(node.target);
    *value = {"s[" + std::to_string(at) + "]", true, {}};
    return {};
  }

  Status WriteUnary(int n, Value* value) {
    const char* function = nullptr;
    switch (nodes_[n].op) {
      case Op::kNeg: {
        const Value& operand = ValueOf(n, 0);
        *value = {"(-" + operand.text + ")", operand.plain, {}};
        if (operand.constant) value->constant = -*operand.constant;
        if (!operand.plain) ++cell_.work.operations;
        return {};
      }
      case Op::kAbs:
        function = "Abs";
        break;
      case Op::kSqrt:
        function = "Sqrt";
        break;
      case Op::kRsqrt:
        function = "Rsqrt";
        break;
      case Op::kFloor:
        function = "Floor";
        break;
      case Op::kRelu:
        function = "Relu";
        break;
      case Op::kNot:
        function = "Not";
        break;
      case Op::kExp:
      case Op::kLog:
      case Op::kSin:
      case Op::kCos:
      case Op::kTanh:
      case Op::kErf:
      case Op::kSigmoid:
      case Op::kGelu:
      case Op::kSilu:
        return Refuse("uses a transcendental function");
      default:
        return Refuse("uses a reduction or a scan");
    }
    *value = {std::string(function) + "(" + PackedOperand(n, 0) + ")", false, {}};
    CountFunction(nodes_[n].op);
    return {};
  }

  void CountFunction(Op op) {
    StencilTask::Work& work = cell_.work;
    work.roots += op == Op::kSqrt || op == Op::kRsqrt;
    work.divisions += op == Op::kRsqrt;
    work.operations += op == Op::kRelu ? 2 : 1;
  }

  Status WriteOther(int n, Value* value) {
    switch (nodes_[n].op) {
      case Op::kAdd:
        return WriteArithmetic(n, "+", value);
      case Op::kSub:
        return WriteArithmetic(n, "-", value);
      case Op::kMul:
        return WriteArithmetic(n, "*", value);
      case Op::kDiv:
        return WriteDivision(n, value);
      case Op::kMin:
        return WriteCall(n, "Smaller", 4, value);
      case Op::kMax:
        return WriteCall(n, "Larger", 4, value);
      case Op::kAnd:
        return WriteCall(n, "And", 1, value);
      case Op::kOr:
        return WriteCall(n, "Or", 1, value);
      case Op::kSelect:
        return WriteCall(n, "Select", 1, value);
      case Op::kPow:
        return Refuse("uses a transcendental function");
      case Op::kLess:
        return WriteComparison(n, "<", value);
      case Op::kLessEqual:
        return WriteComparison(n, "<=", value);
      case Op::kEqual:
        return WriteComparison(n, "==", value);
      case Op::kNotEqual:
        return WriteComparison(n, "!=", value);
      default:
        return Refuse("uses an operation of integers");
    }
  }

  // The sum of a product costs nothing beside the product where the two may be contracted.
  Status WriteArithmetic(int n, const char* op, Value* value) {
    const Value &a = ValueOf(n, 0), &b = ValueOf(n, 1);
    *value = {"(" + a.text + " " + op + " " + b.text + ")", a.plain && b.plain, {}};
    if (value->plain) return {};
    const bool sum = nodes_[n].op != Op::kMul;
    const bool product = Operand(n, 0).op == Op::kMul || Operand(n, 1).op == Op::kMul;
    if (!(sum && product && task_.contract.arithmetic != Arithmetic::kExact)) {
      ++cell_.work.operations;
    }
    return {};
  }

  // x / c becomes x * (1 / c) unless the arithmetic is exact: one more rounding of half a unit,
  // where a division takes longer than all else in most stencils.
  Status WriteDivision(int n, Value* value) {
    const Value &a = ValueOf(n, 0), &b = ValueOf(n, 1);
    if (b.constant && !a.plain && task_.contract.arithmetic != Arithmetic::kExact) {
      const double inverse = 1 / *b.constant;
      const double rounded =
          task_.contract.accumulate == DType::kF32 ? static_cast<float>(inverse) : inverse;
      if (std::isnormal(rounded) && std::abs(rounded) > 1e-30 && std::abs(rounded) < 1e30) {
        *value = {"(" + a.text + " * " + Literal(inverse) + ")", false, {}};
        ++cell_.work.operations;
        return {};
      }
    }
    *value = {"(" + a.text + " / " + b.text + ")", a.plain && b.plain, {}};
    if (!value->plain) ++cell_.work.divisions;
    return {};
  }

  Status WriteComparison(int n, const char* op, Value* value) {
    if (Operand(n, 0).type != ValueType::kReal) return Refuse("compares values that are not real");
    *value = {"(" + PackedOperand(n, 0) + " " + op + " " + PackedOperand(n, 1) + ")", false, {}};
    ++cell_.work.operations;
    return {};
  }

  Status WriteCall(int n, const char* function, int operations, Value* value) {
    value->text = std::string(function) + "(";
    for (size_t i = 0; i < nodes_[n].operands.size(); ++i) {
      value->text += (i ? ", " : "") + PackedOperand(n, static_cast<int>(i));
    }
    value->text += ")";
    cell_.work.operations += operations;
    return {};
  }

  static Status Refuse(const std::string& why) {
    return Unsupported("the formula " + why + ", which the stencil template has no code for");
  }

  const Task& task_;
  const std::vector<Node>& nodes_;
  const std::function<std::string(int)>& read_;
  std::vector<Value> values_;
  std::vector<int> uses_;
  int names_ = 0;
  StencilCell cell_;
};

}  // namespace

std::string RealLiteral(double value, DType dtype) {
  const bool single = dtype == DType::kF32;
  if (single) value = static_cast<float>(value);
  const std::string cast = single ? "float(" : "double(";
  if (std::isnan(value)) return cast + "__builtin_nan(\"\"))";
  if (std::isinf(value)) return cast + (value < 0 ? "-" : "") + "__builtin_inf())";
  char text[64];
  const auto end = single ? std::to_chars(text, text + sizeof text, static_cast<float>(value))
                          : std::to_chars(text, text + sizeof text, value);
  std::string literal(text, end.ptr);
  if (literal.find_first_of(".e") == std::string::npos) literal += ".0";
  if (single) literal += "f";
  return value < 0 ? "(" + literal + ")" : literal;
}

Result<StencilCell> EmitStencilCell(const Task& task,
                                    const std::function<std::string(int node)>& read) {
  return CellWriter(task, read).Write();
}

}  // namespace hiera
