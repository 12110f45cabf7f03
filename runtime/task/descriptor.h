// What the typed constructors share: checks of a descriptor's fields that name the field as the C
// API spells it, and the end of building. Pure functions but for the task they are given.
#ifndef HIERA_RUNTIME_TASK_DESCRIPTOR_H_
#define HIERA_RUNTIME_TASK_DESCRIPTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "hiera/hiera.h"
#include "runtime/base/status.h"
#include "runtime/task/builder.h"
#include "runtime/task/task.h"

namespace hiera {

// value in [low, high], else "FIELD is VALUE (low to high)".
Status CheckRange(const std::string& field, int64_t value, int64_t low, int64_t high);
Status CheckReal(const std::string& field, uint32_t dtype);  // an element type of reals

// a * b, or the error that FIELD makes a size overflow.
Result<int64_t> CheckedProduct(const std::string& field, int64_t a, int64_t b);

// A tensor with dense strides.
TensorSpec DenseTensor(std::string name, uint32_t dtype, std::vector<int64_t> extents);

// The C API's contract for a task with these tensors.
Status SetContract(const hiera_contract* contract, Task* task);

// The value after a HIERA_ACTIVATION_...
int Activated(uint32_t activation, int value, FormulaBuilder* builder);

// A load at single indices.
Subscript PlainSubscript(int index);

// Ends the task with its one statement, and checks it. `who` starts the messages.
Status Finish(const std::string& who, int output, std::vector<int> indices, int root,
              FormulaBuilder* builder, Task* task);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_DESCRIPTOR_H_
