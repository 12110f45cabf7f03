#include "policies/kernel/gemm/search.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace hiera::gemm {
namespace {

using Compiler = Candidate::Compiler;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The least work that a lane must have, lest waking its thread cost more than it saves.
constexpr double kLaneNs = 10000;

struct Shape {
  int rows, vecs;
};

// Register tiles that fill the machine's registers, or nearly; tall ones for few columns, wide ones
// for few rows.
std::vector<Shape> RegisterTiles(const Problem& p, int width, bool inner, int registers) {
  const int64_t columns = inner ? p.cols : CeilDiv(p.cols, width);
  std::vector<Shape> shapes;
  for (int vecs = 1; vecs <= (inner ? 4 : 8); ++vecs) {
    if (vecs > columns) break;
    // sums + one row of B + an element of A
    const int most = std::min<int>((registers - vecs - 1) / vecs, 14);
    for (int rows = most; rows >= 1; --rows) {
      const int64_t height = CeilDiv(p.rows, CeilDiv(p.rows, rows));
      if (height != rows) continue;  // the same tiles as a smaller number gives
      if (rows * vecs < registers / 4 && rows < std::min<int64_t>(p.rows, most)) break;
      shapes.push_back({rows, vecs});
    }
  }
  // One more row than fits, for few rows: 8 x 1 of 16 registers reads each element once.
  if (p.rows > 1 && p.rows <= registers && columns == 1) {
    shapes.push_back({static_cast<int>(p.rows), 1});
  }
  return shapes;
}

class Enumeration {
 public:
  Enumeration(const Problem& problem, const MachineFacts& machine)
      : problem_(problem), machine_(machine) {}

  void Add(const Tuning& tuning) {
    if (!WhyNot(problem_, tuning).empty()) return;
    for (const Ranked& known : found_) {
      if (known.tuning == tuning) return;
    }
    found_.push_back({tuning, PredictNs(problem_, tuning, machine_)});
  }

  // Adds the tuning on one lane and, where that takes long enough, spread over the threads.
  void AddSpread(Tuning t) {
    t.lanes = 1;
    Add(t);
    const double worth = PredictNs(problem_, t, machine_) / kLaneNs;
    t.lanes = static_cast<int>(std::min<double>(machine_.threads, worth));
    if (t.lanes < 2) return;
    if (problem_.matrices() >= t.lanes) {
      Add(t);
      return;
    }
    const int64_t pieces = CeilDiv(t.lanes, problem_.matrices());
    Tuning cut = t;
    const int64_t column_share = CeilDiv(problem_.cols, pieces);
    if (problem_.cols >= 2 * t.width && (t.nc == 0 || t.nc > column_share)) {
      cut.nc = column_share;
    }
    Add(cut);
    cut = t;
    const int64_t row_share = CeilDiv(problem_.rows, pieces);
    if (problem_.rows >= 2 * t.rows && (t.mc == 0 || t.mc > row_share)) {
      cut.mc = row_share;
      Add(cut);
    }
    // Few elements of C, each a long sum.
    if (problem_.depth >= 8 * (problem_.rows + problem_.cols)) {
      t.split = static_cast<int>(pieces);
      Add(t);
    }
  }

  std::vector<Ranked> Best() && {
    std::stable_sort(found_.begin(), found_.end(), [](const Ranked& a, const Ranked& b) {
      return a.predicted_ns < b.predicted_ns;
    });
    return std::move(found_);
  }

 private:
  const Problem& problem_;
  const MachineFacts& machine_;
  std::vector<Ranked> found_;
};

Compiler Preferred(const MachineFacts& machine) {
  return machine.has_gcc || !machine.has_clang ? Compiler::kGcc : Compiler::kClang;
}

std::vector<int> Widths(const Problem& p, const MachineFacts& machine) {
  const int widest = machine.vector_bytes / static_cast<int>(p.element_bytes());
  std::vector<int> widths = {widest};
  // Few columns leave a part of a wide vector idle.
  if (widest > 4 && p.cols < 2 * widest && p.cols % widest != 0) widths.push_back(widest / 2);
  return widths;
}

// Block depths: all of the sum, a level of cache's worth, or so little that long rows of B are
// swept in step with the prefetcher.
std::vector<int64_t> Depths(const Problem& p, const MachineFacts& machine) {
  std::vector<int64_t> depths = {0};
  const double operands = p.bytes() / static_cast<double>(p.matrices());
  if (operands <= 0.6 * machine.l1_bytes) return depths;
  for (int64_t depth : {8, 16, 64, 128, 256, 512}) {
    if (depth * 3 / 2 < p.depth) depths.push_back(depth);
  }
  return depths;
}

// Whether two tunings treat caches and threads alike and differ in the register tile alone.
bool SameStructure(const Tuning& a, const Tuning& b) {
  return a.inner == b.inner && a.kc == b.kc && a.pack_a == b.pack_a && a.pack_b == b.pack_b &&
         a.split == b.split && a.lanes == b.lanes && (a.mc == 0) == (b.mc == 0) &&
         (a.nc == 0) == (b.nc == 0);
}

// Two of three places go to the best tuning of a structure not listed yet: the model tells register
// tiles apart better than it does cache structures, so that one structure must not fill the list.
std::vector<Ranked> Mixed(std::vector<Ranked> ranked) {
  for (size_t place = 1; place < ranked.size(); ++place) {
    if (place % 3 == 0) continue;
    const auto fresh = std::find_if(ranked.begin() + place, ranked.end(), [&](const Ranked& r) {
      return std::none_of(ranked.begin(), ranked.begin() + place, [&](const Ranked& before) {
        return SameStructure(r.tuning, before.tuning);
      });
    });
    if (fresh == ranked.end()) break;
    std::rotate(ranked.begin() + place, fresh, fresh + 1);
  }
  return ranked;
}

}  // namespace

