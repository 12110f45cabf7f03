#include "policies/kernel/fused/cuda_row_writer.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "cuda_row_sources.h"
#include "policies/framework/expression_writer.h"
#include "policies/kernel/fused/row_expression.h"
#include "policies/kernel/fused/row_schedule.h"

namespace hiera {
namespace {

constexpr int64_t kMostBlocks = 0x7fffffff;
constexpr int64_t kMostElements = 0x7fffffff;  // that offsets of 32 bits reach
constexpr int64_t kRegisterBytes = 256;        // of a thread, for values that wait
constexpr int kMostNeighbours = 8;
constexpr int64_t kUnrolled = 8;  // steps along a row that are written out

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Whether elements with these coefficients can be moved `count` at a time along the lane axis.
bool InOrder(const std::vector<int64_t>& coefficients, int64_t offset, int count) {
  if (coefficients.back() != 1 || offset % count != 0) return false;
  return std::all_of(coefficients.begin(), coefficients.end() - 1,
                     [count](int64_t c) { return c % count == 0; });
}

class CudaRowWriter {
 public:
  CudaRowWriter(const Task& task, const RowProgram& program, const CudaRowOptions& options)
      : task_(task),
        program_(program),
        options_(options),
        access_(task, std::vector<bool>(task.tensors.size(), false)),
        expressions_(task, program, access_, RowExpression::Lanes::kThreads),
        lane_extent_(program.axes.back().extent) {
    while (outer_ < axes() && !program.axes[outer_].row) ++outer_;
    const int64_t step = int64_t{options.threads} * options.neighbours;
    steps_ = DivideUp(lane_extent_, step);
    const int64_t element = task.contract.accumulate == DType::kF64 ? 8 : 4;
    // Rows of several axes are walked in loops, whose elements have no register of their own.
    const int64_t waiting = steps_ * options.neighbours * element;
    const int64_t fit = outer_ + 1 == axes() ? kRegisterBytes / std::max<int64_t>(waiting, 1) : 0;
    schedule_ = ScheduleRow(program, static_cast<size_t>(fit), true);
    flat_ = !program.reduces();
    expressions_.set_out(&out_);
  }

  Result<CudaSource> Write() {
    if (program_.OuterCount() == 0 || program_.RowCount() == 0) {
      return Unsupported("there is nothing to compute");
    }
    const int64_t blocks = Blocks();
    if (blocks > kMostBlocks) return Unsupported("more rows than a grid has blocks");
    WriteHead();
    expressions_.OpenScope();
    if (flat_) {
      WriteFlat();
    } else {
      WriteRow();
    }
    expressions_.CloseScope();
    out_.Close();
    CudaSource source;
    source.text =
        std::string(embedded::cuda_functions_cu) + std::string(embedded::scalar_functions_cc) +
        std::string(embedded::cuda_together_cu) + std::string(embedded::cuda_row_cu) + out_.Text();
    source.plan.alignment = options_.neighbours > 1 ? 16 : 1;
    launch_.kernel = "rows";
    launch_.grid = {blocks, 1, 1};
    launch_.block = {options_.threads, options_.rows, 1};
    source.plan.steps.push_back(launch_);
    return source;
  }

 private:
  int axes() const { return static_cast<int>(program_.axes.size()); }
  const std::string& type() const { return index_; }

  int64_t Blocks() const {
    if (!flat_) return DivideUp(program_.OuterCount(), options_.rows);
    return DivideUp(program_.OuterCount() * program_.RowCount() / options_.neighbours,
                    int64_t{options_.threads} * options_.rows);
  }

