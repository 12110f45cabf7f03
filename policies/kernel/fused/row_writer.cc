#include "policies/kernel/fused/row_writer.h"

#include <algorithm>
#include <set>

#include "fused_sources.h"
#include "policies/kernel/fused/row_expression.h"
#include "policies/kernel/fused/row_schedule.h"

namespace hiera {
namespace {

constexpr int64_t kMaxBufferBytes = 128 << 10;  // of a thread's stack
constexpr int64_t kChunk = 8192;                // elements of a row that are worth a piece
constexpr int64_t kMaxChunks = 256;
constexpr double kWorthSharing = 16384;  // elements that pay for a parallel region

// How a reduction is written; see AccumulatorText for single elements.
struct VectorReduction {
  std::string neutral;
  std::string update;  // of two values: prefix ", " suffix, or infix
  std::string across;  // the function that reduces a vector
};

VectorReduction ReductionText(Reduction reduce) {
  switch (reduce) {
    case Reduction::kProd:
      return {"1", " * ", "vm::product"};
    case Reduction::kMax:
      return {"(real)-__builtin_inf()", "max", "vm::largest"};
    case Reduction::kMin:
      return {"(real)__builtin_inf()", "min", "vm::smallest"};
    case Reduction::kAny:
      return {"0", " | ", "vm::any"};
    case Reduction::kAll:
      return {"-1", " & ", "vm::every"};
    default:
      return {"0", " + ", "vm::sum"};
  }
}

std::string Combine(const VectorReduction& text, const std::string& space, const std::string& a,
                    const std::string& b) {
  if (text.update[0] == ' ') return "(" + a + text.update + b + ")";
  return space + text.update + "(" + a + ", " + b + ")";
}

class RowWriter {
 public:
  RowWriter(const Task& task, const RowProgram& program, const RowOptions& options)
      : task_(task),
        program_(program),
        options_(options),
        access_(task, std::vector<bool>(task.tensors.size(), false)),
        expressions_(task, program, access_),
        f64_(task.contract.accumulate == DType::kF64),
        lanes_(options.vector_bytes / (f64_ ? 8 : 4)) {
    const int64_t row_bytes = program.RowCount() * (f64_ ? 8 : 4);
    const int64_t fit = options.split_rows ? 0 : kMaxBufferBytes / std::max<int64_t>(row_bytes, 1);
    schedule_ = ScheduleRow(program, static_cast<size_t>(fit));
    expressions_.set_out(&out_);
    while (outer_ < static_cast<int>(program.axes.size()) && !program.axes[outer_].row) ++outer_;
    lane_extent_ = program.axes.back().extent;
  }

  GeneratedSource Write() {
    WriteHead();
    if (options_.split_rows) {
      WriteChunks();
    } else {
      WriteRowLoop();
    }
    source_.text = std::string(embedded::scalar_functions_cc) +
                   std::string(embedded::vector_math_cc) + std::string(embedded::vector_row_cc) +
                   out_.Text();
    return std::move(source_);
  }

 private:
  void WriteHead() {
    out_.Line("// Fused rows, generated from this formula:");
    const std::string text = CanonicalText(task_);
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) out_.Line("//   " + text.substr(at, end - at));
      at = end + 1;
    }
    out_.Line(f64_ ? "typedef double real;" : "typedef float real;");
    out_.Line("typedef real vec __attribute__((vector_size(" +
              std::to_string(options_.vector_bytes) + ")));");
    out_.Line("typedef vm::Mask<vec> mask;");
    out_.Line("");
    out_.Open("struct Context {");
    std::set<int> read;
    for (const RowValue& value : program_.values) {
      if (value.op == Op::kLoad) read.insert(value.target);
    }
    std::set<int> written;
    for (const RowOutput& output : program_.outputs) written.insert(output.tensor);
    for (int t = 0; t < task_.bound_count; ++t) {
      if (read.count(t) == 0 && written.count(t) == 0) continue;
      Parameter(written.count(t) != 0 ? "" : "const ", std::string(access_.StorageType(t)) + "*",
                TensorName(t), true);
    }
    for (size_t s = 0; s < task_.scalars.size(); ++s) {
      Parameter("", "real", ScalarName(static_cast<int>(s)), false);
    }
    if (options_.split_rows) {
      Parameter("", "real*", "partial", false);
      for (int a = 0; a < outer_; ++a) Parameter("", "long", RowExpression::AxisName(a), false);
      for (size_t v = 0; v < program_.values.size(); ++v) {
        if (program_.values[v].op != Op::kReduce) continue;
        Parameter("", std::string(ValueTypeText(program_.values[v].type)), "r" + std::to_string(v),
                  false);
      }
    }
    out_.Close("};");
    out_.Line("");
  }

