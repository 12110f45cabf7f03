#include "runtime/device/host/interpreter/plan.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "runtime/device/host/interpreter/lanes.h"

namespace hiera::interpreter {
namespace {

// Nanoseconds, on a core of 2021; only their ratios matter.
constexpr double kDispatch = 8;        // one instruction, whatever it works on
constexpr double kLaneOp = 0.06;       // one lane of an addition
constexpr double kLaneNear = 0.08;     // one lane read with stride 1
constexpr double kLaneStrided = 0.8;   // with a short stride
constexpr double kLaneFar = 1.6;       // with a stride of a cache line or more
constexpr double kLaneConvert = 0.15;  // not the type that is computed in
constexpr double kLaneSlow = 5;        // gathered, or with a quotient
constexpr double kPanelLane = 0.03;    // one lane of one row of a panel
constexpr double kPanelRowsTogether = 32;

bool Depends(const Lowered& l, int node, int index) {
  return std::binary_search(l.depends[node].begin(), l.depends[node].end(), index);
}

double Extent(const Lowered& l, int index) {
  return static_cast<double>(std::max<int64_t>(1, l.formula.indices[index].extent));
}

double BlockLanes(const Lowered& l, int index) {
  return index < 0 ? 1 : std::min<double>(Extent(l, index), kBlockLanes);
}

int64_t LaneStride(const Lowered& l, const Node& load, int index) {
  int64_t stride = 0;
  const Buffer& buffer = l.buffers[load.target];
  for (size_t axis = 0; axis < load.subscripts.size(); ++axis) {
    for (const auto& [i, coefficient] : load.subscripts[axis].affine.terms) {
      if (i == index) stride += coefficient * buffer.strides[axis];
    }
  }
  return stride;
}

// Whether lanes along `index` need the element-by-element path.
bool ReadsSlowly(const Lowered& l, const Node& load, int index) {
  for (const Subscript& s : load.subscripts) {
    if (s.gather >= 0 && Depends(l, s.gather, index)) return true;
    for (const auto& [i, coefficient] : s.affine.terms) {
      if (i == index && coefficient % s.affine.divisor != 0) return true;
    }
  }
  return false;
}

double StrideCost(int64_t stride) {
  const int64_t size = std::llabs(stride);
  return size == 1 ? kLaneNear : size < 16 ? kLaneStrided : kLaneFar;
}

// One lane of a read that depends on the lane index.
double LaneCost(const Lowered& l, const Node& load, int index) {
  if (ReadsSlowly(l, load, index)) return kLaneSlow;
  const Storage storage = l.buffers[load.target].storage;
  const bool converts = LaneBytes(l.real) != StorageBytes(storage) || storage == Storage::kI32;
  return StrideCost(LaneStride(l, load, index)) + (converts ? kLaneConvert : 0);
}

bool IsReal(const Lowered& l, int node) { return l.formula.nodes[node].type == ValueType::kReal; }

bool Gathers(const Node& load) {
  return std::any_of(load.subscripts.begin(), load.subscripts.end(),
                     [](const Subscript& s) { return s.gather >= 0; });
}

// Walks a stage's tree and adds up its cost for one choice of the lane index.
class CostModel {
 public:
  CostModel(const Lowered& lowered, const Statement& statement, int lane)
      : l_(lowered), statement_(statement), lane_(lane) {}

  double Total() {
    double points = 1;
    for (const int index : statement_.indices) points *= Extent(l_, index);
    Walk(statement_.root, points, lane_);
    const Buffer& out = l_.buffers[statement_.output];
    double store = kLaneNear;
    for (size_t axis = 0; axis < statement_.indices.size(); ++axis) {
      if (statement_.indices[axis] == lane_) store = StrideCost(out.strides[axis]);
    }
    return total_ + points * store + kDispatch * 2 * points / BlockLanes(l_, lane_);
  }

 private:
  void Walk(int node, double points, int lane) {
    const Node& n = l_.formula.nodes[node];
    const bool vector = lane >= 0 && Depends(l_, node, lane);
    const double dispatches = kDispatch * points / BlockLanes(l_, lane);
    switch (n.op) {
      case Op::kConstant:
      case Op::kScalar:
        return;
      case Op::kLoad:
        total_ += dispatches + (vector ? points * LaneCost(l_, n, lane) : 0);
        for (const Subscript& s : n.subscripts) {
          if (s.gather >= 0) Walk(s.gather, points, lane);
        }
        return;
      case Op::kReduce:
        return WalkReduce(node, points, lane, vector);
      default:
        total_ += dispatches + (vector ? points * kLaneOp : 0);
        for (const int operand : n.operands) Walk(operand, points, lane);
    }
  }