  void WriteHead() {
    bool narrow = Blocks() * options_.threads * options_.rows < kMostElements;
    std::set<int> used, written, scalars;
    for (const RowValue& value : program_.values) {
      if (value.op == Op::kLoad) used.insert(value.target);
      if (value.op == Op::kScalar) scalars.insert(value.target);
    }
    for (const RowOutput& output : program_.outputs) {
      used.insert(output.tensor);
      written.insert(output.tensor);
    }
    out_.Line("// Fused rows, generated from a formula.");
    out_.Line(task_.contract.accumulate == DType::kF64 ? "typedef double real;"
                                                       : "typedef float real;");
    std::vector<std::string> parameters;
    for (int tensor : used) {
      narrow = narrow && task_.tensors[tensor].span_bytes() < kMostElements;
      parameters.push_back((written.count(tensor) != 0 ? "" : "const ") +
                           std::string(access_.StorageType(tensor)) + "* __restrict__ " +
                           TensorName(tensor));
      CudaArgument argument;
      argument.number = tensor;
      launch_.arguments.push_back(argument);
    }
    for (int scalar : scalars) {
      parameters.push_back("real " + ScalarName(scalar));
      CudaArgument argument;
      argument.kind = CudaArgument::Kind::kScalar;
      argument.number = scalar;
      argument.type = task_.contract.accumulate;
      launch_.arguments.push_back(argument);
    }
    index_ = narrow ? "int" : "long";
    out_.OpenList("extern \"C\" __global__ void __launch_bounds__(" +
                      std::to_string(options_.threads * options_.rows) + ") rows(",
                  parameters, ") {");
  }

  // The axes [first, last) of element `flat` of their product.
  void WriteAxes(const std::string& flat, int first, int last) {
    int64_t rest = 1;
    for (int a = first; a < last; ++a) rest *= program_.axes[a].extent;
    for (int a = first; a < last; ++a) {
      const int64_t extent = program_.axes[a].extent;
      rest /= extent;
      std::string text = rest == 1 ? flat : flat + " / " + std::to_string(rest);
      if (a > first) text += " % " + std::to_string(extent);
      out_.Line("const " + type() + " " + RowExpression::AxisName(a) + " = " + text + ";");
    }
  }

  // Elements are numbered through; no thread needs another.
  void WriteFlat() {
    const int64_t groups = program_.OuterCount() * program_.RowCount() / options_.neighbours;
    const std::string width = std::to_string(lane_extent_ / options_.neighbours);
    const std::string threads = std::to_string(options_.threads * options_.rows);
    const std::string thread =
        options_.rows == 1 ? "threadIdx.x"
                           : "threadIdx.y * " + std::to_string(options_.threads) + " + threadIdx.x";
    out_.Line("const " + type() + " at = (" + type() + ")blockIdx.x * " + threads + " + " + thread +
              ";");
    out_.Line("if (at >= " + std::to_string(groups) + ") return;");
    const bool one_row = groups == lane_extent_ / options_.neighbours;
    out_.Line("const " + type() + " x0 = " + (one_row ? "at" : "at % " + width) +
              (options_.neighbours == 1 ? "" : " * " + std::to_string(options_.neighbours)) + ";");
    if (!one_row) {
      out_.Line("const " + type() + " line = at / " + width + ";");
    }
    WriteAxes(one_row ? "0" : "line", 0, axes() - 1);
    for (int p = 0; p < program_.passes; ++p) {
      for (int v : schedule_.passes[p].before) expressions_.Value(v);
      WriteNeighbours(p, "");
    }
    WriteRowOutputs("x0 == 0");
  }

  void WriteRow() {
    const std::string rows = std::to_string(options_.rows);
    out_.Line("const " + type() + " row = " +
              (options_.rows == 1 ? "blockIdx.x"
                                  : "(" + type() + ")blockIdx.x * " + rows + " + threadIdx.y") +
              ";");
    if (program_.OuterCount() % options_.rows != 0) {
      out_.Line("if (row >= " + std::to_string(program_.OuterCount()) + ") return;");
    }
    WriteAxes("row", 0, outer_);
    for (int v : schedule_.buffered) {
      out_.Line(std::string(ValueTypeText(program_.values[v].type)) + " b" + std::to_string(v) +
                "[" + std::to_string(steps_) + "][" + std::to_string(options_.neighbours) + "];");
    }
    for (int p = 0; p < program_.passes; ++p) WritePass(p);
    WriteRowOutputs("threadIdx.x == 0");
  }

