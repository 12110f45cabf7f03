#include "policies/framework/statement_writer.h"

#include <algorithm>

namespace hiera {
namespace {

constexpr int64_t kEnoughPieces = 32;    // leading loops are collapsed until there are so many
constexpr int64_t kUnrolledExtent = 16;  // reductions up to here stay inside a block's lane

std::string Join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

// Division that rounds down, and up; the divisor is positive.
int64_t FloorDivide(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
int64_t CeilDivide(int64_t a, int64_t b) { return -FloorDivide(-a, b); }

}  // namespace

StatementWriter::StatementWriter(const FormulaFacts& facts, const ElementAccess& access,
                                 int statement, int64_t block, int state)
    : facts_(facts),
      access_(access),
      statement_(facts.task().formula.statements[statement]),
      number_(statement),
      block_(block),
      element_(facts, access, statement, state),
      expressions_(element_.expressions()),
      order_(element_.order()),
      scans_(element_.scans()) {
  ChooseParallel();
}

void StatementWriter::ChooseParallel() {
  const int rank = static_cast<int>(order_.size());
  if (rank == 0 || (rank == 1 && !scans_.empty())) return;
  int most = std::max(1, rank - 1);
  // A reduction that fewer loops than are collapsed decide would be repeated in every piece.
  for (int n : facts_.Below(statement_.root)) {
    if (facts_.node(n).op != Op::kReduce || facts_.MayKeep(n)) continue;
    const int level = element_.LevelOf(n);
    if (level >= 1) most = std::min(most, level);
  }
  do {
    count_ *= facts_.extent(order_[parallel_++]);
  } while (parallel_ < most && count_ < kEnoughPieces);
}

double StatementWriter::work() const {
  double elements = 1;
  for (int index : order_) elements *= static_cast<double>(facts_.extent(index));
  return elements * (1 + facts_.WorkOf(statement_.root));
}

// The function's parameters, or the arguments that a region passes from its context.
std::vector<std::string> StatementWriter::Parameters(bool declare) const {
  const ElementWriter::Uses uses = element_.FindUses();
  std::vector<std::string> list;
  for (int tensor : uses.tensors) {
    const std::string name = TensorName(tensor);
    const std::string constant = tensor == statement_.output ? "" : "const ";
    list.push_back(declare ? constant + std::string(access_.StorageType(tensor)) + "* __restrict " +
                                 name
                           : "c." + name);
    if (!access_.symbolic(tensor)) continue;
    for (int axis = 0; axis < facts_.task().tensors[tensor].rank(); ++axis) {
      list.push_back((declare ? "long " : "c.") + access_.Stride(tensor, axis));
    }
  }
  for (int scalar : uses.scalars) list.push_back((declare ? "real " : "c.") + ScalarName(scalar));
  if (uses.last_step) list.push_back(declare ? "bool last_step" : "c.last_step");
  list.push_back(declare ? "long begin" : "begin");
  list.push_back(declare ? "long end" : "end");
  return list;
}

void StatementWriter::Write(SourceText* out) {
  out_ = out;
  element_.set_out(out);
  const std::string name = "statement_" + std::to_string(number_);
  out_->OpenList("static void " + name + "(", Parameters(true), ") {");
  expressions_.OpenScope();
  WriteLoops();
  expressions_.CloseScope();
  out_->Close();
  out_->Open("static void " + RegionName() + "(void* context, long begin, long end, int) {");
  out_->Line("const Context& c = *(const Context*)context;");
  out_->Line(name + "(" + Join(Parameters(false), ", ") + ");");
  out_->Close();
  out_->Line("");
}

void StatementWriter::WriteLoops() {
  expressions_.HoistReductions(statement_.root);
  int opened = 0;
  const int rank = static_cast<int>(order_.size());
  const auto open = [&](const std::string& header, int levels) {
    out_->Open(header);
    ++opened;
    for (int i = 0; i < levels; ++i) expressions_.OpenScope();
  };
  int at = 0;
  if (parallel_ == 0) {
    open("for (; begin < end; ++begin) {", 1);
  } else if (parallel_ > 1) {
    open("for (long at = begin; at < end; ++at) {", 1);
    std::vector<std::string> lines;
    int64_t inner = count_;
    for (; at < parallel_; ++at) {
      const int64_t extent = facts_.extent(order_[at]);
      inner /= std::max<int64_t>(extent, 1);
      std::string text = inner == 1 ? "at" : "at / " + std::to_string(inner);
      if (at > 0) text += " % " + std::to_string(extent);
      out_->Line("const long " + IndexName(order_[at]) + " = " + text + ";");
      expressions_.Bind(order_[at]);
    }
    expressions_.HoistReductions(statement_.root);
  }
  for (; at < rank - 1; ++at) {
    const std::string name = IndexName(order_[at]);
    const bool shared = at < parallel_;
    open("for (long " + name + " = " + (shared ? "begin" : "0") + "; " + name + " < " +
             (shared ? "end" : std::to_string(facts_.extent(order_[at]))) + "; ++" + name + ") {",
         1);
    expressions_.Bind(order_[at]);
    expressions_.HoistReductions(statement_.root);
  }
  if (rank == 0) {
    element_.WriteElement(true);
  } else if (parallel_ == rank) {
    WriteRow("begin", "end");
  } else {
    WriteRow("0", std::to_string(facts_.extent(order_.back())));
  }
  for (; opened > 0; --opened) {
    expressions_.CloseScope();
    out_->Close();
  }
}

void StatementWriter::WriteRow(const std::string& low, const std::string& high) {
  const int inner = order_.back();
  const std::string name = IndexName(inner);
  if (scans_.empty()) {
    Interior interior = FindInterior();
    if (element_.has_scan()) interior = {.split = true};  // a scan reads where its own loop is
    if (!interior.split) return WriteInner("long " + name + " = " + low, high);
    if (interior.first < interior.last) return WriteSplitRow(low, high, interior);
    out_->Open("for (long " + name + " = " + low + "; " + name + " < " + high + "; ++" + name +
               ") {");
    expressions_.Bind(inner);
    element_.WriteElement(true);
    expressions_.Bind(inner, false);
    out_->Close();
    return;
  }
  element_.DeclareScans();
  element_.OpenScanLoop(high);
  expressions_.Bind(inner);
  element_.WriteElement(true);
  expressions_.Bind(inner, false);
  out_->Close();
}

StatementWriter::Interior StatementWriter::FindInterior() {
  Interior interior;
  interior.last = facts_.extent(order_.back());
  // Reductions that outer loops have already written keep their checks.
  const auto written = [this](int n) { return expressions_.Hoistable(n); };
  for (int n : facts_.Below(statement_.root, written)) {
    const Node& node = facts_.node(n);
    for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
      if (facts_.CheckOf(node, static_cast<int>(axis)) != AxisCheck::kEdge) continue;
      interior.split = true;
      AddBound(node, static_cast<int>(axis), &interior);
    }
  }
  interior.last = std::max(interior.last, interior.first);
  return interior;
}

// Narrows the interior to where `load` is inside along `axis`, whatever bound indices do.
void StatementWriter::AddBound(const Node& load, int axis, Interior* interior) const {
  const int64_t extent = facts_.task().tensors[load.target].extents[axis];
  const Affine& affine = load.subscripts[axis].affine;
  Affine outer, bound;
  int64_t slope = 0;
  for (const auto& term : affine.terms) {
    if (term.first == order_.back()) {
      slope = term.second;
    } else if (std::find(order_.begin(), order_.end(), term.first) != order_.end()) {
      outer.terms.push_back(term);
    } else {
      bound.terms.push_back(term);
    }
  }
  bound.offset = affine.offset;
  const Interval range = facts_.RangeOf(bound);
  // The subscript lies in [slope * x + outer + range.low, slope * x + outer + range.high].
  if (!outer.terms.empty()) {
    // Where the innermost index has a part in it too, all of its range must do.
    const int64_t reach = slope * (facts_.extent(order_.back()) - 1);
    Affine lowest = outer, highest = outer;
    lowest.offset = range.low + std::min<int64_t>(reach, 0);
    highest.offset = range.high + std::max<int64_t>(reach, 0);
    const auto add = [&](const std::string& condition) {
      auto& list = interior->conditions;
      if (std::find(list.begin(), list.end(), condition) == list.end()) list.push_back(condition);
    };
    if (facts_.RangeOf(lowest).low < 0) add(AffineText(lowest, expressions_.names()) + " >= 0");
    if (facts_.RangeOf(highest).high >= extent) {
      add(AffineText(highest, expressions_.names()) + " < " + std::to_string(extent));
    }
    return;
  }
  int64_t first = 0, last = interior->last;
  if (slope > 0) {
    first = CeilDivide(-range.low, slope);
    last = FloorDivide(extent - 1 - range.high, slope) + 1;
  } else if (slope < 0) {
    first = CeilDivide(range.high - (extent - 1), -slope);
    last = FloorDivide(range.low, -slope) + 1;
  } else if (range.low < 0 || range.high >= extent) {
    last = 0;
  }
  interior->first = std::max(interior->first, first);
  interior->last = std::min(interior->last, last);
}

void StatementWriter::WriteSplitRow(const std::string& low, const std::string& high,
                                    const Interior& interior) {
  const int inner = order_.back();
  const std::string name = IndexName(inner);
  out_->Open("const auto edge = [=](long " + name + ") __attribute__((noinline)) {");
  expressions_.Bind(inner);
  element_.WriteElement(true);
  expressions_.Bind(inner, false);
  out_->Close("};");
  std::string inside;
  if (!interior.conditions.empty()) {
    out_->Line("const bool inside = " + Join(interior.conditions, " && ") + ";");
    inside = "!inside ? " + high + " : ";
  }
  const std::string first = std::to_string(interior.first), last = std::to_string(interior.last);
  const bool whole = low == "0";
  out_->Line("const long first = " + inside +
             (whole ? first : "fn::least(fn::most(" + low + ", " + first + "), " + high + ")") +
             ";");
  out_->Line("const long last = " + inside +
             (whole ? last : "fn::most(first, fn::least(" + high + ", " + last + "))") + ";");
  out_->Line("for (long " + name + " = " + low + "; " + name + " < first; ++" + name + ") edge(" +
             name + ");");
  WriteInner("long " + name + " = first", "last");
  out_->Line("for (long " + name + " = last; " + name + " < " + high + "; ++" + name + ") edge(" +
             name + ");");
}

// The loop in which no edge needs checking.
void StatementWriter::WriteInner(const std::string& start, const std::string& end) {
  const std::vector<int> reductions = BlockedReductions();
  if (!reductions.empty()) return WriteBlocks(start, end, reductions);
  const std::string name = IndexName(order_.back());
  out_->Open("for (" + start + "; " + name + " < " + end + "; ++" + name + ") {");
  expressions_.Bind(order_.back());
  element_.WriteElement(false);
  expressions_.Bind(order_.back(), false);
  out_->Close();
}

// The reductions that a block of elements runs side by side; empty where blocks do not apply.
std::vector<int> StatementWriter::BlockedReductions() {
  std::vector<int> reductions;
  if (block_ == 0 || element_.MayKeep(false)) return reductions;
  const auto written = [this](int n) { return expressions_.Hoistable(n); };
  std::vector<int> below = facts_.Below(statement_.root, written);
  expressions_.Bind(order_.back());
  for (int n : below) {
    if (!expressions_.Hoistable(n)) continue;
    const Reduction kind = facts_.node(n).reduce;
    if (kind == Reduction::kArgMax || kind == Reduction::kArgMin) {
      reductions.clear();
      break;
    }
    reductions.push_back(n);
  }
  expressions_.Bind(order_.back(), false);
  return reductions;
}

void StatementWriter::WriteBlocks(const std::string& start, const std::string& end,
                                  const std::vector<int>& reductions) {
  const std::string name = IndexName(order_.back()), size = std::to_string(block_);
  const std::string from = start.substr(start.find("= ") + 2);
  out_->Open("for (long block = " + from + "; block < " + end + "; block += " + size + ") {");
  const bool even = from == "0" && end == std::to_string(facts_.extent(order_.back())) &&
                    facts_.extent(order_.back()) % block_ == 0;
  out_->Line(
      "const long lanes = " + (even ? size : "fn::least(" + end + " - block, " + size + ")") + ";");
  expressions_.OpenScope();
  expressions_.set_edges_checked(false);
  expressions_.Bind(order_.back());
  for (int n : reductions) {
    WriteBlockedReduction(n, "for (long lane = 0; lane < lanes; ++lane)");
    expressions_.Define(n, "r" + std::to_string(n) + "[lane]");
  }
  out_->Open("for (long lane = 0; lane < lanes; ++lane) {");
  out_->Line("const long " + name + " = block + lane;");
  element_.WriteElement(false);
  out_->Close();
  expressions_.Bind(order_.back(), false);
  expressions_.CloseScope();
  out_->Close();
}

void StatementWriter::WriteBlockedReduction(int n, const std::string& lanes) {
  const Node& node = facts_.node(n);
  const std::string name = IndexName(order_.back());
  const AccumulatorText text = AccumulatorOf(node.reduce, node.type);
  const std::string type(ValueTypeText(node.type)), array = "r" + std::to_string(n);
  out_->Line(type + " " + array + "[" + std::to_string(block_) + "];");
  out_->Line(lanes + " " + array + "[lane] = " + text.initial + ";");
  // Trailing short loops stay inside the lane, where the compiler unrolls them.
  size_t outer = node.bound.size();
  for (int64_t unrolled = 1; outer > 0; --outer) {
    unrolled *= facts_.extent(node.bound[outer - 1]);
    if (unrolled > kUnrolledExtent) break;
  }
  double terms = 1;
  const auto open = [&](int index) {
    const std::string loop = IndexName(index), extent = std::to_string(facts_.extent(index));
    out_->Open("for (long " + loop + " = 0; " + loop + " < " + extent + "; ++" + loop + ") {");
    expressions_.Bind(index);
    terms *= static_cast<double>(facts_.extent(index));
  };
  for (size_t i = 0; i < outer; ++i) open(node.bound[i]);
  out_->Open(lanes + " {");
  out_->Line("const long " + name + " = block + lane;");
  out_->Line(type + " sum = " + array + "[lane];");
  for (size_t i = outer; i < node.bound.size(); ++i) open(node.bound[i]);
  expressions_.OpenScope();
  const std::string value = expressions_.Value(node.operands[0]);
  out_->Line(text.Update("sum", Bare(value)));
  expressions_.CloseScope();
  for (size_t i = outer; i < node.bound.size(); ++i) out_->Close();
  out_->Line(array + "[lane] = sum;");
  out_->Close();
  for (size_t i = 0; i < outer; ++i) out_->Close();
  for (int index : node.bound) expressions_.Bind(index, false);
  if (node.reduce == Reduction::kMean) {
    const DType accumulate = facts_.task().contract.accumulate;
    out_->Line(lanes + " " + array + "[lane] /= " + ConstantText(terms, node.type, accumulate) +
               ";");
  }
}

}  // namespace hiera