std::vector<Ranked> FirstTunings(const Problem& p, const MachineFacts& machine, int count) {
  Enumeration all(p, machine);
  const int registers = machine.vector_bytes == 64 ? 32 : 16;
  for (int width : Widths(p, machine)) {
    for (bool inner : {false, true}) {
      // Dot products pay off where B's columns lie along the sum and few rows would use a packed B.
      if (inner && (p.depth < width || (p.b_row != 1 && p.cols > 1) || p.rows > 64)) continue;
      for (const Shape& shape : RegisterTiles(p, width, inner, registers)) {
        for (int64_t depth : Depths(p, machine)) {
          Tuning t;
          t.inner = inner;
          t.rows = shape.rows;
          t.vecs = shape.vecs;
          t.width = width;
          t.unroll = inner ? 0 : shape.rows * shape.vecs >= 12 ? 4 : 8;
          t.kc = depth;
          t.compiler = Preferred(machine);
          t.masked = !inner && width * p.element_bytes() == 64 && p.cols % width != 0;
          for (bool pack_b : {false, true}) {
            t.pack_b = pack_b;
            for (bool pack_a : {false, true}) {
              t.pack_a = pack_a;
              const bool small = p.bytes() <= 0.5 * machine.l1_bytes * p.matrices();
              const bool must_b = inner ? p.b_row != 1 : p.b_col != 1;
              const bool must_a = inner && p.a_col != 1;
              if (small && (pack_b != must_b || pack_a != must_a)) continue;
              all.AddSpread(t);
              if (!small || inner) continue;
              t.unroll = t.unroll == 4 ? 8 : 4;
              all.AddSpread(t);
            }
          }
        }
      }
    }
  }
  std::vector<Ranked> ranked = Mixed(std::move(all).Best());
  // What threads cost is the model's weakest guess: the best on one lane, and the best on several,
  // come first.
  const auto other = std::find_if(ranked.begin(), ranked.end(), [&](const Ranked& r) {
    return (r.tuning.lanes > 1) != (ranked.front().tuning.lanes > 1);
  });
  if (other != ranked.end()) std::rotate(ranked.begin() + 1, other, other + 1);
  // The few best with the other compiler too: which one does better is hard to foresee.
  std::vector<Ranked> chosen;
  for (const Ranked& next : ranked) {
    if (static_cast<int>(chosen.size()) >= count) break;
    chosen.push_back(next);
    if (machine.has_gcc && machine.has_clang && chosen.size() <= 6 &&
        static_cast<int>(chosen.size()) < count) {
      chosen.push_back(next);
      chosen.back().tuning.compiler = Compiler::kClang;
    }
  }
  return chosen;
}

std::vector<Ranked> Neighbours(const Problem& p, const Tuning& center,
                               const MachineFacts& machine) {
  Enumeration all(p, machine);
  const auto with = [&](auto change) {
    Tuning t = center;
    change(t);
    if (t.rows < 1 || t.vecs < 1 || t.rows > p.rows) return;
    if (t.vecs > (t.inner ? p.cols : CeilDiv(p.cols, t.width))) return;
    all.Add(t);
  };
  for (int step : {-1, 1}) {
    with([&](Tuning& t) { t.rows += step; });
    with([&](Tuning& t) { t.vecs += step; });
  }
  with([](Tuning& t) {
    ++t.rows;
    --t.vecs;
  });
  with([](Tuning& t) {
    --t.rows;
    ++t.vecs;
  });
  if (!center.inner) {
    with([&](Tuning& t) { t.unroll = t.unroll >= 16 ? 8 : t.unroll * 2; });
    with([&](Tuning& t) { t.unroll = t.unroll > 1 ? t.unroll / 2 : 2; });
  }
  const int64_t depth = center.kc == 0 ? p.depth : center.kc;
  if (depth >= 16) with([&](Tuning& t) { t.kc = depth / 2; });
  if (center.kc != 0) with([&](Tuning& t) { t.kc = depth * 2 >= p.depth ? 0 : depth * 2; });
  const int64_t columns = center.nc == 0 ? p.cols : center.nc;
  if (columns >= 4 * center.width * center.vecs) with([&](Tuning& t) { t.nc = columns / 2; });
  const int64_t rows = center.mc == 0 ? p.rows : center.mc;
  if (rows >= 4 * center.rows) with([&](Tuning& t) { t.mc = rows / 2; });
  with([](Tuning& t) { t.pack_a = !t.pack_a; });
  with([](Tuning& t) { t.pack_b = !t.pack_b; });
  with([](Tuning& t) { t.rows_first = !t.rows_first; });
  if (machine.vector_bytes == 64 && p.cols % center.width != 0) {
    with([](Tuning& t) { t.masked = !t.masked; });
  }
  if (machine.has_gcc && machine.has_clang) {
    with([](Tuning& t) {
      t.compiler = t.compiler == Compiler::kGcc ? Compiler::kClang : Compiler::kGcc;
    });
  }
  return std::move(all).Best();
}

}  // namespace hiera::gemm
