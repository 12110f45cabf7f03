#include "policies/kernel/stencil_plan.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

namespace hiera {
namespace {

using Compiler = Candidate::Compiler;

constexpr int64_t kFuseDepths[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32};
constexpr int64_t kMaxFuse = 32;

// Measured on an x86-64 of 2021, where every page began a new run: the time until memory answers
// as fast as it does in the middle of one, and what starting and joining a region takes.
constexpr double kRunStartNs = 300;
constexpr double kRegionNs = 5e3;

int64_t RoundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }
int64_t Blocks(int64_t n, int64_t tile) { return (n + tile - 1) / tile; }
int64_t ElementBytes(const StencilTask& stencil) { return stencil.dtype == DType::kF32 ? 4 : 8; }

int64_t UnitCount(const StencilTask& stencil, const StencilPlan& plan) {
  int64_t units = 1;
  for (int d = 0; d < 3; ++d) units *= Blocks(stencil.extent[d], plan.tile[d]);
  return units;
}

// Elements of one slot's rings; mirrors Layout in stencil/stencil_layout.cc, against which every
// candidate asserts it when it is compiled.
int64_t RingElements(const StencilTask& stencil, const StencilPlan& plan, int64_t* ring_count) {
  const int64_t line = 64 / ElementBytes(stencil);
  const bool staged = stencil.sources[0].rule == Outside::kWrap && plan.fuse > 1;
  const int64_t rings = plan.fuse - 1 + (staged ? 1 : 0);
  const int64_t depth = stencil.low[0] + stencil.high[0] + 1;
  const int64_t rows = plan.tile[1] + rings * (stencil.low[1] + stencil.high[1]);
  const int64_t width = plan.tile[2] + rings * (stencil.low[2] + stencil.high[2]);
  const int64_t stride =
      RoundUp(RoundUp(stencil.low[2], line) + 2 * line + width + stencil.high[2], 2 * line) + line;
  *ring_count = rings;
  return rings * (depth * rows * stride + line);
}

// The pack of registers that hides the latency of one cell's chain of additions: the processor
// looks a few hundred instructions ahead, which are several cells only where a cell is short.
int DefaultUnroll(const StencilTask& stencil) {
  const int64_t length = stencil.work.operations + stencil.work.reads;
  return length <= 80 ? 2 : 4;
}

// Cost of one register of cells in cycles, its operands being in the first-level cache.
double CyclesPerVector(const StencilTask& stencil, const StencilPlan& plan) {
  const StencilTask::Work& work = stencil.work;
  // Two loads and two arithmetic operations a cycle; a shifted load crosses a cache line, which
  // costs a second access, every other time.
  const double reads =
      (static_cast<double>(work.reads) + 0.5 * static_cast<double>(work.shifted_reads)) / 2;
  const auto operations = static_cast<double>(work.operations);
  // Chains of dependent additions (latency 4) overlap as far as some 250 instructions reach.
  const double length = std::max(1.0, operations + static_cast<double>(work.reads));
  const double chains = std::max(1.0, 250 / length / plan.unroll) * plan.unroll;
  const double arithmetic = std::max(operations / 2, 4 * operations / chains);
  const auto slow = static_cast<double>(work.divisions * 5 + work.roots * 6);
  return std::max(reads, arithmetic) + slow + 0.7;
}

struct Rates {
  double cycles;  // per nanosecond, all threads
  double copy;    // bytes per nanosecond
  int lanes;
};

Rates RatesOf(const StencilTask& stencil, const MachineFacts& machine, int slots) {
  Rates rates;
  const int64_t element = ElementBytes(stencil);
  rates.lanes = std::max(1, machine.vector_bytes / static_cast<int>(element));
  const double share = std::min(1.0, static_cast<double>(slots) / std::max(1, machine.threads));
  // Two multiply-adds, four operations, of a register in each cycle make the peak.
  const double flops = element == 4 ? machine.flops_f32 : machine.flops_f64;
  rates.cycles = flops > 0 ? flops / (4.0 * rates.lanes) * 1e-9 : 3.0 * machine.threads;
  rates.cycles *= share;
  rates.copy = machine.copy_gbps > 0 ? machine.copy_gbps : 10.0 * std::min(machine.threads, 4);
  rates.copy *= std::min(1.0, 0.35 + 0.65 * share);
  return rates;
}

// How much more of level `above` levels below the output is computed than the output has.
double Redundancy(const StencilTask& stencil, const StencilPlan& plan, int64_t above) {
  double factor = 1;
  for (int d = 0; d < 3; ++d) {
    const int64_t blocks = Blocks(stencil.extent[d], plan.tile[d]);
    const bool wraps = stencil.sources[0].rule == Outside::kWrap;
    const double edges = wraps ? 1 : static_cast<double>(blocks - 1) / static_cast<double>(blocks);
    factor *= 1 + edges * static_cast<double>(above * (stencil.low[d] + stencil.high[d])) /
                      static_cast<double>(plan.tile[d]);
  }
  return factor;
}

double PredictPassNs(const StencilTask& stencil, const MachineFacts& machine,
                     const StencilPlan& plan, int64_t levels) {
  const int64_t element = ElementBytes(stencil);
  const Rates rates = RatesOf(stencil, machine, plan.slots);
  const auto cells = static_cast<double>(stencil.cells());
  const auto row_count = static_cast<double>(stencil.rows.size());

  // Memory: the state and every field read, the output written. A block narrower than the grid is
  // read in runs, at whose beginning the processor's own prefetching starts anew.
  const auto streams = static_cast<double>(stencil.sources.size() + 1);
  double bytes =
      cells * static_cast<double>(element) * (streams - 1 + Redundancy(stencil, plan, levels));
  const auto slab = static_cast<double>(plan.tile[1] * plan.tile[2] * element);
  const auto depth = static_cast<double>(stencil.low[0] + stencil.high[0] + 1);
  const double held = slab * (depth + 1);
  // Slabs that leave the second level but stay in the third cost a single sweep little: it runs
  // through memory in longer pieces, which counts for more.
  const bool third = levels == 1 && held * plan.slots < 0.5 * static_cast<double>(machine.l3_bytes);
  if (held > 0.7 * static_cast<double>(machine.l2_bytes) && !third) bytes *= 1.15;
  const double grids = 2 * cells * static_cast<double>(element);
  const double speed = grids < 0.25 * static_cast<double>(machine.l3_bytes) ? 2 : 1;
  const bool whole_rows = plan.tile[2] == stencil.extent[2];
  const double run =
      static_cast<double>(plan.tile[2]) * static_cast<double>(whole_rows ? plan.tile[1] : 1);
  const bool one_row = stencil.extent[0] == 1 && stencil.extent[1] == 1;
  const bool one_run = one_row || (whole_rows && plan.tile[1] == stencil.extent[1]);
  const double starts = one_run ? 0 : kRunStartNs * cells / run / plan.slots;
  const double memory = bytes / (rates.copy * speed);

  // Arithmetic: every level of every unit, row by row.
  int64_t rings = 0;
  const auto ring_set = static_cast<double>(RingElements(stencil, plan, &rings) * element);
  double cycles = CyclesPerVector(stencil, plan);
  if (levels > 1) {
    const double working = ring_set + slab * 2;
    if (working > 0.9 * static_cast<double>(machine.l1_bytes)) cycles += 0.4 * row_count;
    if (working > 0.75 * static_cast<double>(machine.l2_bytes)) cycles += 1.5 * row_count;
  }
  const double per_row = 60 + 4 * row_count;
  double vectors = 0, rows = 0;
  for (int64_t k = 1; k <= levels; ++k) {
    const double computed = cells * Redundancy(stencil, plan, levels - k);
    vectors += computed / rates.lanes;
    rows += computed / static_cast<double>(plan.tile[2]);
  }
  const double arithmetic = (vectors * cycles + rows * per_row) / rates.cycles;

  // A pass ends when its fullest slot does.
  const int64_t units = UnitCount(stencil, plan);
  const double balance =
      static_cast<double>(Blocks(units, plan.slots) * plan.slots) / static_cast<double>(units);
  return (std::max(memory, arithmetic) + 0.3 * std::min(memory, arithmetic) + starts) * balance +
         kRegionNs;
}

// Blocks of the planes, so that all slots have as much to do.
int64_t PlanesPerUnit(const StencilTask& stencil, int64_t other_blocks, int slots) {
  const int64_t bands = slots / std::gcd(static_cast<int64_t>(slots), other_blocks);
  return Blocks(stencil.extent[0], std::min(bands, stencil.extent[0]));
}

std::vector<int64_t> TileExtents(int64_t extent, std::initializer_list<int64_t> sizes) {
  std::vector<int64_t> tiles;
  for (int64_t size : sizes) {
    if (size < extent) tiles.push_back(size);
  }
  tiles.push_back(extent);
  return tiles;
}

}  // namespace

