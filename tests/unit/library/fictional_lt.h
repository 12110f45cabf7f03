// A fictional cuBLASLt that multiplies f32 on the host, column-major, and knows four algorithms:
//   7   tiles 15 and 20, splits of the sum, one swizzle, any alignment
//   9   rounds to TF32
//   66  tiles 18 and 20, stages 36, clusters 0, 3 and 6, custom options up to 2, 16-byte addresses
//   70  accumulates in f16
// It ranks 66 (tile 20, cluster 3), then 9, then 7 (tile 20), and before all a split of 7 by four
// where addresses are 4-aligned and 4 MiB of workspace are there. Tile 15 is refused above 1,000
// rows.
#ifndef HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_LT_H_
#define HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_LT_H_

#include "runtime/library/cuda/cublas_abi.h"
#include "runtime/task/lt_algorithm.h"

namespace hiera {

struct FictionalLt {
  static const lt::Functions& Functions();

  // Of the last product.
  struct Last {
    LtAlgorithm algorithm;
    void* stream = nullptr;
    void* workspace = nullptr;
    int products = 0;
  };
  static Last& last();
  static int& handles();  // that are open
  static int& objects();  // descriptors, layouts and preferences that are open
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_LT_H_
