#include "policies/framework/element_writer.h"

#include <algorithm>

namespace hiera {

ElementWriter::ElementWriter(const FormulaFacts& facts, const ElementAccess& access, int statement,
                             int state)
    : facts_(facts),
      access_(access),
      statement_(facts.task().formula.statements[statement]),
      state_(state),
      expressions_(facts, access) {
  ChooseOrder();
}

// Output indices in their order; the axis along which scans are carried comes last.
void ElementWriter::ChooseOrder() {
  order_ = statement_.indices;
  for (int n : facts_.Below(statement_.root)) {
    const Node& node = facts_.node(n);
    if (node.op != Op::kScan) continue;
    has_scan_ = true;
    const auto is_output = [&](int index) {
      return std::find(order_.begin(), order_.end(), index) != order_.end();
    };
    bool closed = true;  // no index of a surrounding reduction
    for (size_t i = 0; i < facts_.task().formula.indices.size(); ++i) {
      const int index = static_cast<int>(i);
      if (facts_.DependsOn(n, index) && !is_output(index)) closed = false;
    }
    if (!closed) continue;
    if (!scans_.empty()) {
      const Node& first = facts_.node(scans_[0]);
      if (node.target != first.target || node.scan.reverse != first.scan.reverse) continue;
    }
    scans_.push_back(n);
  }
  if (scans_.empty()) return;
  const int target = facts_.node(scans_[0]).target;
  order_.erase(std::find(order_.begin(), order_.end(), target));
  order_.push_back(target);
}

bool ElementWriter::MayKeep(bool edges_checked) const {
  for (int n : facts_.Below(statement_.root)) {
    const Node& node = facts_.node(n);
    if (node.op != Op::kLoad || facts_.task().tensors[node.target].outside != Outside::kKeep) {
      continue;
    }
    for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
      const AxisCheck check = facts_.CheckOf(node, static_cast<int>(axis));
      if (check == AxisCheck::kEvery || (check == AxisCheck::kEdge && edges_checked)) return true;
    }
  }
  return false;
}

int ElementWriter::LevelOf(int node) const {
  int level = 0;
  for (size_t position = 0; position < order_.size(); ++position) {
    if (facts_.DependsOn(node, order_[position])) level = static_cast<int>(position) + 1;
  }
  return level;
}

ElementWriter::Uses ElementWriter::FindUses() const {
  Uses uses;
  for (int n : facts_.Below(statement_.root)) {
    const Node& node = facts_.node(n);
    if (node.op == Op::kLoad) uses.tensors.insert(node.target);
    if (node.op == Op::kScalar) uses.scalars.insert(node.target);
  }
  uses.last_step = state_ >= 0 && MayKeep(true);
  if (uses.last_step) uses.tensors.insert(state_);
  uses.tensors.insert(statement_.output);
  return uses;
}

void ElementWriter::set_out(SourceText* out) {
  out_ = out;
  expressions_.set_out(out);
}

void ElementWriter::DeclareScans() {
  for (int n : scans_) {
    const Node& node = facts_.node(n);
    const std::string initial = node.scan.kind == ScanKind::kSum ? " = 0;" : " = 1;";
    out_->Line(std::string(ValueTypeText(node.type)) + " c" + std::to_string(n) + initial);
    if (facts_.MayKeep(n)) out_->Line("bool k" + std::to_string(n) + " = false;");
  }
}

void ElementWriter::OpenScanLoop(const std::string& high) {
  const std::string name = IndexName(order_.back());
  if (facts_.node(scans_[0]).scan.reverse) {
    out_->Open("for (" + expressions_.index_type() + " " + name + " = " +
               std::to_string(facts_.extent(order_.back()) - 1) + "; " + name + " >= 0; --" + name +
               ") {");
  } else {
    out_->Open("for (" + expressions_.index_type() + " " + name + " = 0; " + name + " < " + high +
               "; ++" + name + ") {");
  }
}

void ElementWriter::WriteElement(bool edges_checked, const std::string& writer) {
  const bool keep = MayKeep(edges_checked);
  expressions_.OpenScope();
  expressions_.set_edges_checked(edges_checked);
  if (keep) {
    out_->Line("bool keep = false;");
    expressions_.set_keep("keep");
  }
  UpdateScans();
  const std::string value = expressions_.Value(statement_.root);
  const int output = statement_.output;
  const auto offset = [&](int tensor) {
    return access_.Offset(tensor, statement_.indices, expressions_.names());
  };
  const std::string write = access_.Write(output, offset(output), value);
  if (!writer.empty()) out_->Open("if (" + writer + ") {");
  if (!keep) {
    out_->Line(write);
  } else if (state_ < 0) {
    out_->Line("if (!keep) " + write);
  } else {
    out_->Open("if (!keep) {");
    out_->Line(write);
    out_->Middle("} else if (!last_step) {");
    out_->Line(TensorName(output) + "[" + offset(output) + "] = " + TensorName(state_) + "[" +
               offset(state_) + "];");
    out_->Close();
  }
  if (!writer.empty()) out_->Close();
  expressions_.CloseScope();
  expressions_.set_edges_checked(true);
}

void ElementWriter::UpdateScans() {
  for (int n : scans_) {
    const Node& node = facts_.node(n);
    const std::string acc = "c" + std::to_string(n), flag = "k" + std::to_string(n);
    const std::string update = acc + (node.scan.kind == ScanKind::kSum ? " += " : " *= ");
    const bool keep = facts_.MayKeep(n);
    if (node.scan.exclusive) {
      const std::string before = "v" + std::to_string(n);
      out_->Line("const " + std::string(ValueTypeText(node.type)) + " " + before + " = " + acc +
                 ";");
      if (keep) out_->Line("keep |= " + flag + ";");
    }
    expressions_.OpenScope();  // what it reads counts for later elements too
    if (keep) expressions_.set_keep(flag);
    out_->Line(update + expressions_.Value(node.operands[0]) + ";");
    if (keep) expressions_.set_keep("keep");
    expressions_.CloseScope();
    if (keep && !node.scan.exclusive) out_->Line("keep |= " + flag + ";");
    expressions_.Define(n, (node.scan.exclusive ? "v" : "c") + std::to_string(n));
  }
}

}  // namespace hiera
