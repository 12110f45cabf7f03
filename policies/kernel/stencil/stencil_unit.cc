// One block of a stencil's output, several time steps at once.
//
// Level k of a unit is the state after k of the pass's steps; the last level is the output. Blocks
// are streamed along the planes: of every level but the last, only the few slabs (a slab is one
// plane's part of the block) that the next level still reads are kept, in a ring. Level k - 1 is
// computed on a region that is wider than that of level k by the formula's reach, so that units
// depend on nothing but the pass's input: halos are computed twice, and nothing ever waits.
//
// This file is a part of a candidate's source text: it includes nothing that is not its own.
#ifndef HIERA_STENCIL_LAYOUT
#include "policies/kernel/stencil/stencil_layout.cc"
#endif
#ifndef HIERA_STENCIL_UNIT
#define HIERA_STENCIL_UNIT

namespace hiera_stencil {

template <class T>
struct Grid {
  T* data;
  long plane, row;  // strides
  T* Row(long z, long y) const { return data + z * plane + y * row; }
};

template <class T>
struct Pass {
  Grid<const T> state;
  long state_extent[3];
  Grid<T> out;
  void* const* tensors;
  const T* scalars;
  T* rings;    // of the first slot
  int levels;  // steps that this pass fuses
  bool last;   // kept cells of `out` are not to be written
};

template <class Cell, class Plan>
class Unit {
  using T = typename Cell::Type;
  using L = Layout<Cell, Plan>;

 public:
  // `rings` holds Layout::kSlot elements that nobody else uses meanwhile.
  Unit(const Pass<T>& pass, long index, T* rings) : pass_(pass) {
    const long at[3] = {index / (L::kBlocks[1] * L::kBlocks[2]),
                        index / L::kBlocks[2] % L::kBlocks[1], index % L::kBlocks[2]};
    first_ = L::kStaged && pass.levels > 1 ? 0 : 1;
    for (int k = first_; k <= pass.levels; ++k) {
      Level& level = levels_[k];
      for (int d = 0; d < 3; ++d) {
        level.begin[d] = at[d] * Plan::kTile[d] - (pass.levels - k) * L::kLow[d];
        level.end[d] =
            Min((at[d] + 1) * Plan::kTile[d], Plan::kExtent[d]) + (pass.levels - k) * L::kHigh[d];
        if (L::kWrap) continue;
        level.begin[d] = Max(level.begin[d], 0);
        level.end[d] = Min(level.end[d], Plan::kExtent[d]);
      }
      // Cells of one column lie equally aligned in all levels, the first computed one on a line.
      const long skew = Modulo(level.begin[2] - Plan::kBegin[2], L::kLine);
      level.origin = rings + (k - first_) * L::kRing + L::kPad + skew - level.begin[2] -
                     level.begin[1] * L::kStride;
    }
  }

  // Level k lags level k - 1 by the reach upwards, so that what it reads has been computed.
  void Run() {
    const long end = levels_[pass_.levels].end[0] + (pass_.levels - first_) * L::kHigh[0];
    for (long front = levels_[first_].begin[0]; front < end; ++front) {
      for (int k = first_; k <= pass_.levels; ++k) {
        const long z = front - (k - first_) * L::kHigh[0];
        if (z < levels_[k].begin[0] || z >= levels_[k].end[0]) continue;
        if (k == 0) {
          StageSlab(z);
        } else {
          ComputeSlab(k, z);
        }
      }
    }
  }

 private:
  struct Level {
    T* origin;  // where cell (0, 0, 0) would lie in the ring's first slab
    long begin[3], end[3];
  };

  // What a row reads at level k: row y of entry q begins at base[q] + y * stride[q]. A null base is
  // a slab of zeros.
  struct Slabs {
    const T* base[Cell::kRows];
    long stride[Cell::kRows];
  };

  static T* RingRow(const Level& level, long z, long y) {
    return level.origin + Modulo(z, L::kDepth) * L::kSlab + y * L::kStride;
  }

  bool FromRing(int k, int source) const { return source == 0 && k > first_; }

