// A stencil task: passes over the grid, each of which runs its units over the thread pool.
//
// This file is a part of a candidate's source text: it includes nothing that is not its own, and
// stands behind the text of the host device's abi.h.
#ifndef HIERA_STENCIL_UNIT
#include "policies/kernel/stencil/stencil_unit.cc"
#endif
#ifndef HIERA_STENCIL_SWEEP
#define HIERA_STENCIL_SWEEP

namespace hiera_stencil {

// Units are dealt to slots in contiguous runs; a slot owns the rings that it works in, and is run
// by one thread.
template <class Cell, class Plan>
void RunSlots(void* context, long begin, long end, int) {
  using L = Layout<Cell, Plan>;
  const auto& pass = *(const Pass<typename Cell::Type>*)context;
  for (long slot = begin; slot < end; ++slot) {
    const long last = (slot + 1) * L::kUnits / Plan::kSlots;
    for (long unit = slot * L::kUnits / Plan::kSlots; unit < last; ++unit) {
      Unit<Cell, Plan>(pass, unit, pass.rings + slot * L::kSlot).Run();
    }
  }
}

// Runs as many passes as the steps need. The last one writes the output; those before it write
// grids of the workspace, or the output in turn with the one grid where nothing is kept.
template <class Cell, class Plan>
void RunTask(const hiera_host_call* call) {
  using T = typename Cell::Type;
  using L = Layout<Cell, Plan>;
  T scalars[Cell::kScalars + 1];
  for (int i = 0; i < Cell::kScalars; ++i) scalars[i] = T(call->scalars[Plan::kScalar[i]]);
  T* const grids = (T*)call->workspace;
  constexpr const SourceShape& kInput = Plan::kSource[0];

  Pass<T> pass = {};
  pass.state = {(const T*)call->tensors[kInput.tensor], kInput.stride[0], kInput.stride[1]};
  for (int d = 0; d < 3; ++d) pass.state_extent[d] = kInput.extent[d];
  pass.tensors = call->tensors;
  pass.scalars = scalars;
  pass.rings = grids + L::kGrids * L::kGrid;
  for (long p = 1; p <= L::kPasses; ++p) {
    pass.last = p == L::kPasses;
    pass.levels = int(Min(Plan::kFuse, Plan::kSteps - (p - 1) * Plan::kFuse));
    if (pass.last || (!L::kKeeps && (L::kPasses - p) % 2 == 0)) {
      pass.out = {(T*)call->tensors[Plan::kOutput], Plan::kStride[0], Plan::kStride[1]};
    } else {
      T* grid = grids + (L::kGrids == 2 ? p % 2 : 0) * L::kGrid;
      pass.out = {grid, Plan::kExtent[1] * L::kGridStride, L::kGridStride};
    }
    call->parallel->run(call->parallel, Plan::kSlots, RunSlots<Cell, Plan>, &pass);
    pass.state = {pass.out.data, pass.out.plane, pass.out.row};
    for (int d = 0; d < 3; ++d) pass.state_extent[d] = Plan::kExtent[d];
  }
}

}  // namespace hiera_stencil

#endif  // HIERA_STENCIL_SWEEP