  void WalkReduce(int node, double points, int lane, bool vector) {
    const Node& n = l_.formula.nodes[node];
    double inner = points;
    for (const int index : n.bound) inner *= Extent(l_, index);
    if (vector && lane == lane_) {
      if (const auto match = MatchPanel(l_, statement_, node, lane)) {
        const double rows =
            match->row_index < 0 ? 1 : std::min(kPanelRowsTogether, Extent(l_, match->row_index));
        const Node& row = l_.formula.nodes[match->row];
        const double read = LaneCost(l_, row, lane) - (rows > 1 ? 0 : kLaneNear);
        total_ += inner * (kPanelLane * (rows > 1 ? 1 : 4) + read / rows) +
                  4 * kDispatch * inner / rows / BlockLanes(l_, lane);
        return;
      }
    }
    int body_lane = lane;
    if (!vector) {
      body_lane = CheapestBound(l_, node);
      total_ += 4 * kDispatch * points;
    }
    const bool body_vector = body_lane >= 0 && Depends(l_, n.operands[0], body_lane);
    total_ += kDispatch * inner / BlockLanes(l_, body_lane) + (body_vector ? inner * kLaneOp : 0);
    Walk(n.operands[0], inner, body_lane);
  }

  const Lowered& l_;
  const Statement& statement_;
  const int lane_;
  double total_ = 0;
};

double BodyCost(const Lowered& l, int node, int index) {
  const Node& n = l.formula.nodes[node];
  double cost = 0;
  if (n.op == Op::kLoad && Depends(l, node, index)) cost += LaneCost(l, n, index);
  for (const int operand : n.operands) cost += BodyCost(l, operand, index);
  return cost;
}

}  // namespace

int CheapestBound(const Lowered& lowered, int node) {
  const Node& n = lowered.formula.nodes[node];
  // In the order as written, only the innermost index can be done a block at a time.
  if (lowered.exact && n.type == ValueType::kReal) return n.bound.empty() ? -1 : n.bound.back();
  int best = -1;
  double best_cost = 0;
  for (const int index : n.bound) {
    if (lowered.formula.indices[index].extent < 4) continue;
    const double cost =
        BodyCost(lowered, n.operands[0], index) + kDispatch / BlockLanes(lowered, index);
    if (best < 0 || cost < best_cost) {
      best = index;
      best_cost = cost;
    }
  }
  return best;
}

std::optional<PanelMatch> MatchPanel(const Lowered& lowered, const Statement& statement, int node,
                                     int lane) {
  const Node& n = lowered.formula.nodes[node];
  if (n.op != Op::kReduce || n.type != ValueType::kReal || lane < 0) return {};
  if (n.reduce != Reduction::kSum && n.reduce != Reduction::kMean) return {};
  const Node& product = lowered.formula.nodes[n.operands[0]];
  if (product.op != Op::kMul) return {};
  PanelMatch match{product.operands[0], product.operands[1], -1};
  if (Depends(lowered, match.scale, lane)) std::swap(match.scale, match.row);
  if (Depends(lowered, match.scale, lane) || !Depends(lowered, match.row, lane)) return {};
  for (const int load : {match.scale, match.row}) {
    const Node& m = lowered.formula.nodes[load];
    if (m.op != Op::kLoad || !IsReal(lowered, load) || Gathers(m)) return {};
    const bool divides = std::any_of(m.subscripts.begin(), m.subscripts.end(),
                                     [](const Subscript& s) { return s.affine.divisor != 1; });
    if (divides && CanBreakKeep(lowered, load)) return {};
  }
  int64_t most = 1;
  for (const int index : statement.indices) {
    const int64_t extent = lowered.formula.indices[index].extent;
    if (index == lane || extent <= most || Depends(lowered, match.row, index) ||
        !Depends(lowered, match.scale, index)) {
      continue;
    }
    match.row_index = index;
    most = extent;
  }
  // A single row would use one of the kernel's rows and pay for all of them.
  if (match.row_index < 0) return {};
  return match;
}

Plan ChoosePlan(const Lowered& lowered, const Statement& statement) {
  Plan best{-1, CostModel(lowered, statement, -1).Total()};
  // From the fastest axis on, so that it wins a tie.
  for (size_t axis = statement.indices.size(); axis-- > 0;) {
    const int index = statement.indices[axis];
    if (lowered.formula.indices[index].extent <= 1) continue;
    const double cost = CostModel(lowered, statement, index).Total();
    if (cost < best.cost_ns) best = {index, cost};
  }
  return best;
}

}  // namespace hiera::interpreter