  // The extents that reads of a source at level k are resolved against.
  const long* Extent(int k, int source) const {
    if (source != 0) return Plan::kSource[source].extent;
    return k == 1 ? pass_.state_extent : Plan::kExtent;
  }

  // Resolve, but for rings of wrapped states: those hold the cells beyond the border as well.
  long Find(int k, int source, int d, long at) const {
    if (L::kWrap && FromRing(k, source)) return at;
    return Resolve(at, Extent(k, source)[d], Plan::kSource[source].rule);
  }

  // Copies a slab of the wrapped input, as far as level 0 reaches.
  void StageSlab(long z) {
    const Level& level = levels_[0];
    for (long y = level.begin[1]; y < level.end[1]; ++y) {
      T* to = RingRow(level, z, y);
      const T* from = pass_.state.Row(Modulo(z, Plan::kExtent[0]), Modulo(y, Plan::kExtent[1]));
      for (long x = level.begin[2]; x < level.end[2];) {
        const long source = Modulo(x, Plan::kExtent[2]);
        const long count = Min(Plan::kExtent[2] - source, level.end[2] - x);
        __builtin_memcpy(to + x, from + source, count * sizeof(T));
        x += count;
      }
    }
  }

  void FindSlabs(int k, long z, Slabs* slabs) const {
    const bool inside = L::kWrap || (z >= L::kLow[0] && z < Plan::kExtent[0] - L::kHigh[0]);
    T* ring[L::kDepth];  // of slabs z - kLow[0] and on
    for (long d = 0, slot = Modulo(z - L::kLow[0], L::kDepth); d < L::kDepth && k > first_; ++d) {
      ring[d] = levels_[k - 1].origin + slot * L::kSlab;
      slot = slot + 1 == L::kDepth ? 0 : slot + 1;
    }
    for (int q = 0; q < Cell::kRows; ++q) {
      const RowRead& row = Cell::kRow[q];
      const SourceShape& shape = Plan::kSource[row.source];
      if (FromRing(k, row.source)) {
        const long at = inside ? 0 : Find(k, row.source, 0, z + row.d0);
        slabs->base[q] = inside   ? ring[row.d0 + L::kLow[0]]
                         : at < 0 ? nullptr
                                  : RingRow(levels_[k - 1], at, 0);
        slabs->stride[q] = slabs->base[q] ? L::kStride : 0;
        continue;
      }
      const long at = Find(k, row.source, 0, z + row.d0);
      if (at < 0) {
        slabs->base[q] = nullptr;
        slabs->stride[q] = 0;
      } else if (row.source == 0) {
        slabs->base[q] = pass_.state.Row(at, 0);
        slabs->stride[q] = pass_.state.row;
      } else {
        slabs->base[q] = (const T*)pass_.tensors[shape.tensor] + at * shape.stride[0];
        slabs->stride[q] = shape.stride[1];
      }
    }
  }

  // Pointers to the operands of cell (y, x); null where the operand is zero.
  void PointRows(int k, const Slabs& slabs, long y, long x, const T** rows) const {
    const bool inside = y >= L::kLow[1] && y < Plan::kExtent[1] - L::kHigh[1];
    for (int q = 0; q < Cell::kRows; ++q) {
      const RowRead& row = Cell::kRow[q];
      long at = y + row.d1;
      bool zero = !slabs.base[q];
      if (!inside || row.source != 0) {
        at = Find(k, row.source, 1, at);
        zero |= at < 0 && !(L::kWrap && FromRing(k, row.source));
      }
      rows[q] = zero ? nullptr : slabs.base[q] + at * slabs.stride[q] + x;
    }
  }