  // A field of the context that every region's function gets as a parameter.
  void Parameter(const std::string& constant, const std::string& type, const std::string& name,
                 bool pointer) {
    out_.Line(constant + type + " " + name + ";");
    declared_.push_back(constant + type + (pointer ? " __restrict " : " ") + name);
    passed_.push_back("c." + name);
  }

  void OpenFunction(const std::string& name) {
    std::vector<std::string> parameters = declared_;
    parameters.insert(parameters.end(), {"long begin", "long end"});
    out_.OpenList("static void " + name + "(", parameters, ") {");
    expressions_.OpenScope();
  }

  void CloseFunction(const std::string& name) {
    expressions_.CloseScope();
    out_.Close();
    out_.Open("static void " + name + "_region(void* context, long begin, long end, int) {");
    out_.Line("const Context& c = *(const Context*)context;");
    std::vector<std::string> arguments = passed_;
    arguments.insert(arguments.end(), {"begin", "end"});
    out_.List(name + "(", arguments, ");");
    out_.Close();
    out_.Line("");
  }

  void WriteRowLoop() {
    OpenFunction("rows");
    for (int v : schedule_.buffered) {
      out_.Line("alignas(64) real b" + std::to_string(v) + "[" +
                std::to_string((program_.RowCount() + lanes_ - 1) / lanes_ * lanes_) + "];");
    }
    out_.Open("for (long row = begin; row < end; ++row) {");
    expressions_.OpenScope();
    int64_t inner = program_.OuterCount();
    for (int a = 0; a < outer_; ++a) {
      const int64_t extent = program_.axes[a].extent;
      inner /= std::max<int64_t>(extent, 1);
      std::string text = inner == 1 ? "row" : "row / " + std::to_string(inner);
      if (a > 0) text += " % " + std::to_string(extent);
      out_.Line("const long " + RowExpression::AxisName(a) + " = " + text + ";");
    }
    for (int p = 0; p < program_.passes; ++p) {
      WritePass(p, "0", std::to_string(program_.axes[outer_].extent));
      for (int v : schedule_.passes[p].reductions) {
        WriteMean(v, "r" + std::to_string(v), "const real m" + std::to_string(v));
        expressions_.Define(v, Name(v));
      }
    }
    WriteRowOutputs();
    expressions_.CloseScope();
    out_.Close();
    CloseFunction("rows");
    OpenEntry();
    const int64_t rows = program_.OuterCount();
    if (rows > 0) {
      const double elements = static_cast<double>(rows) * static_cast<double>(program_.RowCount());
      WriteRun("rows", rows, elements);
    }
    out_.Close();
  }

  // The name under which a finished reduction is known: a mean is a sum that was divided.
  std::string Name(int v) const {
    return (program_.values[v].reduce == Reduction::kMean ? "m" : "r") + std::to_string(v);
  }

  void WriteMean(int v, const std::string& sum, const std::string& target) {
    if (program_.values[v].reduce != Reduction::kMean) return;
    out_.Line(target + " = " + sum + " / " +
              ConstantText(static_cast<double>(program_.RowCount()), ValueType::kReal,
                           task_.contract.accumulate) +
              ";");
  }

  void WriteRowOutputs() {
    for (const RowOutput& output : program_.outputs) {
      if (output.along_row) continue;
      const std::string value = expressions_.Value(output.value);
      out_.Line(access_.Write(output.tensor, expressions_.Offset(output.strides, 0), value));
    }
  }

  void WriteRun(const std::string& name, int64_t count, double elements) {
    const std::string number = std::to_string(count);
    if (count > 1 && elements >= kWorthSharing) {
      source_.parallel = true;
      out_.Line("call->parallel->run(call->parallel, " + number + ", " + name + "_region, &c);");
    } else {
      out_.Line(name + "_region(&c, 0, " + number + ", 0);");
    }
  }

