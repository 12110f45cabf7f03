#include "policies/framework/expression_writer.h"

#include <algorithm>
#include <cassert>

namespace hiera {
namespace {

constexpr size_t kLongestInline = 72;  // longer values get a line of their own

bool IsLeaf(Op op) { return op == Op::kConstant || op == Op::kScalar || op == Op::kIndex; }

bool IsArg(Reduction reduce) {
  return reduce == Reduction::kArgMax || reduce == Reduction::kArgMin;
}

}  // namespace

std::string_view FunctionName(Op op) {
  switch (op) {
    case Op::kAbs:
      return "abs";
    case Op::kExp:
      return "exp";
    case Op::kLog:
      return "log";
    case Op::kSin:
      return "sin";
    case Op::kCos:
      return "cos";
    case Op::kSqrt:
      return "sqrt";
    case Op::kRsqrt:
      return "rsqrt";
    case Op::kTanh:
      return "tanh";
    case Op::kErf:
      return "erf";
    case Op::kSigmoid:
      return "sigmoid";
    case Op::kRelu:
      return "relu";
    case Op::kGelu:
      return "gelu";
    case Op::kSilu:
      return "silu";
    case Op::kFloor:
      return "floor";
    case Op::kPow:
      return "pow";
    case Op::kMin:
      return "min";
    case Op::kMax:
      return "max";
    case Op::kMod:
      return "mod";
    default:
      return "";
  }
}

std::string_view OperatorText(Op op) {
  switch (op) {
    case Op::kAdd:
      return " + ";
    case Op::kSub:
      return " - ";
    case Op::kMul:
      return " * ";
    case Op::kDiv:
      return " / ";
    case Op::kLess:
      return " < ";
    case Op::kLessEqual:
      return " <= ";
    case Op::kEqual:
      return " == ";
    case Op::kNotEqual:
      return " != ";
    case Op::kAnd:
      return " & ";
    case Op::kOr:
      return " | ";
    default:
      return "";
  }
}

std::string AccumulatorText::Update(const std::string& acc, const std::string& value) const {
  std::string text;
  for (size_t at = 0; at < update.size();) {
    if (update.compare(at, 4, "$acc") == 0) {
      text += acc;
      at += 4;
    } else if (update.compare(at, 6, "$value") == 0) {
      text += value;
      at += 6;
    } else {
      text += update[at++];
    }
  }
  return text;
}

AccumulatorText AccumulatorOf(Reduction reduce, ValueType type) {
  const bool real = type == ValueType::kReal;
  switch (reduce) {
    case Reduction::kSum:
    case Reduction::kMean:
      return {"0", "$acc += $value;"};
    case Reduction::kProd:
      return {"1", "$acc *= $value;"};
    case Reduction::kMax:
    case Reduction::kArgMax:
      return {real ? "(real)-__builtin_inf()" : "-0x7fffffffffffffffL - 1",
              "$acc = fn::max($acc, $value);"};
    case Reduction::kMin:
    case Reduction::kArgMin:
      return {real ? "(real)__builtin_inf()" : "0x7fffffffffffffffL",
              "$acc = fn::min($acc, $value);"};
    case Reduction::kAny:
      return {"false", "$acc |= $value;"};
    case Reduction::kAll:
      return {"true", "$acc &= $value;"};
  }
  return {};
}

std::string_view AcrossName(Reduction reduce) {
  switch (reduce) {
    case Reduction::kProd:
      return "prod";
    case Reduction::kMax:
      return "max";
    case Reduction::kMin:
      return "min";
    case Reduction::kAny:
      return "any";
    case Reduction::kAll:
      return "all";
    default:
      return "sum";
  }
}

ExpressionWriter::ExpressionWriter(const FormulaFacts& facts, const ElementAccess& access)
    : facts_(facts), access_(access) {
  const size_t count = facts.task().formula.indices.size();
  for (size_t i = 0; i < count; ++i) names_.push_back(IndexName(static_cast<int>(i)));
  bound_.assign(count, false);
}

const std::string* ExpressionWriter::Find(int node) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->values.find(node);
    if (found != scope->values.end()) return &found->second;
    if (scope->rebound >= 0 && facts_.DependsOn(node, scope->rebound)) return nullptr;
  }
  return nullptr;
}

