#include "policies/kernel/gemm/tuning.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace hiera::gemm {
namespace {

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The tiling that the template derives, in the template's words.
struct Tiling {
  int64_t width, row_tiles, height, col_tiles, span, block_rows, block_cols, row_blocks, col_blocks,
      kc, units, lanes;
};

Tiling TilingOf(const Problem& p, const Tuning& t) {
  const auto all_if_zero = [](int64_t block, int64_t extent) {
    return block == 0 ? extent : std::min(block, extent);
  };
  Tiling g;
  g.width = t.inner ? 1 : t.width;
  const bool masked = t.masked && t.width * p.element_bytes() == 64;
  while (!masked && g.width > p.cols) g.width /= 2;
  g.row_tiles = CeilDiv(p.rows, t.rows);
  g.height = CeilDiv(p.rows, g.row_tiles);
  const int64_t vectors = CeilDiv(p.cols, g.width);
  g.col_tiles = CeilDiv(vectors, t.vecs);
  g.span = CeilDiv(vectors, g.col_tiles);
  g.block_rows = std::min(CeilDiv(all_if_zero(t.mc, p.rows), g.height), g.row_tiles);
  g.block_cols = std::min(CeilDiv(all_if_zero(t.nc, p.cols), g.span * g.width), g.col_tiles);
  g.row_blocks = CeilDiv(g.row_tiles, g.block_rows);
  g.col_blocks = CeilDiv(g.col_tiles, g.block_cols);
  g.kc = std::min(all_if_zero(t.kc, p.depth), CeilDiv(p.depth, t.split));
  g.units = p.matrices() * g.row_blocks * g.col_blocks * t.split;
  g.lanes = std::min<int64_t>(t.lanes, g.units);
  return g;
}

// Bytes per nanosecond that one thread reads from where `bytes` of data stay between two uses.
double ReadRate(double bytes, const MachineFacts& machine) {
  const double memory = machine.copy_gbps > 0 ? machine.copy_gbps / machine.threads : 8;
  if (bytes <= 0.8 * machine.l1_bytes) return 1e9;  // counted as issue slots already
  if (bytes <= 0.8 * machine.l2_bytes) return 60;
  if (bytes <= 0.8 * machine.l3_bytes) return std::max(memory, 20.0);
  return memory;
}

// Cycles of one thread for one matrix, were all operands at hand.
double ComputeCycles(const Problem& p, const Tuning& t, const Tiling& g,
                     const MachineFacts& machine) {
  // Tiles differ by one row or vector; their mean counts.
  const double h = static_cast<double>(p.rows) / static_cast<double>(g.row_tiles);
  const double s = static_cast<double>(CeilDiv(p.cols, g.width)) / static_cast<double>(g.col_tiles);
  const double registers = machine.vector_bytes == 64 ? 32 : 16;
  const double depth = static_cast<double>(p.depth);
  const double blocks = static_cast<double>(CeilDiv(p.depth, g.kc));

  // Issue slots of one step: two multiply-adds, two loads a cycle; a chain of sums allows one step
  // in four cycles, less where neighbouring tiles fill the gaps of a short one.
  double step = std::max(h * s, h + s) / 2;
  step = std::max(step, std::min(4.0, depth / 8));
  const double needed = h * s + s + 1;
  if (needed > registers) step *= 1 + (needed - registers) / registers;
  double steps = depth;
  if (t.inner) steps /= static_cast<double>(std::min<int64_t>(t.width, g.kc));
  const bool reads_c = p.beta.scalar >= 0 || p.beta.value != 0;
  double finish = 8 + h * s * (reads_c ? 1.5 : 1) + (blocks - 1) * (8 + h * s * 1.5);
  if (t.inner) finish += blocks * h * s * 6;
  finish += static_cast<double>(p.activation.size()) * h * s * 15;
  double cycles = static_cast<double>(g.row_tiles * g.col_tiles) * (steps * step + finish);

  // Packing: more than a cycle an element where it is turned, a third where it is copied along.
  if (t.pack_b) {
    const double turned = (t.inner ? p.b_row : p.b_col) == 1 ? 0.3 : 1.2;
    cycles += turned * depth * static_cast<double>(p.cols * g.row_blocks);
  }
  if (t.pack_a) {
    const double turned = (t.inner ? p.a_col : p.a_row) == 1 ? 0.3 : 1.2;
    cycles += turned * depth * static_cast<double>(p.rows * g.col_blocks);
  }
  return cycles;
}

// Nanoseconds that one thread spends on moving one matrix's operands.
double TrafficNs(const Problem& p, const Tuning& t, const Tiling& g, const MachineFacts& machine) {
  const double size = static_cast<double>(p.element_bytes());
  const double depth = static_cast<double>(p.depth);
  const double b_bytes = depth * static_cast<double>(p.cols) * size;
  const double a_bytes = depth * static_cast<double>(p.rows) * size;
  const double c_bytes = static_cast<double>(p.rows * p.cols) * size;
  const double total = (a_bytes + b_bytes) * static_cast<double>(p.matrices());
  // B once per row tile unless a panel of it stays in the first level. Rows of B that lie far apart
  // defeat the prefetcher once a block is deep, and the cache's sets where it is read again.
  const double panel = static_cast<double>(g.kc * g.span * g.width) * size;
  const bool stays = t.rows_first && panel <= 0.6 * static_cast<double>(machine.l1_bytes);
  const double b_reads = stays ? 1 : static_cast<double>(g.row_tiles);
  double ns = b_reads * b_bytes / ReadRate(b_reads > 1 ? std::min(b_bytes, total) : total, machine);
  const bool far_rows = !t.inner && static_cast<double>(p.b_row) * size >= 2048 && g.kc > 32;
  if (far_rows && total > static_cast<double>(machine.l2_bytes)) ns *= 1.5;
  if (far_rows && !t.pack_b && g.row_tiles > 1) ns *= 1.5;
  // A once per column tile, from where its block stays; C twice per block of the sum.
  const double a_block = static_cast<double>(g.kc * g.block_rows * g.height) * size;
  ns += a_bytes / ReadRate(total, machine) +
        static_cast<double>(g.col_tiles - 1) * a_bytes / ReadRate(a_block, machine);
  const double blocks = static_cast<double>(CeilDiv(p.depth, g.kc));
  return ns + (blocks * 2 - 1) * c_bytes / ReadRate(blocks > 1 ? c_bytes : total, machine);
}

}  // namespace