  void OpenEntry() {
    out_.Open("extern \"C\" void hiera_variant(const hiera_host_call* call) {");
    out_.Line("Context c;");
    for (const std::string& field : passed_) {
      const std::string name = field.substr(2);
      if (name[0] == 't') {
        const int tensor = std::stoi(name.substr(1));
        const bool written =
            std::any_of(program_.outputs.begin(), program_.outputs.end(),
                        [tensor](const RowOutput& output) { return output.tensor == tensor; });
        out_.Line(field + " = (" + (written ? "" : "const ") +
                  std::string(access_.StorageType(tensor)) + "*)call->tensors[" +
                  std::to_string(tensor) + "];");
      } else if (name[0] == 's') {
        out_.Line(field + " = (real)call->scalars[" + name.substr(1) + "];");
      } else if (name == "partial") {
        out_.Line(field + " = (real*)call->workspace;");
      }
    }
  }

  // ---- one pass over the row from `low` to `high` of its first axis ----

  void WritePass(int p, const std::string& low, const std::string& high) {
    const RowPass& pass = schedule_.passes[p];
    if (pass.reductions.empty() && pass.outputs.empty()) return;
    for (int v : pass.before) Hoist(v);
    const int slots = pass.reductions.empty() ? 1 : options_.unroll;
    for (int v : pass.reductions) {
      const std::string type = program_.values[v].type == ValueType::kReal ? "vec" : "mask";
      std::vector<std::string> list;
      for (int s = 0; s < slots; ++s) {
        list.push_back(Slot(v, s) + " = vm::all<" + type + ">(" +
                       ReductionText(program_.values[v].reduce).neutral + ")");
      }
      out_.List(type + " ", list, ";");
    }
    const bool single = outer_ + 1 == static_cast<int>(program_.axes.size());
    for (int a = outer_; a + 1 < static_cast<int>(program_.axes.size()); ++a) {
      const std::string name = RowExpression::AxisName(a);
      out_.Open("for (long " + name + " = " + (a == outer_ ? low : "0") + "; " + name + " < " +
                (a == outer_ ? high : std::to_string(program_.axes[a].extent)) + "; ++" + name +
                ") {");
    }
    WriteLambda(p);
    WriteLaneLoops(p, slots, single ? low : "0", single ? high : std::to_string(lane_extent_));
    for (int a = outer_; a + 1 < static_cast<int>(program_.axes.size()); ++a) out_.Close();
    for (int v : pass.reductions) WriteAcross(v, slots);
  }

  // A value outside the row that the pass needs, computed ahead of it.
  void Hoist(int v) {
    const std::string text = expressions_.Value(v);
    const bool name = text.find_first_of(" (") == std::string::npos;
    if (name) return;
    const std::string known = "v" + std::to_string(v);
    out_.Line("const " + expressions_.TypeText(v) + " " + known + " = " + Bare(text) + ";");
    expressions_.Define(v, known);
  }

  static std::string Slot(int v, int slot) {
    return "r" + std::to_string(v) + "_" + std::to_string(slot);
  }

  std::string BufferOffset() const {
    std::string offset;
    int64_t stride = program_.RowCount();
    for (int a = outer_; a < static_cast<int>(program_.axes.size()); ++a) {
      stride /= std::max<int64_t>(program_.axes[a].extent, 1);
      if (!offset.empty()) offset += " + ";
      const std::string name = a == expressions_.lane_axis() ? "x" : RowExpression::AxisName(a);
      offset += stride == 1 ? name : std::to_string(stride) + " * " + name;
    }
    return offset;
  }

  void WriteLambda(int p) {
    const RowPass& pass = schedule_.passes[p];
    std::string head = "const auto pass_" + std::to_string(p) + " = [&](long x, auto lanes";
    for (int v : pass.reductions) {
      head += std::string(program_.values[v].type == ValueType::kReal ? ", vec& " : ", mask& ") +
              "r" + std::to_string(v);
    }
    out_.Open(head + ") __attribute__((always_inline)) {");
    expressions_.OpenScope();
    for (int v : pass.loaded) {
      const std::string name = "v" + std::to_string(v);
      out_.Line("const vec " + name + " = vm::load<vec>(b" + std::to_string(v) + " + " +
                BufferOffset() + ", lanes);");
      expressions_.Define(v, name);
    }
    for (int v : pass.saved) {
      out_.Line("vm::store(b" + std::to_string(v) + " + " + BufferOffset() + ", " +
                expressions_.Vector(v) + ", lanes);");
    }
    for (int v : pass.reductions) {
      const RowValue& value = program_.values[v];
      const VectorReduction text = ReductionText(value.reduce);
      const std::string acc = "r" + std::to_string(v);
      const std::string next = "vm::only(" + Bare(expressions_.Vector(value.operands[0])) +
                               ", lanes, " + text.neutral + ")";
      out_.Line(acc + " = " + Bare(Combine(text, "vm::", acc, next)) + ";");
    }
    for (int o : pass.outputs) {
      const RowOutput& output = program_.outputs[o];
      const std::string value = Bare(expressions_.Vector(output.value));
      const int64_t stride = output.strides.back();
      const std::string offset = expressions_.Offset(output.strides, 0);
      out_.Line("vm::store(" + TensorName(output.tensor) + (offset == "0" ? "" : " + " + offset) +
                (stride == 1 ? "" : ", " + std::to_string(stride)) + ", " + value + ", lanes);");
    }
    expressions_.CloseScope();
    out_.Close("};");
  }

