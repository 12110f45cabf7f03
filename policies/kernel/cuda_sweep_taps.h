// SweepTaps: which pieces of rows a thread of a CUDA sweep loads, and which of them it holds in
// registers from plane to plane. What stencil/cuda_sweep.cu is instantiated with. Pure functions.
#ifndef HIERA_POLICIES_KERNEL_CUDA_SWEEP_TAPS_H_
#define HIERA_POLICIES_KERNEL_CUDA_SWEEP_TAPS_H_

#include <vector>

#include "policies/kernel/cuda_stencil.h"
#include "policies/kernel/stencil_task.h"

namespace hiera {

struct SweepTaps {
  // Elements [at, at + width) of a row of `source`, counted from the thread's first cell. Widths
  // are powers of two that divide the neighbours, and `at` is a multiple of the width.
  struct Piece {
    int source = 0;
    int64_t at = 0, width = 1;
  };
  // The rows of `source` at one offset in rows.
  struct Column {
    int source = 0;
    int64_t d1 = 0;
  };
  // A piece of a column in planes [first, last] from the current one; where base >= 0 those and
  // `ahead` more are held in registers, from element `base` on.
  struct Tap {
    int column = 0, piece = 0;
    int64_t first = 0, last = 0, ahead = 0, base = -1;
    int64_t planes = 0;  // that are read
  };
  std::vector<Piece> pieces;
  std::vector<Column> columns;
  std::vector<Tap> taps;
  int64_t held = 0;       // elements
  int64_t registers = 0;  // of a thread, estimated
  // Planes of a group that is written out: as many as the longest row of held planes, so that these
  // change their names and not their registers; fewer where the formula is long.
  int64_t unroll = 1;
};

SweepTaps PlanSweepTaps(const StencilTask& stencil, const CudaSweepOptions& options);

// Blocks of these options that a multiprocessor holds at a time, by registers and threads; 0 where
// not even one fits.
int64_t ResidentBlocks(const SweepTaps& taps, const CudaSweepOptions& options);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_CUDA_SWEEP_TAPS_H_
