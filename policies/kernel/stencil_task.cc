#include "policies/kernel/stencil_task.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "policies/kernel/stencil_cell.h"

namespace hiera {
namespace {

constexpr int64_t kMaxReach = 64;   // what halos and patches are sized for
constexpr size_t kMaxReads = 1024;  // more takes compilers longer than a candidate may take
constexpr int64_t kMaxIndex = int64_t{1} << 40;

struct Read {
  int tensor = -1;
  std::vector<int64_t> offset;  // per axis of the output
  int node = -1;
};

// The formula's reads and axes while they are brought to three dimensions.
struct Mapping {
  std::vector<int> axes;  // axes of the output, slowest first, that are left
  std::vector<Read> reads;
  std::vector<TensorSpec> tensors;  // layouts, with axes merged into others
};

std::string Quoted(const std::string& name) { return "\"" + name + "\""; }

// What the formula needs; with `always`, only what it needs whatever its selects choose.
std::vector<bool> Reachable(const Formula& formula, bool always) {
  std::vector<bool> reachable(formula.nodes.size(), false);
  reachable[formula.statements[0].root] = true;
  for (int n = formula.statements[0].root; n >= 0; --n) {
    if (!reachable[n]) continue;
    const Node& node = formula.nodes[n];
    const size_t count = always && node.op == Op::kSelect ? 1 : node.operands.size();
    for (size_t o = 0; o < count; ++o) reachable[node.operands[o]] = true;
  }
  return reachable;
}

Status CheckTask(const Task& task) {
  const Formula& formula = task.formula;
  if (formula.statements.size() != 1) {
    return Unsupported("the task has " + std::to_string(formula.statements.size()) +
                       " statements; the stencil template takes one");
  }
  const int output = formula.statements[0].output;
  const TensorSpec& out = task.tensors[output];
  if (task.is_local(output)) return Unsupported("the output is a local tensor");
  if (formula.steps > 1 && (formula.carries.size() != 1 || formula.carries[0].source != output)) {
    return Unsupported("the steps carry more than the output into one state");
  }
  if (out.dtype != DType::kF32 && out.dtype != DType::kF64) {
    return Unsupported(Quoted(out.name) + " is " + std::string(DTypeName(out.dtype)) +
                       "; the stencil template computes in f32 and f64");
  }
  if (task.contract.accumulate != out.dtype) {
    return Unsupported("the accumulation type is not that of the tensors");
  }
  if (out.rank() == 0 || out.elements() == 0) return Unsupported("the output has no axis or cell");
  return {};
}

// The offset of a read from the output's index, or a reason why it has none.
Result<Read> FindOffset(const Task& task, int n) {
  const Node& node = task.formula.nodes[n];
  const Statement& statement = task.formula.statements[0];
  const TensorSpec& tensor = task.tensors[node.target];
  const std::string reads = "not a stencil: the formula reads " + Quoted(tensor.name);
  if (node.target == statement.output) return Unsupported(reads + ", its own output");
  if (tensor.dtype != task.tensors[statement.output].dtype) {
    return Unsupported(reads + " of another type than the output's");
  }
  if (node.subscripts.size() != statement.indices.size()) {
    return Unsupported(reads + ", whose rank is not the output's");
  }
  Read read{node.target, {}, n};
  for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
    const Subscript& subscript = node.subscripts[axis];
    if (subscript.gather >= 0) return Unsupported(reads + " at a gathered index");
    const std::pair<int, int64_t> plain{statement.indices[axis], 1};
    if (subscript.affine.divisor != 1 || subscript.affine.terms.size() != 1 ||
        subscript.affine.terms[0] != plain) {
      return Unsupported(reads + " at an index that is not the output's plus a constant (axis " +
                         std::to_string(axis) + ")");
    }
    if (std::abs(subscript.affine.offset) > kMaxReach) {
      return Unsupported(reads + " at a distance of " + std::to_string(subscript.affine.offset) +
                         "; the stencil template reaches " + std::to_string(kMaxReach));
    }
    read.offset.push_back(subscript.affine.offset);
  }
  return read;
}

Status CollectReads(const Task& task, Mapping* mapping) {
  const std::vector<bool> reachable = Reachable(task.formula, false);
  const std::vector<bool> always = Reachable(task.formula, true);
  bool offset = false;
  for (size_t n = 0; n < reachable.size(); ++n) {
    if (!reachable[n] || task.formula.nodes[n].op != Op::kLoad) continue;
    Result<Read> read = FindOffset(task, static_cast<int>(n));
    if (!read.ok()) return read.status();
    for (int64_t d : read->offset) offset |= d != 0;
    const TensorSpec& tensor = task.tensors[read->tensor];
    if (tensor.outside == Outside::kKeep && !always[n]) {
      return Unsupported("a select decides whether " + Quoted(tensor.name) +
                         ", whose rule is keep, is read; the stencil template keeps a cell where "
                         "any of its reads lies outside");
    }
    mapping->reads.push_back(*std::move(read));
  }
  if (!offset && task.formula.steps == 1) {
    return Unsupported("not a stencil: no read is at a distance from the output's index");
  }
  if (mapping->reads.size() > kMaxReads) {
    return Unsupported("the formula reads " + std::to_string(mapping->reads.size()) +
                       " points; compilers take too long over more than " +
                       std::to_string(kMaxReads));
  }
  return {};
}

std::vector<int> TensorsOf(const Mapping& mapping, int output) {
  std::vector<int> tensors{output};
  for (const Read& read : mapping.reads) {
    if (std::find(tensors.begin(), tensors.end(), read.tensor) == tensors.end()) {
      tensors.push_back(read.tensor);
    }
  }
  return tensors;
}

bool ReadsAcross(const Mapping& mapping, int axis) {
  return std::any_of(mapping.reads.begin(), mapping.reads.end(),
                     [&](const Read& read) { return read.offset[axis] != 0; });
}

// Merges axis `outer` into `inner` where all tensors walk over both as over one.
bool Merge(Mapping* mapping, const std::vector<int>& tensors, int outer, int inner) {
  if (ReadsAcross(*mapping, outer) || ReadsAcross(*mapping, inner)) return false;
  const TensorSpec& out = mapping->tensors[tensors[0]];
  for (int t : tensors) {
    const TensorSpec& tensor = mapping->tensors[t];
    if (tensor.extents[outer] != out.extents[outer] ||
        tensor.extents[inner] != out.extents[inner] ||
        tensor.strides[outer] != tensor.extents[inner] * tensor.strides[inner]) {
      return false;
    }
  }
  for (int t : tensors) mapping->tensors[t].extents[inner] *= mapping->tensors[t].extents[outer];
  return true;
}

// Orders the axes by the output's strides, drops those of extent 1 that nothing reads across, and
// merges others until three are left.
Status ReduceAxes(Mapping* mapping, const std::vector<int>& tensors) {
  const TensorSpec& out = mapping->tensors[tensors[0]];
  std::vector<int>& axes = mapping->axes;
  for (int axis = 0; axis < out.rank(); ++axis) {
    bool flat = !ReadsAcross(*mapping, axis);
    for (int t : tensors) flat &= mapping->tensors[t].extents[axis] == 1;
    if (!flat) axes.push_back(axis);
  }
  if (axes.empty()) axes.push_back(out.rank() - 1);
  std::stable_sort(axes.begin(), axes.end(),
                   [&](int a, int b) { return out.strides[a] > out.strides[b]; });
  for (size_t i = 0; axes.size() > 3 && i + 1 < axes.size();) {
    if (Merge(mapping, tensors, axes[i], axes[i + 1])) {
      axes.erase(axes.begin() + static_cast<int64_t>(i));
    } else {
      ++i;
    }
  }
  if (axes.size() > 3) {
    return Unsupported("the grid has " + std::to_string(axes.size()) +
                       " dimensions; the stencil template covers three");
  }
  for (int t : tensors) {
    const TensorSpec& tensor = mapping->tensors[t];
    if (tensor.strides[axes.back()] != 1 && tensor.extents[axes.back()] > 1) {
      return Unsupported(Quoted(tensor.name) + " is not contiguous along the axis in which the " +
                         "output is; the stencil template needs a stride of 1 there");
    }
    for (int64_t extent : tensor.extents) {
      if (extent > kMaxIndex) return Unsupported(Quoted(tensor.name) + " is too large to index");
    }
  }
  return {};
}

// Where output dimension d of the template is among the axes, -1 for none.
int AxisOf(const Mapping& mapping, int d) {
  const int count = static_cast<int>(mapping.axes.size());
  if (d == 2) return mapping.axes[count - 1];
  if (d == 1) return count == 3 ? mapping.axes[1] : -1;
  return count >= 2 ? mapping.axes[0] : -1;
}

StencilTask::Source SourceOf(const Mapping& mapping, int tensor) {
  const TensorSpec& spec = mapping.tensors[tensor];
  StencilTask::Source source;
  source.tensor = tensor;
  source.rule = spec.outside;
  for (int d = 0; d < 3; ++d) {
    const int axis = AxisOf(mapping, d);
    if (axis < 0) continue;
    source.extent[d] = spec.extents[axis];
    if (d < 2) source.stride[d] = spec.strides[axis];
  }
  return source;
}

// Groups the reads into rows, and finds what the state's reads reach and which cells are kept.
void FindRows(const Mapping& mapping, StencilTask* stencil, std::vector<std::string>* texts) {
  std::vector<std::array<int64_t, 5>> seen;  // source and offsets, without repeats
  for (const Read& read : mapping.reads) {
    const auto source = std::find_if(stencil->sources.begin(), stencil->sources.end(),
                                     [&](const auto& s) { return s.tensor == read.tensor; });
    const int s = static_cast<int>(source - stencil->sources.begin());
    std::array<int64_t, 3> d{0, 0, 0};
    for (int i = 0; i < 3; ++i) {
      const int axis = AxisOf(mapping, i);
      if (axis >= 0) d[i] = read.offset[axis];
      if (s == 0) stencil->low[i] = std::max(stencil->low[i], -d[i]);
      if (s == 0) stencil->high[i] = std::max(stencil->high[i], d[i]);
      if (source->rule != Outside::kKeep) continue;
      stencil->begin[i] = std::max(stencil->begin[i], -d[i]);
      stencil->end[i] = std::min(stencil->end[i], source->extent[i] - d[i]);
    }
    auto row = std::find_if(stencil->rows.begin(), stencil->rows.end(), [&](const auto& r) {
      return r.source == s && r.d0 == d[0] && r.d1 == d[1];
    });
    if (row == stencil->rows.end()) {
      row = stencil->rows.insert(row, {s, d[0], d[1], d[2], d[2], 0});
    }
    row->low = std::min(row->low, d[2]);
    row->high = std::max(row->high, d[2]);
    const int64_t index = row - stencil->rows.begin();
    (*texts)[read.node] =
        "u.template Read<" + std::to_string(index) + ", " + std::to_string(d[2]) + ">()";
    if (std::find(seen.begin(), seen.end(), std::array<int64_t, 5>{s, d[0], d[1], d[2], 0}) ==
        seen.end()) {
      seen.push_back({s, d[0], d[1], d[2], 0});
      ++row->points;
      ++stencil->work.reads;
      stencil->work.shifted_reads += d[2] != 0;
    }
  }
  for (int i = 0; i < 3; ++i) {
    stencil->begin[i] = std::clamp<int64_t>(stencil->begin[i], 0, stencil->extent[i]);
    stencil->end[i] = std::clamp(stencil->end[i], stencil->begin[i], stencil->extent[i]);
  }
}

// How many steps may share a pass. Levels of a wrapped state are computed beyond the border as the
// cells of the other side; fields follow them only if they wrap as well.
void LimitFusion(StencilTask* stencil) {
  stencil->max_fuse = stencil->steps;
  if (stencil->sources[0].rule != Outside::kWrap) return;
  if (stencil->keeps()) stencil->max_fuse = 1;
  for (size_t s = 1; s < stencil->sources.size(); ++s) {
    StencilTask::Source& field = stencil->sources[s];
    bool centred = field.extent == stencil->extent;
    for (const StencilTask::Row& row : stencil->rows) {
      if (row.source != static_cast<int>(s)) continue;
      centred &= row.d0 == 0 && row.d1 == 0 && row.low == 0 && row.high == 0;
    }
    if (centred) {
      field.rule = Outside::kWrap;  // never read outside; periodic as the state's images are
    } else if (field.rule != Outside::kWrap || field.extent != stencil->extent) {
      stencil->max_fuse = 1;
    }
  }
}

}  // namespace

