// What a sweep is expected to take, and which are worth trying.
#include <algorithm>
#include <cmath>
#include <utility>

#include "policies/kernel/cuda_stencil.h"
#include "policies/kernel/cuda_sweep_taps.h"

namespace hiera {
namespace {

// What copying kernels need on a GPU of 2022: half of the rate of memory is reached with so many
// bytes asked for in a multiprocessor at a time.
constexpr double kHalfRateBytes = 5e3;
constexpr double kCacheOverMemory = 1.6;  // rates of the second-level cache and of copies
constexpr double kSectorBytes = 32;
constexpr double kWarpRate = 4 * 1.5;  // warp instructions of a multiprocessor in a nanosecond
constexpr double kLaunchNs = 3e3;
constexpr double kOverlap = 0.2;  // of the work that is not the slowest, what shows
constexpr double kUnknownCopyGbps = 1500;

constexpr std::pair<int, int> kFlatBlocks[] = {{128, 1}, {256, 1}, {64, 4}, {32, 8}};
constexpr std::pair<int, int> kDeepBlocks[] = {{32, 8},  {32, 16}, {64, 4}, {64, 8},
                                               {128, 2}, {128, 4}, {32, 4}};
constexpr int kMarches[] = {4, 8, 16, 32, 64, 128};

double ElementBytes(const StencilTask& stencil) { return stencil.dtype == DType::kF32 ? 4 : 8; }
double Ratio(int64_t a, int64_t b) { return static_cast<double>(a) / static_cast<double>(b); }
int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Instructions of one pack of cells.
double InstructionsOf(const StencilTask& stencil, const SweepTaps& taps,
                      const CudaSweepOptions& options) {
  double loads = 0, moves = 0;
  for (const SweepTaps::Tap& tap : taps.taps) {
    loads += tap.base >= 0 ? 1 : static_cast<double>(tap.planes);
    if (tap.base >= 0) moves += static_cast<double>(taps.pieces[tap.piece].width);
  }
  const double width = ElementBytes(stencil) / 4;
  const auto arithmetic = static_cast<double>(
      stencil.work.operations + 12 * stencil.work.divisions + 12 * stencil.work.roots);
  return 12 + 6 * loads + moves + arithmetic * options.neighbours * width;
}

}  // namespace

double PredictSweepNs(const StencilTask& stencil, const MachineFacts& machine,
                      const CudaSweepOptions& options) {
  const SweepTaps taps = PlanSweepTaps(stencil, options);
  const int64_t resident = std::max<int64_t>(1, ResidentBlocks(taps, options));
  const int64_t threads = int64_t{options.threads_x} * options.threads_y;
  const double element = ElementBytes(stencil);
  const auto cells = static_cast<double>(stencil.cells());
  const double copy = machine.copy_gbps > 0 ? machine.copy_gbps : kUnknownCopyGbps;
  const double sources = static_cast<double>(stencil.sources.size());

  // What blocks read beyond their own cells, as a share of those.
  const bool flat = stencil.extent[1] == 1;
  const int64_t march = std::min<int64_t>(options.march, stencil.extent[0]);
  const int64_t planes = flat ? march * options.threads_y : march;
  const double over_planes = 1 + Ratio(stencil.low[0] + stencil.high[0], planes);
  const double over_rows =
      flat ? 1 : 1 + Ratio(stencil.low[1] + stencil.high[1], options.threads_y);
  const int sides = (stencil.low[2] > 0 ? 1 : 0) + (stencil.high[2] > 0 ? 1 : 0);
  const double along =
      1 + sides * kSectorBytes /
              (static_cast<double>(options.threads_x) * options.neighbours * element);

  // Memory. Borders between blocks along the planes are met again when the cache may have lost
  // them; the others while it has them.
  const double own = cells * element * sources, written = cells * element;
  const double lost = stencil.extent[0] > 1 && !flat ? 0.5 * (over_planes - 1) : 0;
  int64_t under_way = 0;
  for (const SweepTaps::Tap& tap : taps.taps) {
    if (taps.pieces[tap.piece].at != 0) continue;
    under_way = std::max<int64_t>(under_way, tap.ahead + 1);
  }
  const double bytes =
      static_cast<double>(resident * threads * options.neighbours * under_way) * element * sources;
  const double memory = (own * (1 + lost) + written) / copy * (bytes + kHalfRateBytes) / bytes;
  const double cache =
      (own * over_planes * over_rows * along + written) / (copy * kCacheOverMemory);
  const double packs = cells / options.neighbours / 32;
  const double issue =
      packs * InstructionsOf(stencil, taps, options) / (kWarpRate * std::max(1, machine.threads));

  const int64_t walks = DivideUp(stencil.extent[0], options.march);
  const int64_t across = flat ? DivideUp(walks, options.threads_y)
                              : walks * DivideUp(stencil.extent[1], options.threads_y);
  const int64_t blocks =
      across * DivideUp(stencil.extent[2], int64_t{options.threads_x} * options.neighbours);
  const double waves = Ratio(blocks, resident * std::max(1, machine.threads));
  // Threads beyond the grid's end, and the last wave.
  const double idle = Ratio(blocks * threads * options.neighbours * options.march, stencil.cells());
  const double uneven = waves < 1 ? 1 / waves : (waves + 0.4) / waves;
  const double slowest = std::max({memory, cache, issue});
  const double others = memory + cache + issue - slowest;  // which overlap in the most part
  return ((slowest + kOverlap * others) * uneven * (0.8 + 0.2 * idle) + kLaunchNs) *
         static_cast<double>(stencil.steps);
}

std::vector<CudaSweepOptions> EnumerateSweeps(const StencilTask& stencil,
                                              const MachineFacts& machine) {
  std::vector<std::pair<double, CudaSweepOptions>> found;
  const bool flat = stencil.extent[1] == 1;
  const auto add = [&](const CudaSweepOptions& options) {
    if (!CheckCudaSweep(stencil, options).ok()) return;
    found.emplace_back(PredictSweepNs(stencil, machine, options), options);
  };
  // What steps write is read by the next; where all of it fits, the cache should have it.
  const double grids = 2 * static_cast<double>(stencil.cells()) * ElementBytes(stencil);
  const bool stays = stencil.steps > 1 && grids < 0.7 * static_cast<double>(machine.l3_bytes);
  for (int neighbours = WidestSweep(stencil); neighbours >= 1; neighbours /= 2) {
    const auto blocks = flat ? std::vector(std::begin(kFlatBlocks), std::end(kFlatBlocks))
                             : std::vector(std::begin(kDeepBlocks), std::end(kDeepBlocks));
    for (const auto& [threads_x, threads_y] : blocks) {
      for (const int march : kMarches) {
        const bool longer = march > stencil.extent[0];
        if (longer && march != kMarches[0]) continue;
        for (const int ahead : {0, 1, 2, 4}) {
          if (ahead > std::max(2, 4 / neighbours)) continue;
          CudaSweepOptions options{neighbours, threads_x, threads_y, march, ahead, !stays};
          if (longer) options.march = static_cast<int>(stencil.extent[0]);
          if (options.march == 1 && ahead > 0) continue;
          // Whole groups of planes, where there is more than one.
          const auto group = static_cast<int>(PlanSweepTaps(stencil, options).unroll);
          if (!longer) options.march = (march + group - 1) / group * group;
          add(options);
        }
      }
    }
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CudaSweepOptions> ordered;
  for (auto& [ns, options] : found) ordered.push_back(options);
  return ordered;
}

std::vector<CudaSweepOptions> NeighbourSweeps(const StencilTask& stencil,
                                              const CudaSweepOptions& best) {
  std::vector<CudaSweepOptions> neighbours;
  const auto add = [&](auto change) {
    CudaSweepOptions options = best;
    change(&options);
    const bool known = std::find(neighbours.begin(), neighbours.end(), options) != neighbours.end();
    if (options == best || known || !CheckCudaSweep(stencil, options).ok()) return;
    neighbours.push_back(options);
  };
  if (stencil.extent[0] > 1) {
    add([&](auto* o) {
      o->march = static_cast<int>(std::min<int64_t>(2 * o->march, stencil.extent[0]));
    });
    add([](auto* o) { o->march = std::max(1, o->march / 2); });
    add([](auto* o) { ++o->ahead; });
    add([](auto* o) { --o->ahead; });
  }
  add([](auto* o) { o->streaming = !o->streaming; });
  add([](auto* o) { o->threads_y *= 2; });
  add([](auto* o) { o->threads_y = std::max(1, o->threads_y / 2); });
  add([](auto* o) { o->threads_x *= 2; });
  add([](auto* o) { o->threads_x /= 2; });
  add([](auto* o) {
    o->threads_x *= 2;
    o->threads_y /= 2;
  });
  add([](auto* o) {
    o->threads_x /= 2;
    o->threads_y *= 2;
  });
  add([](auto* o) { o->neighbours *= 2; });
  add([](auto* o) { o->neighbours /= 2; });
  return neighbours;
}

}  // namespace hiera
