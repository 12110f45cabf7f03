#include "runtime/device/interpreter/lower.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace hiera::interpreter {
namespace {

// A buffer of the interpreter's own holds at most this many elements; a larger one is not made and
// its reduction is computed where it stands.
constexpr int64_t kMostBufferElements = int64_t{1} << 27;
// A reduction over at least this many elements, to fewer results than there are workers, is split.
constexpr int64_t kSplitElements = int64_t{1} << 15;

Storage StorageOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return Storage::kF64;
    case DType::kF32:
      return Storage::kF32;
    case DType::kF16:
      return Storage::kF16;
    case DType::kBF16:
      return Storage::kBF16;
    case DType::kI32:
      return Storage::kI32;
    case DType::kBool:
      return Storage::kBool;
  }
  return Storage::kF32;
}

bool Contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// Where a node stands: the indices that have a value there, outermost first.
struct Context {
  std::vector<int> indices;
  bool nested = false;  // inside a reduction or scan
  int number = 0;       // of its own
};

class Lowering {
 public:
  Lowering(const Task& task, const Splitting& splitting) : splitting_(splitting) {
    out_.formula.indices = task.formula.indices;
    out_.bound_count = task.bound_count;
    out_.real = task.contract.accumulate == DType::kF64 ? Lane::kF64 : Lane::kF32;
    out_.exact = task.contract.arithmetic == Arithmetic::kExact;
    for (const TensorSpec& t : task.tensors) {
      out_.buffers.push_back({StorageOf(t.dtype), t.extents, t.strides, t.outside});
    }
    for (const Node& n : task.formula.nodes) Append(n);
  }

  Status AddStatement(const Statement& s) {
    Context context{s.indices, false, next_context_++};
    Statement lowered = s;
    lowered.root = Rewrite(s.root, context);
    out_.stages.push_back({lowered, false, {}});
    return status_;
  }

  Lowered Take() { return std::move(out_); }

 private:
  int Append(Node n);
  int Rewrite(int node, const Context& context);
  int RewriteReduce(Node n, const Context& context);
  int RewriteScan(Node n, const Context& context);
  int Materialise(int node, const std::vector<int>& indices);
  int Split(int node, const Context& context);
  int Substitute(int node, int index, const Affine& value);
  Affine Substituted(const Affine& affine, int index, const Affine& value) const;
  int64_t CountOf(const std::vector<int>& indices) const;

  const Splitting splitting_;
  Lowered out_;
  Status status_;
  int next_context_ = 0;
  std::map<std::pair<int, int>, int> rewritten_;  // (context number, node)
};

int Lowering::Append(Node n) {
  std::vector<int> depends;
  const auto join = [&](const std::vector<int>& more) {
    depends.insert(depends.end(), more.begin(), more.end());
  };
  for (const int operand : n.operands) join(out_.depends[operand]);
  for (const auto& [index, coefficient] : n.affine.terms) depends.push_back(index);
  for (const Subscript& s : n.subscripts) {
    if (s.gather >= 0) join(out_.depends[s.gather]);
    for (const auto& [index, coefficient] : s.affine.terms) depends.push_back(index);
  }
  if (n.op == Op::kScan) depends.push_back(n.target);
  std::sort(depends.begin(), depends.end());
  depends.erase(std::unique(depends.begin(), depends.end()), depends.end());
  std::erase_if(depends, [&](int index) { return Contains(n.bound, index); });
  out_.depends.push_back(std::move(depends));
  out_.formula.nodes.push_back(std::move(n));
  return static_cast<int>(out_.formula.nodes.size()) - 1;
}

int64_t Lowering::CountOf(const std::vector<int>& indices) const {
  int64_t count = 1;
  for (const int index : indices) {
    const int64_t extent = out_.formula.indices[index].extent;
    if (extent == 0) return 0;
    if (count > INT64_MAX / extent) return INT64_MAX;
    count *= extent;
  }
  return count;
}