  // Rows of one slab: those that are kept, those that read across the first or last row, and the
  // run of rows between, which are computed together.
  void ComputeSlab(int k, long z) {
    const Level& level = levels_[k];
    const bool kept = z < Plan::kBegin[0] || z >= Plan::kEnd[0];
    if (L::kKeeps && !(k == pass_.levels && pass_.last)) {
      for (long y = level.begin[1]; y < level.end[1]; ++y) CopyKept(k, z, y, kept);
    }
    // A wrapped state's levels lie beyond the border as well, where nothing is kept.
    const bool clip = L::kKeeps;
    const long begin = clip ? Max(level.begin[1], Plan::kBegin[1]) : level.begin[1];
    const long end = clip ? Min(level.end[1], Plan::kEnd[1]) : level.end[1];
    if (L::kKeeps && kept) return;
    Slabs slabs;
    FindSlabs(k, z, &slabs);
    const long low = Min(Max(begin, InsideRows(k, false)), end);
    const long high = Max(Min(end, InsideRows(k, true)), low);
    constexpr long kRun = Plan::kPrefetch > 0 ? 4 : Plan::kTile[1] + L::kRows;
    for (long y = begin; y < end;) {
      const long count = y < low || y >= high ? 1 : Min(high - y, kRun);
      if (Plan::kPrefetch > 0) Prefetch(k, z, y, y + count);
      EmitRows(k, slabs, z, y, count);
      y += count;
    }
  }

  // The first row, or one behind the last, all of whose operands lie inside their tensors, so that
  // they move by their strides from row to row.
  long InsideRows(int k, bool last) const {
    long low = -(1L << 60), high = 1L << 60;
    for (int q = 0; q < Cell::kRows; ++q) {
      const RowRead& row = Cell::kRow[q];
      if (L::kWrap && FromRing(k, row.source)) continue;
      low = Max(low, -row.d1);
      high = Min(high, Extent(k, row.source)[1] - row.d1);
    }
    return last ? high : low;
  }

  // Kept cells carry the state that the pass started from through every level.
  void CopyKept(int k, long z, long y, bool whole) const {
    const Level& level = levels_[k];
    T* out = k == pass_.levels ? pass_.out.Row(z, y) : RingRow(level, z, y);
    const T* from = pass_.state.Row(z, y);
    whole |= y < Plan::kBegin[1] || y >= Plan::kEnd[1] || Plan::kBegin[2] >= Plan::kEnd[2];
    const long begin = whole ? level.end[2] : Plan::kBegin[2];
    for (long x = level.begin[2]; x < begin; ++x) out[x] = from[x];
    for (long x = Max(level.begin[2], Plan::kEnd[2]); x < level.end[2] && !whole; ++x) {
      out[x] = from[x];
    }
  }

  // Puts what the border's rule reads beyond either end of a row into the ring.
  static void FillBorder(const Level& level, T* row) {
    if (L::kRule != Rule::kZero && L::kRule != Rule::kClamp) return;
    constexpr long n = Plan::kExtent[2];
    if (level.begin[2] == 0) {
      const T value = L::kRule == Rule::kZero ? T(0) : row[0];
      for (long i = 1; i <= L::kLow[2]; ++i) row[-i] = value;
    }
    if (level.end[2] == n) {
      const T value = L::kRule == Rule::kZero ? T(0) : row[n - 1];
      for (long i = 0; i < L::kHigh[2]; ++i) row[n + i] = value;
    }
  }

  // Asks for rows of the slabs that the first level will read and the last one write soon. Each
  // level asks for its share, so that memory works while levels in cache are computed.
  void Prefetch(int k, long z, long first_row, long last_row) const {
    const Level& level = levels_[k];
    const long levels = pass_.levels - first_ + 1, share = k - first_;
    const long width = level.end[2] - level.begin[2];
    const long begin = level.begin[2] + RoundUp(width * share / levels, L::kLine);
    const long end = level.begin[2] + RoundUp(width * (share + 1) / levels, L::kLine);
    const long in = z + (share + 1) * L::kHigh[0] + Plan::kPrefetch;
    const long out = z - (levels - 1 - share) * L::kHigh[0] + Plan::kPrefetch;
    for (long y = first_row; y < last_row; ++y) {
      if (in < pass_.state_extent[0]) {
        const T* row = pass_.state.Row(in, y);
        for (long x = begin; x < end; x += L::kLine) __builtin_prefetch(row + x);
      }
      if (out >= 0 && out < Plan::kExtent[0]) {
        const T* row = pass_.out.Row(out, y);
        for (long x = begin; x < end; x += L::kLine) __builtin_prefetch(row + x, 1);
      }
    }
  }

