#include "policies/framework/cuda_loops.h"

#include <array>
#include <memory>
#include <vector>

#include "cuda_functions.h"
#include "cuda_together.h"
#include "policies/framework/carried_state.h"
#include "policies/framework/cuda_statement_writer.h"
#include "scalar_functions.h"

namespace hiera {
namespace {

constexpr int64_t kLine = 256;  // alignment of everything in the workspace
constexpr int64_t kMostBlocks = 0x7fffffff;

int64_t RoundUp(int64_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

class CudaLoopsWriter {
 public:
  CudaLoopsWriter(const Task& task, const CudaLoopsOptions& options, CarriedState carried)
      : task_(task), carried_(std::move(carried)), facts_(task), access_(task, carried_.relaid) {
    const int count = static_cast<int>(task.formula.statements.size());
    for (int s = 0; s < count; ++s) {
      const CarriedState::Ring* ring = carried_.RingOf(task.formula.statements[s].output);
      statements_.push_back(std::make_unique<CudaStatementWriter>(
          facts_, access_, s, options, ring == nullptr ? -1 : ring->state));
    }
  }

  Result<CudaSource> Write() {
    int64_t launches = 0;
    for (const auto& statement : statements_) {
      const std::array<int64_t, 3> grid = statement->grid();
      if (grid[0] > kMostBlocks) {
        return Unsupported("a statement has more elements than a grid of threads");
      }
      launches += grid[0] > 0 ? task_.formula.steps : 0;
    }
    if (launches > kMaxCudaSteps) {
      return Unsupported(std::to_string(launches) + " launches; a plan has at most " +
                         std::to_string(kMaxCudaSteps));
    }
    if (launches == 0) return Unsupported("there is nothing to compute");
    WriteText();
    Place();
    for (int64_t step = 0; step < task_.formula.steps; ++step) PlanStep(step);
    return std::move(source_);
  }

 private:
  // Where a tensor lies during a step, and how.
  struct Placed {
    CudaArgument address;
    std::vector<int64_t> strides;
  };

  void WriteText() {
    SourceText out;
    out.Line("// Plain CUDA, generated from a formula.");
    out.Line("typedef " +
             std::string(task_.contract.accumulate == DType::kF64 ? "double" : "float") + " real;");
    for (const auto& statement : statements_) statement->Write(&out);
    source_.text = std::string(embedded::cuda_functions_cu) +
                   std::string(embedded::scalar_functions_cc) +
                   std::string(embedded::cuda_together_cu) + out.Text();
  }

  CudaArgument InWorkspace(int64_t offset) const {
    CudaArgument argument;
    argument.kind = CudaArgument::Kind::kWorkspace;
    argument.offset = offset;
    return argument;
  }
  CudaArgument Bound(int tensor) const {
    CudaArgument argument;
    argument.number = tensor;
    return argument;
  }

  void Place() {
    for (size_t t = 0; t < task_.tensors.size(); ++t) {
      const int tensor = static_cast<int>(t);
      Placed placed{Bound(tensor), task_.tensors[t].strides};
      if (task_.is_local(tensor)) {
        placed.address = InWorkspace(source_.workspace_bytes);
        source_.workspace_bytes += RoundUp(task_.tensors[t].span_bytes());
      }
      placed_.push_back(std::move(placed));
    }
    for (const CarriedState::Ring& ring : carried_.rings) {
      ring_offsets_.push_back(source_.workspace_bytes);
      source_.workspace_bytes += RoundUp(task_.tensors[ring.output].span_bytes()) * ring.buffers;
    }
  }

  void PlanStep(int64_t step) {
    const bool last = step == task_.formula.steps - 1;
    for (size_t r = 0; r < carried_.rings.size(); ++r) {
      const CarriedState::Ring& ring = carried_.rings[r];
      const int64_t span = RoundUp(task_.tensors[ring.output].span_bytes());
      placed_[ring.output].address =
          last ? Bound(ring.output) : InWorkspace(ring_offsets_[r] + step % ring.buffers * span);
    }
    for (const auto& statement : statements_) {
      if (statement->grid()[0] == 0) continue;
      CudaStep launch;
      launch.kernel = statement->KernelName();
      launch.grid = statement->grid();
      launch.block = statement->block();
      for (const auto& parameter : statement->parameters()) {
        launch.arguments.push_back(ArgumentOf(parameter, last));
      }
      source_.plan.steps.push_back(std::move(launch));
    }
    const std::vector<Placed> done = placed_;
    for (const Carry& carry : task_.formula.carries) {
      placed_[carry.state] = done[carry.source];
    }
  }

  CudaArgument ArgumentOf(const CudaStatementWriter::Parameter& parameter, bool last) const {
    using Kind = CudaStatementWriter::Parameter::Kind;
    CudaArgument argument;
    switch (parameter.kind) {
      case Kind::kTensor:
        return placed_[parameter.number].address;
      case Kind::kStride:
        argument.kind = CudaArgument::Kind::kInteger;
        argument.integer = placed_[parameter.number].strides[parameter.axis];
        return argument;
      case Kind::kScalar:
        argument.kind = CudaArgument::Kind::kScalar;
        argument.number = parameter.number;
        argument.type = task_.contract.accumulate;
        return argument;
      case Kind::kLastStep:
        argument.kind = CudaArgument::Kind::kInteger;
        argument.type = DType::kI32;
        argument.integer = last ? 1 : 0;
        return argument;
    }
    return argument;
  }

  const Task& task_;
  const CarriedState carried_;
  const FormulaFacts facts_;
  const ElementAccess access_;
  std::vector<std::unique_ptr<CudaStatementWriter>> statements_;
  std::vector<Placed> placed_;         // by tensor
  std::vector<int64_t> ring_offsets_;  // in the workspace, by ring
  CudaSource source_;
};

}  // namespace

Result<CudaSource> WriteCudaLoops(const Task& task, const CudaLoopsOptions& options) {
  Result<CarriedState> carried = PlanCarriedState(task);
  if (!carried.ok()) return carried.status();
  return CudaLoopsWriter(task, options, *std::move(carried)).Write();
}

}  // namespace hiera