  void WritePass(int p) {
    const RowPass& pass = schedule_.passes[p];
    if (pass.reductions.empty() && pass.outputs.empty() && pass.saved.empty()) return;
    for (int v : pass.before) expressions_.Value(v);
    for (int v : pass.reductions) {
      const RowValue& value = program_.values[v];
      out_.Line(std::string(ValueTypeText(value.type)) + " r" + std::to_string(v) + " = " +
                AccumulatorOf(value.reduce, value.type).initial + ";");
    }
    for (int a = outer_; a + 1 < axes(); ++a) {
      const std::string name = RowExpression::AxisName(a);
      out_.Open("for (" + type() + " " + name + " = 0; " + name + " < " +
                std::to_string(program_.axes[a].extent) + "; ++" + name + ") {");
    }
    const std::string step = std::to_string(options_.threads);
    out_.Line(steps_ <= kUnrolled || !schedule_.buffered.empty() ? "#pragma unroll"
                                                                 : "#pragma unroll 4");
    out_.Open("for (int n = 0; n < " + std::to_string(steps_) + "; ++n) {");
    out_.Line("const " + type() + " x0 = (n * " + step + " + (int)threadIdx.x)" +
              (options_.neighbours == 1 ? "" : " * " + std::to_string(options_.neighbours)) + ";");
    const bool whole = lane_extent_ % (int64_t{options_.threads} * options_.neighbours) == 0;
    if (!whole) out_.Open("if (x0 < " + std::to_string(lane_extent_) + ") {");
    WriteNeighbours(p, "[n]");
    if (!whole) out_.Close();
    out_.Close();
    for (int a = outer_; a + 1 < axes(); ++a) out_.Close();
    for (int v : pass.reductions) WriteAcross(v);
  }

  void WriteAcross(int v) {
    const RowValue& value = program_.values[v];
    const std::string name = "r" + std::to_string(v);
    out_.Line(name + " = fn::across_" + std::string(AcrossName(value.reduce)) + "(" + name + ");");
    if (value.reduce == Reduction::kMean) {
      out_.Line(name + " /= " +
                ConstantText(static_cast<double>(program_.RowCount()), ValueType::kReal,
                             task_.contract.accumulate) +
                ";");
    }
    expressions_.Define(v, name);
  }

  // The loads of the row that `roots` need and that no buffer holds.
  std::vector<int> LoadsOf(const RowPass& pass) const {
    std::vector<bool> needed(program_.values.size(), false);
    for (int v : pass.saved) needed[v] = true;
    for (int v : pass.reductions) needed[program_.values[v].operands[0]] = true;
    for (int o : pass.outputs) needed[program_.outputs[o].value] = true;
    std::vector<int> loads;
    for (int v = static_cast<int>(program_.values.size()) - 1; v >= 0; --v) {
      const RowValue& value = program_.values[v];
      const bool buffered =
          std::find(pass.loaded.begin(), pass.loaded.end(), v) != pass.loaded.end();
      if (!needed[v] || buffered || value.op == Op::kReduce) continue;
      for (int operand : value.operands) needed[operand] = true;
      if (value.op == Op::kLoad && options_.neighbours > 1 &&
          InOrder(value.coefficients, value.offset, options_.neighbours)) {
        loads.push_back(v);
      }
    }
    return loads;
  }

  std::string AtFirst(const std::vector<int64_t>& coefficients, int64_t offset) const {
    std::string text = expressions_.Offset(coefficients, offset);
    // The lane axis' position is spelled x.
    for (size_t at = 0; at < text.size(); ++at) {
      const bool alone = text[at] == 'x' && (at == 0 || !std::isalnum(text[at - 1]));
      if (alone) text.insert(++at, "0");
    }
    return text;
  }

