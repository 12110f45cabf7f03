#include "policies/kernel/fused/row_program.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "policies/kernel/fused/row_axes.h"

namespace hiera {
namespace {

bool Costly(Op op) {
  switch (op) {
    case Op::kExp:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos:
    case Op::kSqrt:
    case Op::kRsqrt:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSigmoid:
    case Op::kGelu:
    case Op::kSilu:
    case Op::kDiv:
    case Op::kPow:
      return true;
    default:
      return false;
  }
}

class Builder {
 public:
  Builder(const Task& task, RowAxes axes) : task_(task), axes_(std::move(axes)) {}

  Result<RowProgram> Build() {
    const int count = static_cast<int>(axes_.extents.size());
    for (int a = 0; a < count; ++a) program_.axes.push_back({axes_.extents[a], a >= axes_.outer});
    produced_.assign(task_.tensors.size(), -1);
    for (const Statement& statement : task_.formula.statements) {
      const int value = Convert(statement.root);
      if (!error_.empty()) return Unsupported(error_);
      if (task_.is_local(statement.output)) {
        produced_[statement.output] = value;
        continue;
      }
      if (produced_[statement.output] >= 0) return Unsupported("writes an output twice");
      produced_[statement.output] = value;
      RowOutput output;
      output.tensor = statement.output;
      output.value = value;
      output.along_row = static_cast<int>(statement.indices.size()) > axes_.outer;
      output.strides.assign(count, 0);
      for (size_t d = 0; d < statement.indices.size(); ++d) {
        output.strides[axes_.axis_of[statement.indices[d]]] =
            task_.tensors[statement.output].strides[d];
      }
      program_.outputs.push_back(output);
    }
    if (!program_.reduces()) ChooseRow();
    MergeAxes(&program_);
    Derive(&program_);
    return std::move(program_);
  }

 private:
  // Without reductions any axis may be the row: the one that most accesses walk in order.
  void ChooseRow() {
    if (program_.axes.empty()) program_.axes.push_back({1, false});
    size_t best = program_.axes.size() - 1;
    int most = -1;
    for (size_t a = 0; a < program_.axes.size(); ++a) {
      int ordered = 0;
      for (const RowValue& value : program_.values) {
        ordered +=
            value.op == Op::kLoad && a < value.coefficients.size() && value.coefficients[a] == 1;
      }
      for (const RowOutput& output : program_.outputs) {
        ordered += a < output.strides.size() && output.strides[a] == 1 ? 2 : 0;
      }
      if (ordered >= most) {
        most = ordered;
        best = a;
      }
    }
    const auto move_last = [best](auto& list) {
      std::rotate(list.begin() + best, list.begin() + best + 1, list.end());
    };
    for (RowValue& value : program_.values) {
      value.coefficients.resize(program_.axes.size());
      move_last(value.coefficients);
    }
    for (RowOutput& output : program_.outputs) {
      output.strides.resize(program_.axes.size());
      move_last(output.strides);
      output.along_row = true;
    }
    move_last(program_.axes);
    program_.axes.back().row = true;
    // What lies in order around the row joins it.
    for (size_t a = program_.axes.size() - 1; a > 0 && program_.Joins(a - 1); --a) {
      program_.axes[a - 1].row = true;
    }
  }

  int Fail(const std::string& why) {
    if (error_.empty()) error_ = why;
    return -1;
  }

  // The axes' coefficients of an affine form, times `scale`, added to `value`.
  void AddAffine(const Affine& affine, int64_t scale, RowValue* value) {
    for (const auto& [index, coefficient] : affine.terms) {
      value->coefficients[axes_.axis_of[index]] += coefficient * scale;
    }
    value->offset += affine.offset * scale;
  }

  int Load(const Node& node) {
    const TensorSpec& tensor = task_.tensors[node.target];
    if (produced_[node.target] >= 0) {
      const DType whole = task_.is_local(node.target) || node.type != ValueType::kReal
                              ? tensor.dtype
                              : task_.contract.accumulate;
      if (tensor.dtype != whole) return Fail("reads back an output that was rounded");
      if (node.type == ValueType::kInt) return Fail("reads back integers");
      return produced_[node.target];
    }
    RowValue value = Empty(node);
    value.target = node.target;
    for (size_t d = 0; d < node.subscripts.size(); ++d) {
      const Subscript& subscript = node.subscripts[d];
      if (subscript.gather >= 0) return Fail("reads at a gathered index");
      if (subscript.affine.divisor != 1) return Fail("reads at a divided index");
      AddAffine(subscript.affine, tensor.strides[d], &value);
    }
    return Add(std::move(value));
  }

  RowValue Empty(const Node& node) const {
    RowValue value;
    value.op = node.op;
    value.type = node.type;
    value.coefficients.assign(program_.axes.size(), 0);
    return value;
  }

  int Convert(int n) {
    if (const auto known = converted_.find(n); known != converted_.end()) return known->second;
    const int value = ConvertNew(task_.formula.nodes[n]);
    converted_[n] = value;
    return value;
  }