  std::string PassCall(int p, const std::string& x, const std::string& lanes, int slot) const {
    std::string call = "pass_" + std::to_string(p) + "(" + x + ", " + lanes;
    for (int v : schedule_.passes[p].reductions) call += ", " + Slot(v, slot);
    return call + ");";
  }

  void WriteLaneLoops(int p, int slots, const std::string& low, const std::string& high) {
    const bool constant = low == "0" && high == std::to_string(lane_extent_);
    const int64_t step = static_cast<int64_t>(lanes_) * slots;
    const std::string lanes = std::to_string(lanes_);
    out_.Open("{");
    out_.Line("long x = " + low + ";");
    if (slots > 1 && lane_extent_ >= step) {
      out_.Open("for (; x + " + std::to_string(step) + " <= " + high +
                "; x += " + std::to_string(step) + ") {");
      for (int s = 0; s < slots; ++s) {
        const std::string at = s == 0 ? "x" : "x + " + std::to_string(s * lanes_);
        out_.Line(PassCall(p, at, "vm::Whole()", s));
      }
      out_.Close();
    }
    if (!constant || slots == 1 || lane_extent_ % step >= lanes_) {
      out_.Line("for (; x + " + lanes + " <= " + high + "; x += " + lanes + ") " +
                PassCall(p, "x", "vm::Whole()", 0));
    }
    if (constant && lane_extent_ % lanes_ != 0) {
      out_.Line(PassCall(p, "x", "vm::Part{" + std::to_string(lane_extent_ % lanes_) + "}", 0));
    } else if (!constant) {
      out_.Line("if (x < " + high + ") " + PassCall(p, "x", "vm::Part{" + high + " - x}", 0));
    }
    out_.Close();
  }

  void WriteAcross(int v, int slots) {
    const RowValue& value = program_.values[v];
    const VectorReduction text = ReductionText(value.reduce);
    std::vector<std::string> parts;
    for (int s = 0; s < slots; ++s) parts.push_back(Slot(v, s));
    while (parts.size() > 1) {
      std::vector<std::string> halves;
      for (size_t i = 0; i + 1 < parts.size(); i += 2) {
        halves.push_back(Combine(text, "vm::", parts[i], parts[i + 1]));
      }
      if (parts.size() % 2 == 1) halves.push_back(parts.back());
      parts = halves;
    }
    out_.Line("const " + std::string(ValueTypeText(value.type)) + " r" + std::to_string(v) + " = " +
              text.across + "(" + Bare(parts[0]) + ");");
  }

  // ---- rows in chunks ----