int Lowering::Rewrite(int node, const Context& context) {
  const auto known = rewritten_.find({context.number, node});
  if (known != rewritten_.end()) return known->second;
  Node n = out_.formula.nodes[node];  // a copy: nodes are appended meanwhile
  int result = node;
  if (n.op == Op::kReduce) {
    result = RewriteReduce(std::move(n), context);
  } else if (n.op == Op::kScan) {
    result = RewriteScan(std::move(n), context);
  } else {
    bool changed = false;
    for (int& operand : n.operands) {
      const int fresh = Rewrite(operand, context);
      changed |= fresh != operand;
      operand = fresh;
    }
    for (Subscript& s : n.subscripts) {
      if (s.gather < 0) continue;
      const int fresh = Rewrite(s.gather, context);
      changed |= fresh != s.gather;
      s.gather = fresh;
    }
    if (changed) result = Append(std::move(n));
  }
  rewritten_[{context.number, node}] = result;
  return result;
}

int Lowering::RewriteReduce(Node n, const Context& context) {
  Context inside{context.indices, true, next_context_++};
  inside.indices.insert(inside.indices.end(), n.bound.begin(), n.bound.end());
  n.operands[0] = Rewrite(n.operands[0], inside);
  int node = Append(std::move(n));
  node = Split(node, context);
  const std::vector<int> depends = out_.depends[node];
  // Of the context's indices, those that count; a context index of extent 1 makes no difference.
  const bool everything =
      std::all_of(context.indices.begin(), context.indices.end(), [&](int index) {
        return Contains(depends, index) || out_.formula.indices[index].extent == 1;
      });
  if ((everything && !context.nested) || CountOf(depends) > kMostBufferElements ||
      CanBreakKeep(out_, node)) {
    return node;
  }
  std::vector<int> indices;
  for (const int index : context.indices) {
    if (Contains(depends, index)) indices.push_back(index);
  }
  return Materialise(node, indices);
}

int Lowering::RewriteScan(Node n, const Context& context) {
  Context inside{context.indices, true, next_context_++};
  n.operands[0] = Rewrite(n.operands[0], inside);
  if (CanBreakKeep(out_, n.operands[0])) {
    status_ =
        Unsupported("a scan of reads that a keep rule may break; give the tensor another rule");
  }
  std::vector<int> indices;
  for (const int index : context.indices) {
    if (index != n.target && Contains(out_.depends[n.operands[0]], index)) indices.push_back(index);
  }
  indices.push_back(n.target);
  const int load = Materialise(n.operands[0], indices);
  Statement in_place = out_.stages.back().statement;
  out_.stages.push_back({in_place, true, n.scan});
  return load;
}

int Lowering::Materialise(int node, const std::vector<int>& indices) {
  const ValueType type = out_.formula.nodes[node].type;
  Buffer buffer;
  buffer.storage = type == ValueType::kInt    ? Storage::kI64
                   : type == ValueType::kBool ? Storage::kBool
                   : out_.real == Lane::kF64  ? Storage::kF64
                                              : Storage::kF32;
  for (const int index : indices) buffer.extents.push_back(out_.formula.indices[index].extent);
  buffer.strides = DenseStrides(buffer.extents);
  const int number = static_cast<int>(out_.buffers.size());
  out_.buffers.push_back(std::move(buffer));
  Statement s;
  s.output = number;
  s.indices = indices;
  s.root = node;
  out_.stages.push_back({s, false, {}});
  Node load;
  load.op = Op::kLoad;
  load.type = type;
  load.target = number;
  for (const int index : indices) load.subscripts.push_back({Affine{{{index, 1}}, 0, 1}, -1});
  return Append(std::move(load));
}

