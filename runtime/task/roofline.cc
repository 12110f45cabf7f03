#include "runtime/task/roofline.h"

#include <algorithm>

#include "runtime/task/cost.h"

namespace hiera {

double RooflineFloorNs(const Task& task, const MachineFacts& machine) {
  const Cost cost = CostOf(task);
  double floor_ns = 0;
  if (machine.copy_gbps > 0 && cost.bytes > static_cast<double>(machine.l3_bytes)) {
    floor_ns = cost.bytes / machine.copy_gbps;
  }
  const double peak =
      task.contract.accumulate == DType::kF64 ? machine.flops_f64 : machine.flops_f32;
  if (peak > 0) floor_ns = std::max(floor_ns, cost.flops / peak * 1e9);
  return floor_ns;
}

}  // namespace hiera
