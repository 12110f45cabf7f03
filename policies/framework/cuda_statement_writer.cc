#include "policies/framework/cuda_statement_writer.h"

#include <algorithm>

namespace hiera {
namespace {

constexpr int64_t kMostInt = 0x7fffffff;
constexpr int64_t kMostRows = 65535;   // blocks of a grid along y and z
constexpr int64_t kWorthSharing = 32;  // terms of a reduction that a block's threads share out

}  // namespace

CudaStatementWriter::CudaStatementWriter(const FormulaFacts& facts, const ElementAccess& access,
                                         int statement, const CudaLoopsOptions& options, int state)
    : facts_(facts),
      access_(access),
      number_(statement),
      threads_(options.threads),
      element_(facts, access, statement, state),
      order_(element_.order()) {
  if (options.together) ChooseOuter();
  ChooseTile(options);
  ChooseParameters();
  if (FitsInInt()) element_.expressions().set_index_type("int");
}

// Whether no subscript, offset or number of an element needs more than 32 bits.
bool CudaStatementWriter::FitsInInt() const {
  const auto fits = [](int64_t value) { return value >= -kMostInt && value <= kMostInt; };
  bool fit = fits(Extent(0, order_.size()) + threads_);
  for (const TensorSpec& tensor : facts_.task().tensors) {
    fit = fit && fits(tensor.span_bytes()) && fits(tensor.elements());
  }
  for (int n : facts_.Below(element_.statement().root)) {
    const Node& node = facts_.node(n);
    if (node.op == Op::kIndex) {
      const Interval range = facts_.RangeOf(node.affine);
      fit = fit && fits(range.low) && fits(range.high);
    }
    if (node.op == Op::kReduce) {
      int64_t terms = 1;
      for (int index : node.bound) terms *= std::max<int64_t>(facts_.extent(index), 1);
      fit = fit && fits(terms);
    }
    for (const Subscript& subscript : node.subscripts) {
      const Interval range = facts_.RangeOf(subscript.affine);
      // A subscript outside its tensor is multiplied by the stride only where a rule brings it
      // back.
      fit = fit && fits(range.low) && fits(range.high);
    }
  }
  return fit;
}

void CudaStatementWriter::ChooseTile(const CudaLoopsOptions& options) {
  if (options.tile == 0 || outer_ >= 0 || !element_.scans().empty() || order_.empty()) return;
  tile_ = options.tile;
  rows_ = order_.size() > 1 ? options.rows : 1;
  const std::array<int64_t, 3> blocks = grid();
  if (blocks[1] > kMostRows || blocks[2] > kMostRows) tile_ = 0;
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

std::array<int64_t, 3> CudaStatementWriter::block() const {
  if (tile_ == 0) return {threads_, 1, 1};
  return {tile_, order_.size() > 1 ? threads_ / tile_ : 1, 1};
}

std::array<int64_t, 3> CudaStatementWriter::grid() const {
  const size_t rank = order_.size();
  if (Extent(0, rank) == 0) return {0, 1, 1};
  if (outer_ >= 0) return {Extent(0, static_cast<size_t>(outer_)), 1, 1};
  const auto blocks = [](int64_t count, int64_t size) { return (count + size - 1) / size; };
  if (tile_ == 0) {
    const size_t last = element_.scans().empty() ? rank : rank - 1;
    return {blocks(Extent(0, last), threads_), 1, 1};
  }
  const int64_t columns = blocks(facts_.extent(order_.back()), tile_);
  if (rank == 1) return {columns, 1, 1};
  return {columns, blocks(facts_.extent(order_[rank - 2]), block()[1] * rows_),
          Extent(0, rank - 2)};
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
  } else if (tile_ > 0) {
    WriteTile();
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
    out_->Line("const " + element_.expressions().index_type() + " " + IndexName(order_[i]) + " = " +
               text + ";");
    element_.expressions().Bind(order_[i]);
  }
}

void CudaStatementWriter::WriteAlone() {
  const bool scans = !element_.scans().empty();
  const size_t rank = order_.size(), last = scans ? rank - 1 : rank;
  const std::string& type = element_.expressions().index_type();
  out_->Line("const " + type + " at = (" + type + ")blockIdx.x * " + std::to_string(threads_) +
             " + threadIdx.x;");
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

// A tile of the two innermost indices: no division, and neighbours in one block.
void CudaStatementWriter::WriteTile() {
  ExpressionWriter& expressions = element_.expressions();
  const std::string& type = expressions.index_type();
  const size_t rank = order_.size();
  const auto index = [&](size_t i) { return IndexName(order_[i]); };
  const auto extent = [&](size_t i) { return std::to_string(facts_.extent(order_[i])); };
  out_->Line("const " + type + " " + index(rank - 1) + " = blockIdx.x * " + std::to_string(tile_) +
             " + threadIdx.x;");
  out_->Line("if (" + index(rank - 1) + " >= " + extent(rank - 1) + ") return;");
  expressions.Bind(order_[rank - 1]);
  if (rank == 1) return element_.WriteElement(true);
  if (rank > 2) {
    out_->Line("const " + type + " slice = blockIdx.z;");
    WriteIndices("slice", 0, rank - 2);
  }
  const std::string height = std::to_string(block()[1]);
  out_->Line("#pragma unroll");
  out_->Open("for (int row = 0; row < " + std::to_string(rows_) + "; ++row) {");
  out_->Line("const " + type + " " + index(rank - 2) + " = (blockIdx.y * " + std::to_string(rows_) +
             " + row) * " + height + " + threadIdx.y;");
  out_->Line("if (" + index(rank - 2) + " >= " + extent(rank - 2) + ") return;");
  expressions.Bind(order_[rank - 2]);
  expressions.OpenScope();
  element_.WriteElement(true);
  expressions.CloseScope();
  out_->Close();
}

void CudaStatementWriter::WriteTogether() {
  ExpressionWriter& expressions = element_.expressions();
  const size_t rank = order_.size(), outer = static_cast<size_t>(outer_);
  const std::string threads = std::to_string(threads_);
  const std::string& type = expressions.index_type();
  if (outer > 0) out_->Line("const " + type + " row = blockIdx.x;");
  WriteIndices("row", 0, outer);
  expressions.set_together("threadIdx.x", threads);
  expressions.HoistReductions(element_.statement().root);
  if (outer == rank) {
    element_.WriteElement(true, "threadIdx.x == 0");
    return expressions.set_together("", "");
  }
  expressions.set_together("", "");
  out_->Open("for (" + type + " at = threadIdx.x; at < " + std::to_string(Extent(outer, rank)) +
             "; at += " + threads + ") {");
  expressions.OpenScope();
  WriteIndices("at", outer, rank);
  element_.WriteElement(true);
  expressions.CloseScope();
  out_->Close();
}

}  // namespace hiera
