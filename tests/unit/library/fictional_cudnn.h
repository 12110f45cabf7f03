// A fictional cuDNN backend: descriptors keep what is set, and a graph has four engines:
//   0   a knob 2 with values 0, 1 and 2, of which 2 can't be planned
//   1   does not do the graph
//   2   uses tensor cores
//   3   compiles at run time, needs a workspace of 1 MiB, is not deterministic
// Mode A ranks 0 with its knob at 1, then 2; mode B 3, then 0 as before; the fallback 0.
#ifndef HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_CUDNN_H_
#define HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_CUDNN_H_

#include <map>
#include <vector>

#include "runtime/library/cuda/cudnn_abi.h"
#include "runtime/task/cudnn_graph.h"

namespace hiera {

struct FictionalCudnn {
  static const cudnn::Functions& Functions();

  struct Last {
    CudnnEngine engine;
    std::map<int64_t, void*> pointers;  // by tensor
    void* workspace = nullptr;
    void* stream = nullptr;
    int runs = 0;
    int packs = 0;  // variant packs that were made
    // Pointwise functions along the chain, and how many tensors were virtual.
    std::vector<int> functions;
    int virtual_tensors = 0;
  };
  static Last& last();
  static void*& newest_plan();  // that was made
  static int& objects();        // descriptors and handles that are open
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_LIBRARY_FICTIONAL_CUDNN_H_