std::string Tuning::Name() const {
  std::string name = inner ? "inner " : "outer ";
  name += std::to_string(rows) + "x" + std::to_string(vecs) + "x" + std::to_string(width);
  const auto add = [&name](const char* what, int64_t value, int64_t silent) {
    if (value != silent) name += " " + std::string(what) + std::to_string(value);
  };
  add("u", unroll, 0);
  add("mc", mc, 0);
  add("nc", nc, 0);
  add("kc", kc, 0);
  if (masked) name += " masked";
  if (pack_a) name += " packa";
  if (pack_b) name += " packb";
  if (!rows_first) name += " colsfirst";
  add("split", split, 1);
  add("lanes", lanes, 1);
  return name + (compiler == Candidate::Compiler::kGcc ? " gcc" : " clang");
}

std::optional<Tuning> Tuning::Parse(std::string_view name) {
  Tuning t;
  t.unroll = 0;
  bool first = true;
  while (!name.empty()) {
    const size_t end = std::min(name.find(' '), name.size());
    const std::string word(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
    const size_t digits = std::min(word.find_first_of("0123456789"), word.size());
    const std::string what = word.substr(0, digits);
    int64_t value = 0;
    std::from_chars(word.data() + digits, word.data() + word.size(), value);
    if (first) {
      t.inner = word == "inner";
      if (!t.inner && word != "outer") return std::nullopt;
      first = false;
    } else if (what.empty()) {
      if (std::sscanf(word.c_str(), "%dx%dx%d", &t.rows, &t.vecs, &t.width) != 3)
        return std::nullopt;
    } else if (what == "u") {
      t.unroll = static_cast<int>(value);
    } else if (what == "mc") {
      t.mc = value;
    } else if (what == "nc") {
      t.nc = value;
    } else if (what == "kc") {
      t.kc = value;
    } else if (what == "split") {
      t.split = static_cast<int>(value);
    } else if (what == "lanes") {
      t.lanes = static_cast<int>(value);
    } else if (what == "masked") {
      t.masked = true;
    } else if (what == "packa") {
      t.pack_a = true;
    } else if (what == "packb") {
      t.pack_b = true;
    } else if (what == "colsfirst") {
      t.rows_first = false;
    } else if (what == "gcc" || what == "clang") {
      t.compiler = what == "gcc" ? Candidate::Compiler::kGcc : Candidate::Compiler::kClang;
    } else {
      return std::nullopt;
    }
  }
  if (first) return std::nullopt;
  return t;
}

int64_t WorkspaceBytes(const Problem& p, const Tuning& t) {
  const Tiling g = TilingOf(p, t);
  const int64_t size = p.element_bytes();
  const auto padded = [size](int64_t elements) { return CeilDiv(elements * size, 64) * 64; };
  const int64_t b = t.pack_b ? padded(g.kc * g.block_cols * g.span * g.width) : 0;
  const int64_t a = t.pack_a ? padded(g.kc * g.block_rows * g.height) : 0;
  const int64_t part = t.split > 1 ? padded(p.rows * p.cols) : 0;
  return (a + b) * g.lanes + part * t.split * p.matrices();
}

std::string WhyNot(const Problem& p, const Tuning& t) {
  if (t.inner) {
    if (p.a_col != 1 && !t.pack_a) return "rows of A are not contiguous";
    if (p.b_row != 1 && !t.pack_b) return "columns of B are not contiguous";
  } else {
    if (p.b_col != 1 && !t.pack_b) return "rows of B are not contiguous";
  }
  if (WorkspaceBytes(p, t) > p.workspace_limit) return "the workspace is above the contract's";
  return "";
}

double PredictNs(const Problem& p, const Tuning& t, const MachineFacts& machine) {
  const Tiling g = TilingOf(p, t);
  const double width = machine.vector_bytes / static_cast<double>(p.element_bytes());
  const double peak = p.dtype == DType::kF64 ? machine.flops_f64 : machine.flops_f32;
  // Two fused multiply-adds a cycle.
  const double ghz = peak > 0 ? std::clamp(peak / machine.threads / (4e9 * width), 1.0, 6.0) : 3.0;
  const double compute = ComputeCycles(p, t, g, machine) / ghz;
  const double traffic = TrafficNs(p, t, g, machine);
  double ns = std::max(compute, traffic) + 0.3 * std::min(compute, traffic);
  ns *= static_cast<double>(p.matrices());
  if (t.split > 1) ns += t.split * static_cast<double>(p.rows * p.cols * p.element_bytes()) / 20;
  if (g.lanes > 1) {
    const double share =
        static_cast<double>(CeilDiv(g.units, g.lanes)) / static_cast<double>(g.units);
    // Threads that sleep are woken one by one.
    const double region = 2500 + 1000 * static_cast<double>(g.lanes);
    ns = ns * std::max(share, 1.0 / machine.threads) + (t.split > 1 ? 2 : 1) * region;
  }
  return ns;
}

}  // namespace hiera::gemm