// Turns reduce(b...: x) to few results into reduce(p: T[.., p]) with T[.., p] = reduce over the
// part of b that p names, where the extent of some bound index has a divisor to make parts of.
int Lowering::Split(int node, const Context& context) {
  const Node n = out_.formula.nodes[node];
  const bool ordered = out_.exact && n.type == ValueType::kReal;
  if (n.reduce == Reduction::kArgMax || n.reduce == Reduction::kArgMin || ordered) return node;
  if (splitting_.workers == 1 || CountOf(n.bound) < kSplitElements) return node;
  if (CountOf(out_.depends[node]) >= splitting_.workers || CanBreakKeep(out_, node)) return node;
  for (size_t b = 0; b < n.bound.size(); ++b) {
    const int index = n.bound[b];
    const int64_t extent = out_.formula.indices[index].extent;
    int64_t parts = splitting_.most_parts;
    while (parts > 1 && extent % parts != 0) --parts;
    if (parts < splitting_.least_parts || parts == 1) continue;
    const int part = static_cast<int>(out_.formula.indices.size());
    out_.formula.indices.push_back({"part", parts});
    out_.formula.indices.push_back({"rest", extent / parts});
    Node inner = n;
    inner.bound[b] = part + 1;
    if (n.reduce == Reduction::kMean) inner.reduce = Reduction::kSum;
    const Affine value{{{part, extent / parts}, {part + 1, 1}}, 0, 1};
    inner.operands[0] = Substitute(n.operands[0], index, value);
    std::vector<int> indices;
    const std::vector<int> depends = out_.depends[node];
    for (const int i : context.indices) {
      if (Contains(depends, i)) indices.push_back(i);
    }
    indices.push_back(part);
    Node outer = n;
    outer.reduce = inner.reduce;
    outer.bound = {part};
    outer.operands = {Materialise(Append(std::move(inner)), indices)};
    const int total = Append(std::move(outer));
    if (n.reduce != Reduction::kMean) return total;
    Node count, mean;
    count.constant = static_cast<double>(CountOf(n.bound));
    mean.op = Op::kDiv;
    mean.operands = {total, Append(std::move(count))};
    return Append(std::move(mean));
  }
  return node;
}

Affine Lowering::Substituted(const Affine& affine, int index, const Affine& value) const {
  std::map<int, int64_t> terms;
  Affine out{{}, affine.offset, affine.divisor};
  for (const auto& [i, coefficient] : affine.terms) {
    if (i != index) {
      terms[i] += coefficient;
      continue;
    }
    out.offset += coefficient * value.offset;
    for (const auto& [j, inner] : value.terms) terms[j] += coefficient * inner;
  }
  for (const auto& [i, coefficient] : terms) {
    if (coefficient != 0) out.terms.push_back({i, coefficient});
  }
  return out;
}

int Lowering::Substitute(int node, int index, const Affine& value) {
  if (!Contains(out_.depends[node], index)) return node;
  Node n = out_.formula.nodes[node];
  n.affine = Substituted(n.affine, index, value);
  for (int& operand : n.operands) operand = Substitute(operand, index, value);
  for (Subscript& s : n.subscripts) {
    s.affine = Substituted(s.affine, index, value);
    if (s.gather >= 0) s.gather = Substitute(s.gather, index, value);
  }
  return Append(std::move(n));
}

}  // namespace

int64_t Buffer::bytes() const {
  int64_t last = 0;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 0) return 0;
    last += (extents[axis] - 1) * strides[axis];
  }
  return (last + 1) * StorageBytes(storage);
}

Interval RangeOf(const Affine& affine, const std::vector<Index>& indices) {
  Interval range{affine.offset, affine.offset};
  for (const auto& [index, coefficient] : affine.terms) {
    const int64_t reach = coefficient * std::max<int64_t>(indices[index].extent - 1, 0);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

bool CanBreakKeep(const Lowered& lowered, int node) {
  const Node& n = lowered.formula.nodes[node];
  for (const int operand : n.operands) {
    if (CanBreakKeep(lowered, operand)) return true;
  }
  if (n.op != Op::kLoad) return false;
  const Buffer& buffer = lowered.buffers[n.target];
  for (size_t axis = 0; axis < n.subscripts.size(); ++axis) {
    const Subscript& s = n.subscripts[axis];
    if (s.gather >= 0 && CanBreakKeep(lowered, s.gather)) return true;
    if (buffer.outside != Outside::kKeep) continue;
    const Interval range = RangeOf(s.affine, lowered.formula.indices);
    if (s.gather >= 0 || s.affine.divisor != 1 || range.low < 0 ||
        range.high >= buffer.extents[axis]) {
      return true;
    }
  }
  return false;
}

Result<Lowered> Lower(const Task& task, const Splitting& splitting) {
  Lowering lowering(task, splitting);
  for (const Statement& s : task.formula.statements) {
    HIERA_RETURN_IF_ERROR(lowering.AddStatement(s));
  }
  return lowering.Take();
}

}  // namespace hiera::interpreter