std::string ExpressionWriter::Temporary(int n, const std::string& text) {
  const std::string name = "v" + std::to_string(n);
  out_->Line("const " + std::string(ValueTypeText(facts_.node(n).type)) + " " + name + " = " +
             Bare(text) + ";");
  return name;
}

std::string ExpressionWriter::Value(int n) {
  if (const std::string* known = Find(n)) return *known;
  std::string text = Text(n);
  const Op op = facts_.node(n).op;
  const bool checked = op == Op::kLoad && text.find('?') != std::string::npos;
  const bool named = op == Op::kReduce || op == Op::kScan || IsLeaf(op);
  if (!named && (facts_.uses(n) > 1 || text.size() > kLongestInline || checked))
    text = Temporary(n, text);
  Define(n, text);
  return text;
}

std::string ExpressionWriter::Constant(double value, ValueType type) const {
  return ConstantText(value, type, facts_.task().contract.accumulate);
}

std::string ExpressionWriter::Text(int n) {
  const Node& node = facts_.node(n);
  switch (node.op) {
    case Op::kConstant:
      return Constant(node.constant, node.type);
    case Op::kScalar:
      return ScalarName(node.target);
    case Op::kIndex: {
      const std::string text = AffineText(node.affine, names_);
      if (index_type_ != "long") return "(long)" + Parenthesised(text);  // integers have 64 bits
      return text.find(' ') == std::string::npos && text[0] != '-' ? text : "(" + text + ")";
    }
    case Op::kLoad:
      return Load(n);
    case Op::kSelect:
      return Select(n);
    case Op::kReduce:
      return IsArg(node.reduce) ? ArgReduce(n) : Reduce(n);
    case Op::kScan:
      return DirectScan(n);
    default:
      return node.operands.size() == 1 ? Unary(node) : Binary(node);
  }
}

std::string ExpressionWriter::Unary(const Node& node) {
  const std::string operand = Value(node.operands[0]);
  if (node.op == Op::kNeg) return "(-" + operand + ")";
  if (node.op == Op::kNot) return "(!" + operand + ")";
  if (node.op == Op::kToReal) return "(real)" + operand;
  return "fn::" + std::string(FunctionName(node.op)) + "(" + Bare(operand) + ")";
}

std::string ExpressionWriter::Binary(const Node& node) {
  const std::string left = Value(node.operands[0]);
  const std::string right = Value(node.operands[1]);
  const std::string_view infix = OperatorText(node.op);
  if (!infix.empty()) return "(" + left + std::string(infix) + right + ")";
  return "fn::" + std::string(FunctionName(node.op)) + "(" + Bare(left) + ", " + Bare(right) + ")";
}

std::string ExpressionWriter::Load(int n) {
  const Node& node = facts_.node(n);
  bool plain = true;
  for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
    const AxisCheck check = facts_.CheckOf(node, static_cast<int>(axis));
    if (check == AxisCheck::kEvery || (check == AxisCheck::kEdge && edges_checked_)) plain = false;
  }
  if (!plain) return CheckedLoad(n);
  return access_.Read(node.target, access_.Offset(node.target, node.subscripts, names_));
}

std::string ExpressionWriter::CheckedLoad(int n) {
  const Node& node = facts_.node(n);
  const TensorSpec& tensor = access_.task().tensors[node.target];
  std::string condition, offset;
  const auto require = [&](const std::string& text) {
    condition += (condition.empty() ? "" : " && ") + text;
  };
  for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
    const Subscript& subscript = node.subscripts[axis];
    const std::string extent = std::to_string(tensor.extents[axis]);
    const AxisCheck check = facts_.CheckOf(node, static_cast<int>(axis));
    std::string at =
        subscript.gather >= 0 ? Value(subscript.gather) : AffineText(subscript.affine, names_);
    if (subscript.gather < 0 && subscript.affine.divisor != 1) {
      const std::string divisor = std::to_string(subscript.affine.divisor);
      require("(" + at + ") % " + divisor + " == 0");
      at = "(" + at + ") / " + divisor;
    }
    if (check == AxisCheck::kEvery || (check == AxisCheck::kEdge && edges_checked_)) {
      if (tensor.outside == Outside::kClamp) {
        at = "fn::clamp(" + at + ", " + extent + ")";
      } else if (tensor.outside == Outside::kWrap) {
        at = "fn::wrap(" + at + ", " + extent + ")";
      } else {
        require("fn::inside(" + at + ", " + extent + ")");
      }
    }
    if (!offset.empty()) offset += " + ";
    const std::string stride = access_.Stride(node.target, static_cast<int>(axis));
    offset += Parenthesised(at) + (stride == "1" ? "" : " * " + stride);
  }
  const std::string read = access_.Read(node.target, offset.empty() ? "0" : offset);
  if (condition.empty()) return read;
  const std::string zero = Constant(0, node.type);
  if (tensor.outside != Outside::kKeep) return "(" + condition + " ? " + read + " : " + zero + ")";
  assert(!keep_.empty());
  const std::string inside = "in" + std::to_string(n);
  out_->Line("const bool " + inside + " = " + condition + ";");
  out_->Line(keep_ + " |= !" + inside + ";");
  return "(" + inside + " ? " + read + " : " + zero + ")";
}

