#include "policies/framework/cuda_statement_writer.h"

#include <algorithm>

namespace hiera {
namespace {

constexpr int64_t kWorthSharing = 32;  // terms of a reduction that a block's threads share out

}  // namespace

CudaStatementWriter::CudaStatementWriter(const FormulaFacts& facts, const ElementAccess& access,
                                         int statement, int threads, bool together, int state)
    : facts_(facts),
      access_(access),
      number_(statement),
      threads_(threads),
      element_(facts, access, statement, state),
      order_(element_.order()) {
  if (together) ChooseOuter();
  ChooseParameters();
}

// The row of a block: as many leading indices as its largest shared reductions need.
void CudaStatementWriter::ChooseOuter() {
  if (element_.has_scan()) return;
  const int rank = static_cast<int>(order_.size());
  int below = -1;  // the deepest level above a single element
  bool at_element = false;
  for (int n : facts_.Below(element_.statement().root)) {
    if (facts_.node(n).op != Op::kReduce || facts_.MayKeep(n)) continue;
    int64_t terms = 1;
    bool closed = true;  // no index of a surrounding reduction
    for (int index : facts_.node(n).bound) terms *= facts_.extent(index);
    for (size_t i = 0; i < facts_.task().formula.indices.size(); ++i) {
      const int index = static_cast<int>(i);
      const bool output = std::find(order_.begin(), order_.end(), index) != order_.end();
      if (facts_.DependsOn(n, index) && !output) closed = false;
    }
    if (!closed || terms < kWorthSharing) continue;
    const int level = element_.LevelOf(n);
    if (level < rank) {
      below = std::max(below, level);
    } else {
      at_element = true;
    }
  }
  outer_ = below >= 0 ? below : at_element ? rank : -1;
}

void CudaStatementWriter::ChooseParameters() {
  const ElementWriter::Uses uses = element_.FindUses();
  for (int tensor : uses.tensors) {
    parameters_.push_back({Parameter::Kind::kTensor, tensor, 0});
    if (!access_.symbolic(tensor)) continue;
    for (int axis = 0; axis < facts_.task().tensors[tensor].rank(); ++axis) {
      parameters_.push_back({Parameter::Kind::kStride, tensor, axis});
    }
  }
  for (int scalar : uses.scalars) parameters_.push_back({Parameter::Kind::kScalar, scalar, 0});
  if (uses.last_step) parameters_.push_back({Parameter::Kind::kLastStep, 0, 0});
}

std::string CudaStatementWriter::ParameterText(const Parameter& parameter) const {
  switch (parameter.kind) {
    case Parameter::Kind::kTensor:
      return (parameter.number == element_.statement().output ? "" : "const ") +
             std::string(access_.StorageType(parameter.number)) + "* __restrict__ " +
             TensorName(parameter.number);
    case Parameter::Kind::kStride:
      return "long " + access_.Stride(parameter.number, parameter.axis);
    case Parameter::Kind::kScalar:
      return "real " + ScalarName(parameter.number);
    case Parameter::Kind::kLastStep:
      return "int last_step";
  }
  return "";
}

int64_t CudaStatementWriter::Extent(size_t first, size_t last) const {
  int64_t count = 1;
  for (size_t i = first; i < last; ++i) count *= facts_.extent(order_[i]);
  return count;
}

int64_t CudaStatementWriter::blocks() const {
  const size_t rank = order_.size();
  if (Extent(0, rank) == 0) return 0;
  if (outer_ >= 0) return Extent(0, static_cast<size_t>(outer_));
  const int64_t threads = Extent(0, element_.scans().empty() ? rank : rank - 1);
  return (threads + threads_ - 1) / threads_;
}

void CudaStatementWriter::Write(SourceText* out) {
  out_ = out;
  element_.set_out(out);
  std::vector<std::string> parameters;
  for (const Parameter& parameter : parameters_) parameters.push_back(ParameterText(parameter));
  out_->OpenList("extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads_) +
                     ") " + KernelName() + "(",
                 parameters, ") {");
  element_.expressions().OpenScope();
  if (outer_ >= 0) {
    WriteTogether();
  } else {
    WriteAlone();
  }
  element_.expressions().CloseScope();
  out_->Close();
  out_->Line("");
}

// The indices order_[first, last) of element `flat` of their product.
void CudaStatementWriter::WriteIndices(const std::string& flat, size_t first, size_t last) {
  int64_t rest = Extent(first, last);
  for (size_t i = first; i < last; ++i) {
    const int64_t extent = facts_.extent(order_[i]);
    rest /= std::max<int64_t>(extent, 1);
    std::string text = rest == 1 ? flat : flat + " / " + std::to_string(rest);
    if (i > first) text += " % " + std::to_string(extent);
    out_->Line("const long " + IndexName(order_[i]) + " = " + text + ";");
    element_.expressions().Bind(order_[i]);
  }
}

void CudaStatementWriter::WriteAlone() {
  const bool scans = !element_.scans().empty();
  const size_t rank = order_.size(), last = scans ? rank - 1 : rank;
  out_->Line("const long at = blockIdx.x * " + std::to_string(threads_) + "L + threadIdx.x;");
  out_->Line("if (at >= " + std::to_string(Extent(0, last)) + ") return;");
  WriteIndices("at", 0, last);
  if (!scans) return element_.WriteElement(true);
  const int inner = order_.back();
  element_.expressions().HoistReductions(element_.statement().root);
  element_.DeclareScans();
  element_.OpenScanLoop(std::to_string(facts_.extent(inner)));
  element_.expressions().Bind(inner);
  element_.WriteElement(true);
  out_->Close();
}

void CudaStatementWriter::WriteTogether() {
  ExpressionWriter& expressions = element_.expressions();
  const size_t rank = order_.size(), outer = static_cast<size_t>(outer_);
  const std::string threads = std::to_string(threads_);
  if (outer > 0) out_->Line("const long row = blockIdx.x;");
  WriteIndices("row", 0, outer);
  expressions.set_together("threadIdx.x", threads);
  expressions.HoistReductions(element_.statement().root);
  if (outer == rank) {
    element_.WriteElement(true, "threadIdx.x == 0");
    return expressions.set_together("", "");
  }
  expressions.set_together("", "");
  out_->Open("for (long at = threadIdx.x; at < " + std::to_string(Extent(outer, rank)) +
             "; at += " + threads + ") {");
  expressions.OpenScope();
  WriteIndices("at", outer, rank);
  element_.WriteElement(true);
  expressions.CloseScope();
  out_->Close();
}

}  // namespace hiera
