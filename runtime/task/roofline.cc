#include "runtime/task/roofline.h"

#include <algorithm>

#include "runtime/task/classify.h"
#include "runtime/task/cost.h"

namespace hiera {
namespace {

// How many times as much as plain multiply-adds the units for matrix products of a GPU do, at most,
// by the vendor's figures: 16 times on 16-bit operands on compute capability 8.0 and 9.0, 28 on
// 10.0; half of that on TF32; twice on f64. A floor must not be too high.
constexpr double kSixteenBitUnits = 32;
constexpr double kTf32Units = 16;
constexpr double kF64Units = 2;

double MatrixUnits(const Task& task) {
  switch (Classify(task)) {
    case TaskClass::kStencil:
    case TaskClass::kRowWise:
    case TaskClass::kPointwise:
      return 1;
    default:
      break;
  }
  if (task.contract.accumulate == DType::kF64) return kF64Units;
  for (int t = 0; t < task.bound_count; ++t) {
    const DType dtype = task.tensors[static_cast<size_t>(t)].dtype;
    if (dtype == DType::kF16 || dtype == DType::kBF16) return kSixteenBitUnits;
  }
  return task.contract.arithmetic == Arithmetic::kTf32 ? kTf32Units : 1;
}

}  // namespace

double RooflineFloorNs(const Task& task, const MachineFacts& machine) {
  const Cost cost = CostOf(task);
  double floor_ns = 0;
  if (machine.copy_gbps > 0 && cost.bytes > static_cast<double>(machine.l3_bytes)) {
    floor_ns = cost.bytes / machine.copy_gbps;
  }
  double peak = task.contract.accumulate == DType::kF64 ? machine.flops_f64 : machine.flops_f32;
  if (machine.IsGpu()) peak *= MatrixUnits(task);
  if (peak > 0) floor_ns = std::max(floor_ns, cost.flops / peak * 1e9);
  return floor_ns;
}

}  // namespace hiera