std::string PlanName(const StencilPlan& plan) {
  char text[160];
  std::snprintf(
      text, sizeof text, "fuse=%lld tile=%lldx%lldx%lld slots=%d unroll=%d prefetch=%d %s",
      static_cast<long long>(plan.fuse), static_cast<long long>(plan.tile[0]),
      static_cast<long long>(plan.tile[1]), static_cast<long long>(plan.tile[2]), plan.slots,
      plan.unroll, plan.prefetch, plan.compiler == Compiler::kGcc ? "gcc" : "clang");
  return text;
}

std::optional<StencilPlan> PlanFromName(std::string_view name) {
  StencilPlan plan;
  long long fuse = 0, tile[3] = {0, 0, 0};
  char compiler[8] = "";
  const int fields = std::sscanf(
      std::string(name).c_str(), "fuse=%lld tile=%lldx%lldx%lld slots=%d unroll=%d prefetch=%d %7s",
      &fuse, &tile[0], &tile[1], &tile[2], &plan.slots, &plan.unroll, &plan.prefetch, compiler);
  if (fields != 8) return {};
  plan.fuse = fuse;
  std::copy(tile, tile + 3, plan.tile.begin());
  plan.compiler = std::string_view(compiler) == "gcc" ? Compiler::kGcc : Compiler::kClang;
  if (PlanName(plan) != name) return {};
  return plan;
}

