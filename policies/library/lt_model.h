// LtModel: how long a product should take with an algorithm of cuBLASLt's, as a multiple of the
// roofline floor: how much of its tiles is product, how full its last wave is, how well a tile
// reuses what it loads, and what adding up the parts of a split sum costs. It orders choices before
// anything is measured; it never decides. Pure functions.
#ifndef HIERA_POLICIES_LIBRARY_LT_MODEL_H_
#define HIERA_POLICIES_LIBRARY_LT_MODEL_H_

#include <cstdint>

#include "runtime/task/cublas_call.h"
#include "runtime/task/lt_algorithm.h"

namespace hiera {

struct LtModel {
  const CublasCall& call;
  int multiprocessors = 1;
  double floor_ns = 0;   // of the task; 0: not known
  double copy_gbps = 0;  // of the device's memory; 0: not known

  // The whole tiles that cover C, over C. 1: they fit exactly. Unknown tiles cover it exactly.
  double Coverage(const LtAlgorithm& algorithm) const;
  // Blocks that are started, over those that whole waves would start, in (0, 1]. `waves`: of blocks
  // over the device, as the library says; 0: counted from the tiles, one block a multiprocessor.
  double Fullness(const LtAlgorithm& algorithm, double waves) const;
  // Nanoseconds, on the scale of floor_ns (1 where that is not known).
  double Predict(const LtAlgorithm& algorithm, double waves) const;
};

}  // namespace hiera

#endif  // HIERA_POLICIES_LIBRARY_LT_MODEL_H_