bool StencilTask::keeps() const {
  return begin != std::array<int64_t, 3>{0, 0, 0} || end != extent;
}

Result<StencilTask> MapStencil(const Task& task) {
  HIERA_RETURN_IF_ERROR(CheckTask(task));
  const int output = task.formula.statements[0].output;
  Mapping mapping{{}, {}, task.tensors};
  HIERA_RETURN_IF_ERROR(CollectReads(task, &mapping));
  const std::vector<int> tensors = TensorsOf(mapping, output);
  HIERA_RETURN_IF_ERROR(ReduceAxes(&mapping, tensors));

  StencilTask stencil;
  stencil.dtype = task.tensors[output].dtype;
  stencil.output = output;
  stencil.steps = task.formula.steps;
  stencil.workspace_limit = task.contract.workspace_bytes;
  stencil.alignment = task.contract.alignment;
  const StencilTask::Source out = SourceOf(mapping, output);
  stencil.extent = stencil.end = out.extent;
  stencil.stride = out.stride;
  const int state = stencil.steps > 1 ? task.formula.carries[0].state : mapping.reads[0].tensor;
  if (std::find(tensors.begin(), tensors.end(), state) == tensors.end()) {
    return Unsupported("not a stencil: the formula does not read the state that its steps carry");
  }
  stencil.sources.push_back(SourceOf(mapping, state));
  for (int t : tensors) {
    if (t != output && t != state) stencil.sources.push_back(SourceOf(mapping, t));
  }
  std::vector<std::string> texts(task.formula.nodes.size());
  FindRows(mapping, &stencil, &texts);
  LimitFusion(&stencil);

  Result<StencilCell> cell = EmitStencilCell(task, [&](int node) { return texts[node]; });
  if (!cell.ok()) return cell.status();
  stencil.cell = std::move(cell->body);
  stencil.scalars = std::move(cell->scalars);
  const StencilTask::Work reads = stencil.work;
  stencil.work = cell->work;
  stencil.work.reads = reads.reads;
  stencil.work.shifted_reads = reads.shifted_reads;
  return stencil;
}

}  // namespace hiera
