// RowProgram: a task of pointwise and row-wise statements as one graph of values. The axes of all
// statements are made one set; locals vanish into the values that they stood for, and equal
// values are one. Each element of the outer axes is then a row, which the reductions run over.
// Built from a task, which it does not need afterwards. A plain value.
#ifndef HIERA_POLICIES_KERNEL_FUSED_ROW_PROGRAM_H_
#define HIERA_POLICIES_KERNEL_FUSED_ROW_PROGRAM_H_

#include <cstdint>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

struct RowValue {
  Op op = Op::kConstant;
  ValueType type = ValueType::kReal;
  std::vector<int> operands;  // values, each before this one
  double constant = 0;        // kConstant
  int target = -1;            // kScalar: scalar; kLoad: tensor
  // kLoad: element offset, kIndex: value; one coefficient an axis, and what does not change.
  std::vector<int64_t> coefficients;
  int64_t offset = 0;
  Reduction reduce = Reduction::kSum;  // kReduce: over all row axes
  // Derived.
  std::vector<bool> depends;  // per axis
  bool in_row = false;        // depends on a row axis
  int level = 0;              // passes over the row that must be done before it is known
  bool costly = false;        // holds a division or a function that is dearer than a reload
};

struct RowOutput {
  int tensor = -1;
  int value = -1;
  bool along_row = false;        // one element for every place on the row
  std::vector<int64_t> strides;  // per axis
};

struct RowProgram {
  struct Axis {
    int64_t extent = 0;
    bool row = false;
  };
  std::vector<Axis> axes;  // outer axes first, outermost first; then row axes
  std::vector<RowValue> values;
  std::vector<RowOutput> outputs;  // in the order of the statements
  int passes = 1;

  int64_t OuterCount() const;
  int64_t RowCount() const;
  bool reduces() const;  // whether any value is a reduction
  // Whether every access walks axes a and a + 1 as one.
  bool Joins(size_t a) const;
};

// Errors: kUnsupported, saying why the task is not one of rows.
Result<RowProgram> MakeRowProgram(const Task& task);

// The steps of MakeRowProgram that are tested on their own: joins neighbouring axes of one kind
// that every access walks as one; and works out the derived members of every value.
void MergeAxes(RowProgram* program);
void Derive(RowProgram* program);

}  // namespace hiera

#endif  // HIERA_POLICIES_KERNEL_FUSED_ROW_PROGRAM_H_
