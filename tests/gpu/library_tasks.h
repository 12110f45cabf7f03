// Products as tasks, column-major, for tests of the library space.
#ifndef HIERA_TESTS_GPU_LIBRARY_TASKS_H_
#define HIERA_TESTS_GPU_LIBRARY_TASKS_H_

#include <cstdint>

#include "runtime/task/task.h"

namespace hiera {

struct ProductShape {
  int64_t m = 1, n = 1, k = 1;
  int64_t batch = 1;
  bool transpose_a = false, transpose_b = false;
  bool bias_relu = false;
};

// C[b,i,j] = sum(p: A[b,i,p] * B[b,p,j]), every address 16-aligned, inputs about N(0, 1) without
// special values. Ends the program where that is no task.
Task ProductTask(DType dtype, const ProductShape& shape);

}  // namespace hiera

#endif  // HIERA_TESTS_GPU_LIBRARY_TASKS_H_
