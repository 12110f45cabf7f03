// MakeStencil: see constructors.h and hiera_stencil.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "runtime/task/constructors.h"
#include "runtime/task/descriptor.h"
#include "runtime/task/limits.h"

namespace hiera {
namespace {

constexpr int64_t kMaxPoints = 1000;  // below kMaxNodeDepth, which the sum's depth must keep

Status CheckFields(const hiera_stencil& s) {
  HIERA_RETURN_IF_ERROR(CheckReal("dtype", s.dtype));
  HIERA_RETURN_IF_ERROR(CheckRange("rank", s.rank, 1, HIERA_MAX_SPATIAL));
  HIERA_RETURN_IF_ERROR(CheckRange("outside", s.outside, 0, HIERA_OUTSIDE_KEEP));
  HIERA_RETURN_IF_ERROR(CheckRange("steps", s.steps, 0, kMaxSteps));
  HIERA_RETURN_IF_ERROR(CheckRange("reserved", s.reserved, 0, 0));
  HIERA_RETURN_IF_ERROR(CheckRange("point_count", s.point_count, 1, kMaxPoints));
  if (s.points == nullptr) return InvalidArgument("points is NULL");
  for (uint32_t i = 0; i < s.rank; ++i) {
    HIERA_RETURN_IF_ERROR(
        CheckRange("extent[" + std::to_string(i) + "]", s.extent[i], 0, kMaxElements - 1));
  }
  for (uint32_t p = 0; p < s.point_count; ++p) {
    const std::string who = "points[" + std::to_string(p) + "].";
    if (!std::isfinite(s.points[p].coefficient)) {
      return InvalidArgument(who + "coefficient is not finite");
    }
    for (uint32_t i = 0; i < HIERA_MAX_SPATIAL; ++i) {
      const int64_t most = i < s.rank ? kMaxCoefficient : 0;
      HIERA_RETURN_IF_ERROR(CheckRange(who + "offset[" + std::to_string(i) + "]",
                                       s.points[p].offset[i], -most, most));
    }
  }
  return {};
}

}  // namespace

Result<Task> MakeStencil(const hiera_stencil& s) {
  HIERA_RETURN_IF_ERROR(CheckFields(s));
  Task task;
  const std::vector<int64_t> extents(s.extent, s.extent + s.rank);
  task.tensors = {DenseTensor("u", s.dtype, extents), DenseTensor("v", s.dtype, extents)};
  task.tensors[0].outside = static_cast<Outside>(s.outside);
  task.bound_count = 2;
  for (const TensorSpec& tensor : task.tensors) HIERA_RETURN_IF_ERROR(Validate(tensor));
  HIERA_RETURN_IF_ERROR(SetContract(s.contract, &task));

  FormulaBuilder f(&task);
  std::vector<int> indices;
  for (uint32_t i = 0; i < s.rank; ++i) {
    indices.push_back(f.AddIndex("i" + std::to_string(i), s.extent[i]));
  }
  int value = FormulaBuilder::kBad;
  for (uint32_t p = 0; p < s.point_count; ++p) {
    const hiera_stencil_point& point = s.points[p];
    std::vector<Subscript> subscripts;
    for (uint32_t i = 0; i < s.rank; ++i) {
      subscripts.push_back(PlainSubscript(indices[i]));
      subscripts.back().affine.offset = point.offset[i];
    }
    const int coefficient = f.Constant(point.coefficient, ValueType::kReal);
    const int term = f.Binary(Op::kMul, coefficient, f.Load(0, std::move(subscripts)));
    value = p == 0 ? term : f.Binary(Op::kAdd, value, term);
  }
  HIERA_RETURN_IF_ERROR(Finish("stencil", 1, std::move(indices), value, &f, &task));
  if (s.steps > 1) {
    task.formula.steps = s.steps;
    task.formula.carries = {{0, 1}};
  }
  return task;
}

}  // namespace hiera