int64_t StencilWorkspaceBytes(const StencilTask& stencil, const StencilPlan& plan) {
  int64_t rings = 0;
  const int64_t slot = RingElements(stencil, plan, &rings);
  const int64_t passes = Blocks(stencil.steps, plan.fuse);
  const int64_t grids = passes == 1 ? 0 : stencil.keeps() && passes > 2 ? 2 : 1;
  const int64_t grid_stride = RoundUp(stencil.extent[2], 64 / ElementBytes(stencil));
  const int64_t grid = stencil.extent[0] * stencil.extent[1] * grid_stride;
  return (grids * grid + plan.slots * slot) * ElementBytes(stencil);
}

double PredictNs(const StencilTask& stencil, const MachineFacts& machine, const StencilPlan& plan) {
  const int64_t full = stencil.steps / plan.fuse, rest = stencil.steps % plan.fuse;
  double ns = 0;
  if (full > 0) {
    ns += static_cast<double>(full) * PredictPassNs(stencil, machine, plan, plan.fuse);
  }
  if (rest > 0) ns += PredictPassNs(stencil, machine, plan, rest);
  return ns;
}

std::vector<StencilPlan> EnumeratePlans(const StencilTask& stencil, const MachineFacts& machine) {
  std::vector<std::pair<double, StencilPlan>> plans;
  const int slots = std::max(1, machine.threads);
  // One row is cut into as many pieces as there are threads; other grids have planes for that.
  const bool one_row = stencil.extent[0] == 1 && stencil.extent[1] == 1;
  const int64_t share = one_row ? RoundUp(Blocks(stencil.extent[2], slots), 64) : stencil.extent[2];
  for (int64_t fuse : kFuseDepths) {
    if (fuse > 1 && fuse > std::min(stencil.steps, stencil.max_fuse)) break;
    for (int64_t rows : TileExtents(stencil.extent[1], {8, 16, 32, 64, 128})) {
      for (int64_t width : TileExtents(stencil.extent[2], {512, 1024, 2048, 4096, 8192, share})) {
        StencilPlan plan;
        plan.fuse = fuse;
        plan.slots = slots;
        plan.unroll = DefaultUnroll(stencil);
        plan.compiler = machine.has_gcc ? Compiler::kGcc : Compiler::kClang;
        const int64_t blocks = Blocks(stencil.extent[1], rows) * Blocks(stencil.extent[2], width);
        plan.tile = {PlanesPerUnit(stencil, blocks, slots), rows, width};
        plan.slots = static_cast<int>(std::min<int64_t>(slots, UnitCount(stencil, plan)));
        if (StencilWorkspaceBytes(stencil, plan) > stencil.workspace_limit) continue;
        plans.emplace_back(PredictNs(stencil, machine, plan), plan);
      }
    }
  }
  std::stable_sort(plans.begin(), plans.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<StencilPlan> ordered;
  for (auto& [ns, plan] : plans) ordered.push_back(plan);
  return ordered;
}

std::vector<StencilPlan> NeighbourPlans(const StencilTask& stencil, const MachineFacts& machine,
                                        const StencilPlan& plan) {
  std::vector<StencilPlan> neighbours;
  const auto add = [&](auto change) {
    StencilPlan other = plan;
    change(&other);
    other.fuse = std::clamp<int64_t>(other.fuse, 1, std::min(stencil.max_fuse, kMaxFuse));
    for (int d = 0; d < 3; ++d) {
      other.tile[d] = std::clamp<int64_t>(other.tile[d], 1, stencil.extent[d]);
    }
    const int64_t blocks =
        Blocks(stencil.extent[1], other.tile[1]) * Blocks(stencil.extent[2], other.tile[2]);
    other.tile[0] = PlanesPerUnit(stencil, blocks, std::max(1, machine.threads));
    other.slots = static_cast<int>(
        std::min<int64_t>(std::max(1, machine.threads), UnitCount(stencil, other)));
    if (other == plan || StencilWorkspaceBytes(stencil, other) > stencil.workspace_limit) return;
    if (std::find(neighbours.begin(), neighbours.end(), other) == neighbours.end()) {
      neighbours.push_back(other);
    }
  };
  add([](StencilPlan* p) { p->fuse += std::max<int64_t>(1, p->fuse / 2); });
  add([](StencilPlan* p) { p->fuse -= std::max<int64_t>(1, p->fuse / 3); });
  if (machine.has_gcc && machine.has_clang) {
    add([](StencilPlan* p) {
      p->compiler = p->compiler == Compiler::kGcc ? Compiler::kClang : Compiler::kGcc;
    });
  }
  add([](StencilPlan* p) { p->unroll = p->unroll == 4 ? 2 : p->unroll * 2; });
  add([](StencilPlan* p) { p->prefetch = p->prefetch == 0 ? 1 : 0; });
  for (int d = 1; d < 3; ++d) {
    if (stencil.extent[d] == 1) continue;
    add([d](StencilPlan* p) { p->tile[d] = Blocks(p->tile[d], 2); });
    add([d](StencilPlan* p) { p->tile[d] *= 2; });
  }
  add([](StencilPlan* p) { p->unroll = p->unroll == 1 ? 4 : 1; });
  add([](StencilPlan* p) { p->prefetch = p->prefetch == 2 ? 4 : 2; });
  return neighbours;
}

}  // namespace hiera
