#include "policies/kernel/fused/fused_program.h"

#include <string>
#include <vector>

namespace hiera {
namespace {

// What exact arithmetic forbids of what rows do: other orders of sums, functions other than libm's.
std::string ExactRefusal(const RowProgram& program) {
  for (const RowValue& value : program.values) {
    if (value.op == Op::kReduce &&
        (value.reduce == Reduction::kSum || value.reduce == Reduction::kMean ||
         value.reduce == Reduction::kProd)) {
      return "exact arithmetic: sums in vectors change the order";
    }
    const bool exponential = value.op >= Op::kExp && value.op <= Op::kSilu;
    const bool rounded_alike =
        value.op == Op::kSqrt || value.op == Op::kRsqrt || value.op == Op::kRelu;
    if (exponential && !rounded_alike)
      return "exact arithmetic: vector functions round otherwise than libm";
  }
  return "";
}

// Whether two reads that are reduced together each lack an outer axis that the other has: every
// row of the one meets every row of the other, which tiles serve and rows do not.
bool IsMatrixProduct(const RowProgram& program) {
  const auto has = [&](const RowValue& load, size_t axis) {
    return load.coefficients[axis] != 0 && program.axes[axis].extent > 1;
  };
  std::vector<const RowValue*> reduced;  // reads along the row, below a reduction
  std::vector<bool> below(program.values.size(), false);
  for (size_t v = program.values.size(); v-- > 0;) {
    const RowValue& value = program.values[v];
    if (value.op == Op::kLoad && value.in_row && below[v]) reduced.push_back(&value);
    for (int operand : value.operands) {
      if (below[v] || value.op == Op::kReduce) below[operand] = true;
    }
  }
  for (const RowValue* a : reduced) {
    for (const RowValue* b : reduced) {
      bool a_alone = false, b_alone = false;  // an axis that only the one has
      for (size_t axis = 0; axis < program.axes.size(); ++axis) {
        if (program.axes[axis].row) continue;
        a_alone = a_alone || (has(*a, axis) && !has(*b, axis));
        b_alone = b_alone || (has(*b, axis) && !has(*a, axis));
      }
      if (a_alone && b_alone) return true;
    }
  }
  return false;
}

// The stride along the row of most reads of the row, where that is none that vectors load: walking
// columns costs a cache line an element, which plain loops over blocks of columns avoid.
int64_t StrideOfRows(const RowProgram& program) {
  int strided = 0, ordered = 0;
  int64_t stride = 1;
  for (const RowValue& value : program.values) {
    if (value.op != Op::kLoad || !value.in_row) continue;
    if (value.coefficients.back() == 0 || value.coefficients.back() == 1) {
      ++ordered;
    } else {
      ++strided;
      stride = value.coefficients.back();
    }
  }
  return strided > ordered ? stride : 1;
}

}  // namespace

std::string_view FusedFamily(const RowProgram& program) {
  return program.reduces() ? "rowwise" : "pointwise";
}

Result<RowProgram> MakeFusedProgram(const Task& task) {
  Result<RowProgram> program = MakeRowProgram(task);
  if (!program.ok()) return program;
  if (task.contract.arithmetic == Arithmetic::kExact) {
    const std::string refusal = ExactRefusal(*program);
    if (!refusal.empty()) return Unsupported(refusal);
  }
  if (IsMatrixProduct(*program)) return Unsupported("a matrix product, not rows");
  const int64_t stride = StrideOfRows(*program);
  if (stride != 1) {
    return Unsupported("the elements of a row lie " + std::to_string(stride) + " apart in memory");
  }
  return program;
}

}  // namespace hiera
