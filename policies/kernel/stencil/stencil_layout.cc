// Sizes that follow from a stencil's formula and plan.
//
// Grids have three dimensions, planes x rows x cells of a row; a plane of a 2-D grid is one row,
// and a 1-D grid is one plane of one row. The last dimension is contiguous in memory.
//
// This file is a part of a candidate's source text: it includes nothing that is not its own.
#ifndef HIERA_STENCIL_ROW
#include "policies/kernel/stencil/stencil_row.cc"
#endif
#ifndef HIERA_STENCIL_LAYOUT
#define HIERA_STENCIL_LAYOUT

namespace hiera_stencil {

// A tensor that the formula reads; strides are in elements, of planes and of rows.
struct SourceShape {
  int tensor;  // its place in hiera_host_call::tensors
  Rule rule;
  long extent[3];
  long stride[2];
};

// How far the formula reads the state in each direction of dimension `d`.
template <class Cell>
constexpr long Reach(int d, bool up) {
  long reach = 0;
  for (int q = 0; q < Cell::kRows; ++q) {
    const RowRead& row = Cell::kRow[q];
    if (row.source != 0) continue;
    const long low = d == 0 ? row.d0 : d == 1 ? row.d1 : row.low;
    const long high = d == 0 ? row.d0 : d == 1 ? row.d1 : row.high;
    reach = Max(reach, up ? high : -low);
  }
  return reach;
}

// The widest span of reads along any one row, of fields too.
template <class Cell>
constexpr long Span() {
  long span = 0;
  for (int q = 0; q < Cell::kRows; ++q) span = Max(span, Cell::kRow[q].high - Cell::kRow[q].low);
  return span;
}

// How far any read of any source goes along its row.
template <class Cell>
constexpr long Sideways(bool up) {
  long reach = 0;
  for (int q = 0; q < Cell::kRows; ++q) {
    reach = Max(reach, up ? Cell::kRow[q].high : -Cell::kRow[q].low);
  }
  return reach;
}

constexpr long RoundUp(long n, long unit) { return (n + unit - 1) / unit * unit; }
constexpr long Blocks(long n, long tile) { return (n + tile - 1) / tile; }

// The remainder that lies in [0, n).
inline long Modulo(long at, long n) {
  const long rest = at % n;
  return rest < 0 ? rest + n : rest;
}

// Whether the zero rule can stand in for a whole row of any source.
template <class Cell, class Plan>
constexpr bool HasZeroRows() {
  for (int q = 0; q < Cell::kRows; ++q) {
    const RowRead& row = Cell::kRow[q];
    if (Plan::kSource[row.source].rule == Rule::kZero && (row.d0 != 0 || row.d1 != 0)) return true;
  }
  return false;
}

// All sizes are in elements unless they say otherwise.
//
// `Plan` holds kExtent[3] of the output; [kBegin, kEnd), the cells that are written (the others
// are kept); kSource[], the state first; kScalar[], kOutput and kStride[2] of the output; kSteps;
// and what is tuned: kFuse steps per pass, kTile[3], kSlots, kUnroll, kPrefetch.
template <class Cell, class Plan>
struct Layout {
  using T = typename Cell::Type;
  static constexpr long kLow[3] = {Reach<Cell>(0, false), Reach<Cell>(1, false),
                                   Reach<Cell>(2, false)};
  static constexpr long kHigh[3] = {Reach<Cell>(0, true), Reach<Cell>(1, true),
                                    Reach<Cell>(2, true)};
  static constexpr long kLine = 64 / long(sizeof(T));
  static constexpr Rule kRule = Plan::kSource[0].rule;
  static constexpr bool kWrap = kRule == Rule::kWrap;
  static constexpr bool kKeeps = Plan::kBegin[0] > 0 || Plan::kBegin[1] > 0 ||
                                 Plan::kBegin[2] > 0 || Plan::kEnd[0] < Plan::kExtent[0] ||
                                 Plan::kEnd[1] < Plan::kExtent[1] ||
                                 Plan::kEnd[2] < Plan::kExtent[2];

  // Rings of the intermediate levels. A wrapped state is copied into a ring of its own first, so
  // that no level reads across a border.
  static constexpr bool kStaged = kWrap && Plan::kFuse > 1;
  static constexpr long kRings = Plan::kFuse - 1 + kStaged;
  static constexpr long kDepth = kLow[0] + kHigh[0] + 1;
  static constexpr long kRows = Plan::kTile[1] + kRings * (kLow[1] + kHigh[1]);
  static constexpr long kWidth = Plan::kTile[2] + kRings * (kLow[2] + kHigh[2]);
  static constexpr long kPad = RoundUp(kLow[2], kLine);
  // An odd number of cache lines, so that rows of one column fall into different cache sets. The
  // slack holds the alignment of the first cell, an overhanging register and the border's cells.
  static constexpr long kStride = RoundUp(kPad + 2 * kLine + kWidth + kHigh[2], 2 * kLine) + kLine;
  static constexpr long kSlab = kRows * kStride;
  static constexpr long kRing = kDepth * kSlab + kLine;
  static constexpr long kSlot = kRings * kRing;

  static constexpr long kBlocks[3] = {Blocks(Plan::kExtent[0], Plan::kTile[0]),
                                      Blocks(Plan::kExtent[1], Plan::kTile[1]),
                                      Blocks(Plan::kExtent[2], Plan::kTile[2])};
  static constexpr long kUnits = kBlocks[0] * kBlocks[1] * kBlocks[2];

  // Grids between passes. Kept cells of the output may not be written, so that it cannot hold an
  // intermediate state where there are any.
  static constexpr long kPasses = Blocks(Plan::kSteps, Plan::kFuse);
  static constexpr long kGrids = kPasses == 1 ? 0 : kKeeps && kPasses > 2 ? 2 : 1;
  static constexpr long kGridStride = RoundUp(Plan::kExtent[2], kLine);
  static constexpr long kGrid = Plan::kExtent[0] * Plan::kExtent[1] * kGridStride;

  static constexpr long kZeroPad =
      HasZeroRows<Cell, Plan>() ? RoundUp(Sideways<Cell>(false), kLine) : 0;
  static constexpr long kZeroRow =
      HasZeroRows<Cell, Plan>() ? kZeroPad + kWidth + 2 * kLine + Sideways<Cell>(true) : 1;

  static constexpr long kWorkspaceBytes = (kGrids * kGrid + Plan::kSlots * kSlot) * long(sizeof(T));
};

// What the zero rule reads in place of a row beyond the border, from kZeroPad on. Never written.
template <class Cell, class Plan>
alignas(64) inline typename Cell::Type zero_row[Layout<Cell, Plan>::kZeroRow];

}  // namespace hiera_stencil

#endif  // HIERA_STENCIL_LAYOUT