  // Computes `count` rows from y on, of which all but single ones lie inside. Operands are read
  // where they lie as far as whole registers of them lie inside their row, and through a patch of
  // copies elsewhere.
  void EmitRows(int k, const Slabs& slabs, long z, long y, long count) const {
    const Level& level = levels_[k];
    const bool ends = k == pass_.levels;
    const long begin = L::kKeeps ? Max(level.begin[2], Plan::kBegin[2]) : level.begin[2];
    const long end = L::kKeeps ? Min(level.end[2], Plan::kEnd[2]) : level.end[2];
    if (begin >= end) return;
    const T* rows[Cell::kRows];
    PointRows(k, slabs, y, begin, rows);
    T* out = (ends ? pass_.out.Row(z, y) : RingRow(level, z, y)) + begin;
    const long stride = ends ? pass_.out.row : L::kStride;

    long low = begin, high = end;
    if (Cell::kSources > 1 || k <= first_) {
      for (int q = 0; q < Cell::kRows; ++q) {
        const RowRead& row = Cell::kRow[q];
        if (FromRing(k, row.source)) continue;
        low = Max(low, -row.low);
        high = Min(high, Extent(k, row.source)[2] - row.high);
      }
    }
    if (high - low < kLanes<T>) low = high = end;
    for (long i = 0; i < count && (low > begin || high < end); ++i) {
      EmitPatches(k, out + i * stride, rows, slabs.stride, i, begin, begin, low);
      EmitPatches(k, out + i * stride, rows, slabs.stride, i, begin, high, end);
    }
    if (low < high) {
      for (int q = 0; q < Cell::kRows; ++q) {
        rows[q] = rows[q] ? rows[q] + (low - begin) : zero_row<Cell, Plan> + L::kZeroPad;
      }
      ComputeRows<Cell, Plan::kUnroll>(out + (low - begin), stride, rows, slabs.stride,
                                       pass_.scalars, high - low, count);
    }
    for (long i = 0; i < count && !ends; ++i) FillBorder(level, out + i * stride - begin);
  }

  // Computes cells [from, to) of row `i` behind the one whose cell `begin` rows and out point at.
  void EmitPatches(int k, T* out, const T* const* rows, const long* strides, long i, long begin,
                   long from, long to) const {
    constexpr long kWidth = kLanes<T>;
    T patch[Cell::kRows][kWidth + Span<Cell>()];
    const T* patched[Cell::kRows];
    for (long x = from; x < to; x += kWidth) {
      for (int q = 0; q < Cell::kRows; ++q) {
        const RowRead& row = Cell::kRow[q];
        const long extent = Extent(k, row.source)[2];
        if (!rows[q]) {
          patched[q] = zero_row<Cell, Plan> + L::kZeroPad;
          continue;
        }
        const T* start = rows[q] + i * strides[q] - begin;  // of the row's cell 0
        if (FromRing(k, row.source) || (x + row.low >= 0 && x + kWidth + row.high <= extent)) {
          patched[q] = start + x;
        } else {
          for (long d = row.low; d < kWidth + row.high; ++d) {
            const long at = Resolve(x + d, extent, Plan::kSource[row.source].rule);
            patch[q][d - row.low] = at < 0 ? T(0) : start[at];
          }
          patched[q] = patch[q] - row.low;
        }
      }
      T result[kWidth];
      ComputeRows<Cell, Plan::kUnroll>(result, 0, patched, strides, pass_.scalars, kWidth, 1);
      for (long d = 0; d < Min(to - x, kWidth); ++d) out[x - begin + d] = result[d];
    }
  }

  const Pass<T>& pass_;
  int first_;  // level that is computed first: 0 where the input is staged, else 1
  Level levels_[Plan::kFuse + 1];
};

}  // namespace hiera_stencil

#endif  // HIERA_STENCIL_UNIT
