// A stencil as CUDA: one launch a step, of the template in stencil/cuda_sweep.cu. Here are its
// options, their names, the text and plan that they make of a task, and the analytic model that
// orders them before anything is measured. Plain values; pure functions.
#ifndef HIERA_POLICIES_KERNEL_CUDA_STENCIL_H_
#define HIERA_POLICIES_KERNEL_CUDA_STENCIL_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/framework/cuda_loops.h"
#include "policies/kernel/stencil_task.h"
#include "runtime/base/status.h"
#include "runtime/task/candidate.h"

namespace hiera {

struct CudaSweepOptions {
  int neighbours = 1;  // cells of a row that a thread computes: 1, 2 or 4; see WidestSweep
  // Of a block: along the rows, and across them, or over the planes where planes have one row.
  int threads_x = 128, threads_y = 1;
  int march = 16;         // planes that a thread walks
  int ahead = 1;          // planes that are asked for before they are needed
  bool streaming = true;  // stores leave the second-level cache first

  friend bool operator==(const CudaSweepOptions&, const CudaSweepOptions&) = default;
};

// "neighbours=4 threads=128x1 march=16 ahead=1 streaming" (else "cached"), and back; empty where it
// is no such name.
std::string PlanName(const CudaSweepOptions& options);
std::optional<CudaSweepOptions> SweepFromName(std::string_view name);

// The most neighbours whose accesses are aligned: the contract promises it of every pointer, and
// every tensor's extents and strides keep to it. At most 16 bytes of them.
int WidestSweep(const StencilTask& stencil);

// Errors: kUnsupported, saying what of the task or the options the template does not cover. The
// check alone writes nothing.
Status CheckCudaSweep(const StencilTask& stencil, const CudaSweepOptions& options);
Result<CudaSource> WriteCudaSweep(const StencilTask& stencil, const CudaSweepOptions& options);

// Predicted nanoseconds of one run, all steps. The model: memory is moved at the measured copy
// rate, less where too few bytes are under way to hide its latency; the second-level cache moves
// the borders of blocks besides, and the arithmetic takes its instructions; the slowest of the
// three counts, and the last blocks leave multiprocessors idle.
double PredictSweepNs(const StencilTask& stencil, const MachineFacts& machine,
                      const CudaSweepOptions& options);

// Options worth trying, best first by PredictSweepNs; none where the template does not cover the
// task.
std::vector<CudaSweepOptions> EnumerateSweeps(const StencilTask& stencil,
                                              const MachineFacts& machine);

// Options that differ from `best` in one.
std::vector<CudaSweepOptions> NeighbourSweeps(const StencilTask& stencil,
                                              const CudaSweepOptions& best);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_CUDA_STENCIL_H_