  int ConvertNew(const Node& node) {
    if (node.op == Op::kLoad) return Load(node);
    if (node.op == Op::kScan) return Fail("has a scan");
    RowValue value = Empty(node);
    value.constant = node.constant;
    if (node.op == Op::kScalar) value.target = node.target;
    if (node.op == Op::kIndex) AddAffine(node.affine, 1, &value);
    for (int operand : node.operands) {
      value.operands.push_back(Convert(operand));
      if (!error_.empty()) return -1;
    }
    if (node.op == Op::kReduce) {
      value.reduce = node.reduce;
      if (node.reduce == Reduction::kArgMax || node.reduce == Reduction::kArgMin) {
        return Fail("has an argmax or argmin");
      }
      if (node.type == ValueType::kInt) return Fail("reduces integers");
    }
    const bool arithmetic = node.op != Op::kConstant && node.op != Op::kIndex &&
                            node.op != Op::kSelect && node.op != Op::kMin && node.op != Op::kMax;
    if (node.type == ValueType::kInt && arithmetic) return Fail("computes with integers");
    return Add(std::move(value));
  }

  // The value itself, or an equal one that is there already.
  int Add(RowValue value) {
    const Key key{
        value.op,     value.type,         value.operands, std::bit_cast<int64_t>(value.constant),
        value.target, value.coefficients, value.offset,   value.reduce};
    const auto [place, fresh] = known_.emplace(key, static_cast<int>(program_.values.size()));
    if (fresh) program_.values.push_back(std::move(value));
    return place->second;
  }

  using Key = std::tuple<Op, ValueType, std::vector<int>, int64_t, int, std::vector<int64_t>,
                         int64_t, Reduction>;

  const Task& task_;
  const RowAxes axes_;
  RowProgram program_;
  std::vector<int> produced_;  // per tensor: the value that a statement gave it, or -1
  std::map<int, int> converted_;
  std::map<Key, int> known_;
  std::string error_;
};

}  // namespace

int64_t RowProgram::OuterCount() const {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.row ? 1 : axis.extent;
  return count;
}

int64_t RowProgram::RowCount() const {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.row ? axis.extent : 1;
  return count;
}

bool RowProgram::reduces() const {
  return std::any_of(values.begin(), values.end(),
                     [](const RowValue& value) { return value.op == Op::kReduce; });
}

bool RowProgram::Joins(size_t a) const {
  const int64_t inner = axes[a + 1].extent;
  const auto joins = [&](const std::vector<int64_t>& strides) {
    return strides[a] == strides[a + 1] * inner;
  };
  return std::all_of(values.begin(), values.end(),
                     [&](const RowValue& value) { return joins(value.coefficients); }) &&
         std::all_of(outputs.begin(), outputs.end(),
                     [&](const RowOutput& output) { return joins(output.strides); });
}

void MergeAxes(RowProgram* program) {
  for (size_t a = 0; a + 1 < program->axes.size();) {
    if (program->axes[a].row != program->axes[a + 1].row || !program->Joins(a)) {
      ++a;
      continue;
    }
    program->axes[a].extent *= program->axes[a + 1].extent;
    program->axes.erase(program->axes.begin() + a + 1);
    for (RowValue& value : program->values) {
      value.coefficients.erase(value.coefficients.begin() + a);
    }
    for (RowOutput& output : program->outputs) output.strides.erase(output.strides.begin() + a);
  }
}

void Derive(RowProgram* program) {
  const size_t axes = program->axes.size();
  for (RowValue& value : program->values) {
    const bool reduces = value.op == Op::kReduce;
    value.depends.assign(axes, false);
    value.in_row = false;
    value.level = 0;
    value.costly = Costly(value.op);
    for (int operand : value.operands) {
      value.level = std::max(value.level, program->values[operand].level);
      if (program->values[operand].costly) value.costly = true;
    }
    if (reduces) {
      ++value.level;
      value.costly = false;
    }
    for (size_t a = 0; a < axes; ++a) {
      bool depends = value.coefficients[a] != 0;
      for (int operand : value.operands) {
        if (program->values[operand].depends[a]) depends = true;
      }
      value.depends[a] = depends && !(reduces && program->axes[a].row);
      if (value.depends[a] && program->axes[a].row) value.in_row = true;
    }
  }
  program->passes = 1;
  for (const RowOutput& output : program->outputs) {
    const int level = program->values[output.value].level;
    program->passes = std::max(program->passes, output.along_row ? level + 1 : level);
  }
}

Result<RowProgram> MakeRowProgram(const Task& task) {
  if (task.formula.steps != 1) return Unsupported("has several steps");
  for (int t = 0; t < task.bound_count; ++t) {
    if (CanReadOutside(task, t)) return Unsupported("reads outside a tensor");
  }
  for (const Index& index : task.formula.indices) {
    if (index.extent == 0) return Unsupported("has an axis of no elements");
  }
  Result<RowAxes> axes = FindRowAxes(task);
  if (!axes.ok()) return axes.status();
  return Builder(task, *std::move(axes)).Build();
}

}  // namespace hiera