// Only the chosen value counts: where a branch needs lines of its own they stand inside it.
std::string ExpressionWriter::Select(int n) {
  const Node& node = facts_.node(n);
  const std::string condition = Value(node.operands[0]);
  SourceText* outer = out_;
  SourceText lines[2];
  std::string values[2];
  for (int branch = 0; branch < 2; ++branch) {
    out_ = &lines[branch];
    OpenScope();
    values[branch] = Value(node.operands[1 + branch]);
    CloseScope();
  }
  out_ = outer;
  if (lines[0].empty() && lines[1].empty()) {
    return "(" + condition + " ? " + values[0] + " : " + values[1] + ")";
  }
  const std::string name = "v" + std::to_string(n);
  out_->Line(std::string(ValueTypeText(node.type)) + " " + name + ";");
  out_->Open("if (" + condition + ") {");
  out_->Append(lines[0]);
  out_->Line(name + " = " + values[0] + ";");
  out_->Middle("} else {");
  out_->Append(lines[1]);
  out_->Line(name + " = " + values[1] + ";");
  out_->Close();
  return name;
}

bool ExpressionWriter::Hoistable(int n) const {
  if (facts_.node(n).op != Op::kReduce || facts_.MayKeep(n)) return false;
  for (size_t index = 0; index < bound_.size(); ++index) {
    if (!bound_[index] && facts_.DependsOn(n, static_cast<int>(index))) return false;
  }
  return true;
}

void ExpressionWriter::HoistReductions(int root) {
  for (int n : facts_.Below(root, [this](int m) { return Hoistable(m) && Find(m) != nullptr; })) {
    if (Hoistable(n)) Value(n);
  }
}

bool ExpressionWriter::OpenReduction(int n) {
  const Node& node = facts_.node(n);
  const bool shared = !thread_.empty() && !facts_.MayKeep(n);
  if (!shared || node.bound.size() == 1) {
    bool first = shared;
    for (int index : node.bound) {
      const std::string& name = names_[index];
      out_->Open("for (" + index_type_ + " " + name + " = " + (first ? thread_ : "0") + "; " +
                 name + " < " + std::to_string(facts_.extent(index)) + "; " +
                 (first ? name + " += " + threads_ : "++" + name) + ") {");
      Bind(index);
      first = false;
    }
  } else {
    int64_t rest = 1;
    for (int index : node.bound) rest *= facts_.extent(index);
    const std::string flat = "b" + std::to_string(n);
    out_->Open("for (" + index_type_ + " " + flat + " = " + thread_ + "; " + flat + " < " +
               std::to_string(rest) + "; " + flat + " += " + threads_ + ") {");
    for (int index : node.bound) {
      rest /= std::max<int64_t>(facts_.extent(index), 1);
      out_->Line("const " + index_type_ + " " + names_[index] + " = " + flat + " / " +
                 std::to_string(rest) +
                 (index == node.bound[0] ? "" : " % " + std::to_string(facts_.extent(index))) +
                 ";");
      Bind(index);
    }
  }
  OpenScope();
  return shared;
}

