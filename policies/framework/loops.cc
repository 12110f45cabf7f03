#include "policies/framework/loops.h"

#include <memory>
#include <vector>

#include "policies/framework/carried_state.h"
#include "policies/framework/statement_writer.h"
#include "scalar_functions.h"

namespace hiera {
namespace {

constexpr double kWorthSharing = 32768;  // elementary operations, some 10 us, that pay for a region
constexpr int64_t kLine = 64;            // alignment of everything in the workspace

int64_t RoundUp(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

class LoopsWriter {
 public:
  LoopsWriter(const Task& task, const LoopsOptions& options, CarriedState carried)
      : task_(task), carried_(std::move(carried)), facts_(task), access_(task, carried_.relaid) {
    const int count = static_cast<int>(task.formula.statements.size());
    for (int s = 0; s < count; ++s) {
      const CarriedState::Ring* ring = carried_.RingOf(task.formula.statements[s].output);
      statements_.push_back(std::make_unique<StatementWriter>(facts_, access_, s, options.block,
                                                              ring == nullptr ? -1 : ring->state));
    }
  }

  GeneratedSource Write() {
    source_.parallel = false;
    out_.Line("// Plain loops, generated from this formula:");
    Comment();
    out_.Line("typedef " +
              std::string(task_.contract.accumulate == DType::kF64 ? "double" : "float") +
              " real;");
    out_.Line("");
    WriteContext();
    for (const auto& statement : statements_) statement->Write(&out_);
    WriteEntry();
    source_.text = std::string(embedded::scalar_functions_cc) + out_.Text();
    return std::move(source_);
  }

 private:
  void Comment() {
    const std::string text = CanonicalText(task_);
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      if (end > at) out_.Line("//   " + text.substr(at, end - at));
      at = end + 1;
    }
  }

  bool Written(int tensor) const {
    for (const Statement& statement : task_.formula.statements) {
      if (statement.output == tensor) return true;
    }
    return false;
  }

  void WriteContext() {
    out_.Open("struct Context {");
    for (size_t t = 0; t < task_.tensors.size(); ++t) {
      const int tensor = static_cast<int>(t);
      out_.Line((Written(tensor) ? "" : "const ") + std::string(access_.StorageType(tensor)) +
                "* " + TensorName(tensor) + ";");
      if (!access_.symbolic(tensor)) continue;
      for (int axis = 0; axis < task_.tensors[tensor].rank(); ++axis) {
        out_.Line("long " + access_.Stride(tensor, axis) + ";");
      }
    }
    for (size_t s = 0; s < task_.scalars.size(); ++s) {
      out_.Line("real " + ScalarName(static_cast<int>(s)) + ";");
    }
    out_.Line("bool last_step;");
    out_.Close("};");
    out_.Line("");
  }

  // Text of the address `bytes` into the workspace, as tensor's element type.
  std::string WorkspaceText(int tensor, const std::string& bytes) const {
    return "(" + std::string(access_.StorageType(tensor)) + "*)((char*)call->workspace + " + bytes +
           ")";
  }

  void WriteEntry() {
    out_.Open("extern \"C\" void hiera_variant(const hiera_host_call* call) {");
    out_.Line("Context c;");
    for (size_t t = 0; t < task_.tensors.size(); ++t) WritePointer(static_cast<int>(t));
    for (size_t s = 0; s < task_.scalars.size(); ++s) {
      const std::string number = std::to_string(s);
      out_.Line("c.s" + number + " = (real)call->scalars[" + number + "];");
    }
    out_.Line("c.last_step = true;");
    if (task_.formula.steps == 1) {
      for (const auto& statement : statements_) WriteRegion(*statement);
    } else {
      WriteSteps();
    }
    out_.Close();
  }

  void WritePointer(int tensor) {
    const std::string name = "c." + TensorName(tensor);
    if (task_.is_local(tensor)) {
      out_.Line(name + " = " + WorkspaceText(tensor, std::to_string(source_.workspace_bytes)) +
                ";");
      source_.workspace_bytes += RoundUp(task_.tensors[tensor].span_bytes());
      return;
    }
    out_.Line(name + " = (" + (Written(tensor) ? "" : "const ") +
              std::string(access_.StorageType(tensor)) + "*)call->tensors[" +
              std::to_string(tensor) + "];");
    if (!access_.symbolic(tensor)) return;
    for (int axis = 0; axis < task_.tensors[tensor].rank(); ++axis) {
      out_.Line("c." + access_.Stride(tensor, axis) + " = " +
                std::to_string(task_.tensors[tensor].strides[axis]) + ";");
    }
  }

  void WriteRegion(const StatementWriter& statement) {
    if (statement.count() == 0) return;
    const std::string count = std::to_string(statement.count());
    if (statement.count() > 1 && statement.work() >= kWorthSharing) {
      source_.parallel = true;
      out_.Line("call->parallel->run(call->parallel, " + count + ", " + statement.RegionName() +
                ", &c);");
    } else {
      out_.Line(statement.RegionName() + "(&c, 0, " + count + ", 0);");
    }
  }

  void WriteSteps() {
    const std::string last = std::to_string(task_.formula.steps - 1);
    out_.Open("for (long step = 0; step <= " + last + "; ++step) {");
    out_.Line("c.last_step = step == " + last + ";");
    for (const CarriedState::Ring& ring : carried_.rings) {
      const int64_t span = RoundUp(task_.tensors[ring.output].span_bytes());
      const std::string offset = std::to_string(source_.workspace_bytes) + " + step % " +
                                 std::to_string(ring.buffers) + " * " + std::to_string(span);
      const std::string name = TensorName(ring.output);
      out_.Line("c." + name + " = " + WorkspaceText(ring.output, offset) + ";");
      out_.Line("if (c.last_step) c." + name + " = (" +
                std::string(access_.StorageType(ring.output)) + "*)call->tensors[" +
                std::to_string(ring.output) + "];");
      source_.workspace_bytes += span * ring.buffers;
    }
    for (const auto& statement : statements_) WriteRegion(*statement);
    out_.Line("const Context done = c;");
    for (const Carry& carry : task_.formula.carries) {
      out_.Line("c." + TensorName(carry.state) + " = done." + TensorName(carry.source) + ";");
      if (!access_.symbolic(carry.state)) continue;
      for (int axis = 0; axis < task_.tensors[carry.state].rank(); ++axis) {
        const std::string stride = access_.Stride(carry.source, axis);
        out_.Line("c." + access_.Stride(carry.state, axis) + " = " +
                  (access_.symbolic(carry.source) ? "done." : "") + stride + ";");
      }
    }
    out_.Close();
  }

  const Task& task_;
  const CarriedState carried_;
  const FormulaFacts facts_;
  const ElementAccess access_;
  std::vector<std::unique_ptr<StatementWriter>> statements_;
  SourceText out_;
  GeneratedSource source_;
};

}  // namespace

Result<GeneratedSource> WriteLoops(const Task& task, const LoopsOptions& options) {
  Result<CarriedState> carried = PlanCarriedState(task);
  if (!carried.ok()) return carried.status();
  return LoopsWriter(task, options, *std::move(carried)).Write();
}

}  // namespace hiera