  void WriteChunks() {
    const int64_t first = program_.axes[outer_].extent;
    const bool single = outer_ + 1 == static_cast<int>(program_.axes.size());
    const int64_t inner = first == 0 ? 0 : program_.RowCount() / first;
    const int64_t unit = single ? static_cast<int64_t>(lanes_) * options_.unroll : 1;
    int64_t chunk = std::max<int64_t>(1, kChunk / std::max<int64_t>(inner, 1));
    chunk = std::max(chunk, (first + kMaxChunks - 1) / kMaxChunks);
    chunk = (chunk + unit - 1) / unit * unit;
    const int64_t chunks = (first + chunk - 1) / chunk;
    std::vector<int> reductions;
    for (const RowPass& pass : schedule_.passes) {
      reductions.insert(reductions.end(), pass.reductions.begin(), pass.reductions.end());
    }
    expressions_.OpenScope();
    for (int p = 0; p < program_.passes; ++p) WriteChunkPass(p, chunk, reductions);
    WriteFinish();
    expressions_.CloseScope();
    source_.workspace_bytes = chunks * static_cast<int64_t>(reductions.size()) * (f64_ ? 8 : 4);
    OpenEntry();
    for (int a = 0; a < outer_; ++a) {
      const std::string name = "c." + RowExpression::AxisName(a);
      out_.Open("for (" + name + " = 0; " + name + " < " + std::to_string(program_.axes[a].extent) +
                "; ++" + name + ") {");
    }
    for (int p = 0; p < program_.passes; ++p) {
      const RowPass& pass = schedule_.passes[p];
      if (pass.reductions.empty() && pass.outputs.empty()) continue;
      WriteRun("pass_" + std::to_string(p) + "_chunks", chunks,
               static_cast<double>(program_.RowCount()));
      for (int v : pass.reductions) WriteGather(v, reductions, chunks);
    }
    out_.Line("finish_region(&c, 0, 1, 0);");
    for (int a = 0; a < outer_; ++a) out_.Close();
    out_.Close();
  }

  static std::string Partial(int v, const std::vector<int>& reductions, const std::string& chunk) {
    const size_t place = std::find(reductions.begin(), reductions.end(), v) - reductions.begin();
    return "partial[" + chunk + " * " + std::to_string(reductions.size()) + " + " +
           std::to_string(place) + "]";
  }

  void WriteChunkPass(int p, int64_t chunk, const std::vector<int>& reductions) {
    const RowPass& pass = schedule_.passes[p];
    if (pass.reductions.empty() && pass.outputs.empty()) return;
    const std::string name = "pass_" + std::to_string(p) + "_chunks";
    OpenFunction(name);
    out_.Open("for (long chunk = begin; chunk < end; ++chunk) {");
    expressions_.OpenScope();
    for (int q = 0; q < p; ++q) {
      for (int v : schedule_.passes[q].reductions) expressions_.Define(v, "r" + std::to_string(v));
    }
    const std::string extent = std::to_string(program_.axes[outer_].extent);
    out_.Line("const long low = chunk * " + std::to_string(chunk) + ";");
    out_.Line("const long high = fn::least(low + " + std::to_string(chunk) + ", " + extent + ");");
    WritePass(p, "low", "high");
    for (int v : pass.reductions) {
      out_.Line(Partial(v, reductions, "chunk") + " = r" + std::to_string(v) + ";");
    }
    expressions_.CloseScope();
    out_.Close();
    CloseFunction(name);
  }

  // Partial results in the order of their chunks, whoever computed them.
  void WriteGather(int v, const std::vector<int>& reductions, int64_t chunks) {
    const RowValue& value = program_.values[v];
    const VectorReduction text = ReductionText(value.reduce);
    const std::string acc = "c.r" + std::to_string(v);
    const bool boolean = value.type == ValueType::kBool;
    out_.Line(acc + " = " + text.neutral + ";");
    std::string part = "c." + Partial(v, reductions, "chunk");
    if (boolean) part = "(" + part + " != 0)";
    out_.Line("for (long chunk = 0; chunk < " + std::to_string(chunks) + "; ++chunk) " + acc +
              " = " + Bare(Combine(text, "fn::", acc, part)) + ";");
    WriteMean(v, acc, acc);
  }

  // Outputs that have one element a row.
  void WriteFinish() {
    OpenFunction("finish");
    out_.Line("if (begin == end) return;");
    for (const RowPass& pass : schedule_.passes) {
      for (int v : pass.reductions) expressions_.Define(v, "r" + std::to_string(v));
    }
    WriteRowOutputs();
    CloseFunction("finish");
  }

  const Task& task_;
  const RowProgram& program_;
  const RowOptions options_;
  const ElementAccess access_;
  RowExpression expressions_;
  const bool f64_;
  const int lanes_;
  int outer_ = 0;  // outer axes
  int64_t lane_extent_ = 1;
  RowSchedule schedule_;
  SourceText out_;
  std::vector<std::string> declared_, passed_;  // parameters of every region's function
  GeneratedSource source_;
};

}  // namespace

GeneratedSource WriteRows(const Task& task, const RowProgram& program, const RowOptions& options) {
  return RowWriter(task, program, options).Write();
}

}  // namespace hiera