void ExpressionWriter::CloseReduction(int n, bool shared) {
  const Node& node = facts_.node(n);
  CloseScope();
  const size_t loops = shared ? 1 : node.bound.size();
  for (size_t i = 0; i < loops; ++i) out_->Close();
  for (int index : node.bound) Bind(index, false);
}

std::string ExpressionWriter::Reduce(int n) {
  const Node& node = facts_.node(n);
  HoistReductions(node.operands[0]);
  const AccumulatorText text = AccumulatorOf(node.reduce, node.type);
  const std::string acc = "r" + std::to_string(n);
  out_->Line(std::string(ValueTypeText(node.type)) + " " + acc + " = " + text.initial + ";");
  const std::string thread = thread_, threads = threads_;
  const bool shared = OpenReduction(n);
  if (shared) set_together("", "");  // what is inside is each thread's own
  const std::string value = Value(node.operands[0]);
  out_->Line(text.Update(acc, Bare(value)));
  CloseReduction(n, shared);
  set_together(thread, threads);
  if (shared) {
    out_->Line(acc + " = fn::across_" + std::string(AcrossName(node.reduce)) + "(" + acc + ");");
  }
  double terms = 1;
  for (int index : node.bound) terms *= static_cast<double>(facts_.extent(index));
  if (node.reduce == Reduction::kMean) out_->Line(acc + " /= " + Constant(terms, node.type) + ";");
  return acc;
}

std::string ExpressionWriter::ArgReduce(int n) {
  const Node& node = facts_.node(n);
  const ValueType type = facts_.node(node.operands[0]).type;
  HoistReductions(node.operands[0]);
  const bool most = node.reduce == Reduction::kArgMax;
  const std::string arg = "r" + std::to_string(n), best = "best" + std::to_string(n);
  out_->Line(std::string(ValueTypeText(type)) + " " + best + " = " +
             AccumulatorOf(node.reduce, type).initial + ";");
  out_->Line("long " + arg + " = 0;");
  const std::string thread = thread_, threads = threads_;
  const bool shared = OpenReduction(n);
  if (shared) set_together("", "");
  std::string value = Value(node.operands[0]);
  const std::string v = "value" + std::to_string(n);
  out_->Line("const " + std::string(ValueTypeText(type)) + " " + v + " = " + value + ";");
  std::string better = v + (most ? " > " : " < ") + best;
  if (type == ValueType::kReal) {  // the first NaN wins
    better += " || (" + v + " != " + v + " && " + best + " == " + best + ")";
  }
  out_->Open("if (" + better + ") {");
  out_->Line(best + " = " + v + ";");
  out_->Line(arg + " = " + names_[node.bound[0]] + ";");
  out_->Close();
  CloseReduction(n, shared);
  set_together(thread, threads);
  if (shared) {
    out_->Line(arg + " = fn::across_arg" + (most ? "max" : "min") + "(" + best + ", " + arg + ");");
  }
  return arg;
}

// A scan that no loop carries: its own loop from the axis' end for every element. Only for scans
// that are nested in ways that a single pass does not serve.
std::string ExpressionWriter::DirectScan(int n) {
  const Node& node = facts_.node(n);
  const bool sum = node.scan.kind == ScanKind::kSum;
  const std::string acc = "r" + std::to_string(n), at = "j" + std::to_string(n);
  const std::string here = names_[node.target];
  Bind(node.target, false);
  HoistReductions(node.operands[0]);
  Bind(node.target);
  out_->Line(std::string(ValueTypeText(node.type)) + " " + acc + (sum ? " = 0;" : " = 1;"));
  const std::string bound = node.scan.exclusive ? " " : "= ";
  if (node.scan.reverse) {
    out_->Open("for (" + index_type_ + " " + at + " = " +
               std::to_string(facts_.extent(node.target) - 1) + "; " + at + " >" + bound + here +
               "; --" + at + ") {");
  } else {
    out_->Open("for (" + index_type_ + " " + at + " = 0; " + at + " <" + bound + here + "; ++" +
               at + ") {");
  }
  names_[node.target] = at;
  OpenScope(node.target);
  const std::string value = Value(node.operands[0]);
  out_->Line(acc + (sum ? " += " : " *= ") + value + ";");
  CloseScope();
  names_[node.target] = here;
  out_->Close();
  return acc;
}

}  // namespace hiera