  // What one thread does with its neighbouring elements at x0.
  void WriteNeighbours(int p, const std::string& step) {
    const RowPass& pass = schedule_.passes[p];
    const int count = options_.neighbours;
    const std::string width = std::to_string(count);
    const std::vector<int> loads = LoadsOf(pass);
    for (int v : loads) {
      const RowValue& value = program_.values[v];
      out_.Line("const auto l" + std::to_string(v) + " = fn::take<" + width + ">(" +
                TensorName(value.target) + " + " + AtFirst(value.coefficients, value.offset) +
                ");");
    }
    std::vector<int> together;  // outputs that are stored at once
    for (int o : pass.outputs) {
      const RowOutput& output = program_.outputs[o];
      if (count == 1 || !InOrder(output.strides, 0, count)) continue;
      together.push_back(o);
      out_.Line("fn::Neighbours<" + std::string(access_.StorageType(output.tensor)) + ", " + width +
                "> o" + std::to_string(o) + ";");
    }
    if (count > 1) {
      out_.Line("#pragma unroll");
      out_.Open("for (int e = 0; e < " + width + "; ++e) {");
    }
    const std::string e = count > 1 ? "e" : "0";
    out_.Line("const " + type() + " x = x0" + (count > 1 ? " + e;" : ";"));
    expressions_.OpenScope();
    for (int v : loads) {
      expressions_.Define(
          v, access_.ReadFrom(program_.values[v].target, "l" + std::to_string(v) + ".e[e]"));
    }
    for (int v : pass.loaded) {
      expressions_.Define(v, "b" + std::to_string(v) + step + "[" + e + "]");
    }
    for (int v : pass.saved) {
      const std::string buffer = "b" + std::to_string(v) + step + "[" + e + "]";
      out_.Line(buffer + " = " + Bare(expressions_.Value(v)) + ";");
    }
    for (int v : pass.reductions) {
      const RowValue& value = program_.values[v];
      out_.Line(AccumulatorOf(value.reduce, value.type)
                    .Update("r" + std::to_string(v), Bare(expressions_.Value(value.operands[0]))));
    }
    for (int o : pass.outputs) {
      const RowOutput& output = program_.outputs[o];
      const std::string value = expressions_.Value(output.value);
      const bool at_once = std::find(together.begin(), together.end(), o) != together.end();
      out_.Line(at_once
                    ? access_.WriteTo(output.tensor, "o" + std::to_string(o) + ".e[e]", value)
                    : access_.Write(output.tensor, expressions_.Offset(output.strides, 0), value));
    }
    expressions_.CloseScope();
    if (count > 1) out_.Close();
    for (int o : together) {
      const RowOutput& output = program_.outputs[o];
      out_.Line("fn::put(" + TensorName(output.tensor) + " + " + AtFirst(output.strides, 0) +
                ", o" + std::to_string(o) + ");");
    }
  }

  // Outputs that have one element a row.
  void WriteRowOutputs(const std::string& writer) {
    for (const RowOutput& output : program_.outputs) {
      if (output.along_row) continue;
      const std::string value = expressions_.Value(output.value);
      const std::string write =
          access_.Write(output.tensor, expressions_.Offset(output.strides, 0), value);
      out_.Line("if (" + writer + ") " + write);
    }
  }

  const Task& task_;
  const RowProgram& program_;
  const CudaRowOptions options_;
  const ElementAccess access_;
  RowExpression expressions_;
  const int64_t lane_extent_;
  int outer_ = 0;      // outer axes
  int64_t steps_ = 1;  // of all threads along the row's last axis
  bool flat_ = false;
  std::string index_ = "int";
  RowSchedule schedule_;
  SourceText out_;
  CudaStep launch_;
};

}  // namespace

int WidestNeighbours(const Task& task, const RowProgram& program) {
  int64_t narrowest = 8;
  const auto consider = [&](int tensor) {
    narrowest = std::min(narrowest, SizeOf(task.tensors[tensor].dtype));
  };
  for (const RowValue& value : program.values) {
    if (value.op == Op::kLoad && value.in_row) consider(value.target);
  }
  for (const RowOutput& output : program.outputs) {
    if (output.along_row) consider(output.tensor);
  }
  for (int count = static_cast<int>(std::min<int64_t>(16 / narrowest, kMostNeighbours)); count > 1;
       count /= 2) {
    bool fits = program.axes.back().extent % count == 0;
    bool any = false;
    const auto look = [&](const std::vector<int64_t>& coefficients, int64_t offset) {
      if (coefficients.back() == 0) return;
      any = any || InOrder(coefficients, offset, count);
      fits = fits && InOrder(coefficients, offset, count);
    };
    for (const RowValue& value : program.values) {
      if (value.op == Op::kLoad) look(value.coefficients, value.offset);
    }
    for (const RowOutput& output : program.outputs) look(output.strides, 0);
    if (fits && any) return count;
  }
  return 1;
}

Result<CudaSource> WriteCudaRows(const Task& task, const RowProgram& program,
                                 const CudaRowOptions& options) {
  return CudaRowWriter(task, program, options).Write();
}

}  // namespace hiera
