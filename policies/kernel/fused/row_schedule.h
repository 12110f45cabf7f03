// RowSchedule: what each pass over a row computes. A pure function of the program.
#ifndef HIERA_POLICIES_KERNEL_FUSED_ROW_SCHEDULE_H_
#define HIERA_POLICIES_KERNEL_FUSED_ROW_SCHEDULE_H_

#include <vector>

#include "policies/kernel/fused/row_program.h"

namespace hiera {

struct RowPass {
  std::vector<int> reductions;  // values finished by this pass
  std::vector<int> outputs;     // positions in RowProgram::outputs, stored along the row
  std::vector<int> saved;       // values put into their buffers for later passes
  std::vector<int> loaded;      // values taken from their buffers
  std::vector<int> before;      // values not of the row that this pass needs: computed ahead of it
};

struct RowSchedule {
  std::vector<RowPass> passes;
  std::vector<int> buffered;  // values that have a buffer
};

// buffer_values: how many values of a row may wait in buffers; the rest is computed again.
// keep_loads: whether what the first pass reads may wait too, where a buffer is nearer than memory.
RowSchedule ScheduleRow(const RowProgram& program, size_t buffer_values, bool keep_loads = false);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_FUSED_ROW_SCHEDULE_H_
