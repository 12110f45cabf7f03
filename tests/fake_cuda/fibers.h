// Runs a grid of CUDA threads in the calling thread: the threads of a block are fibers that take
// turns at barriers and shuffles, blocks run one after another. A thread that reaches neither is
// little more than a call, so grids of thousands of blocks are fast. The order is the same in every
// run, and another in neighbouring blocks, so that a missing barrier shows.
//
// A fault of a kernel (a stray access, a trap) ends its grid and is returned; so is a block whose
// threads wait at different barriers for ever. A kernel that never ends never returns.
//
// One grid at a time in a process: the caller sees to it.
#ifndef HIERA_TESTS_FAKE_CUDA_FIBERS_H_
#define HIERA_TESTS_FAKE_CUDA_FIBERS_H_

#include <cstddef>

#include "tests/fake_cuda/driver_api.h"
#include "tests/fake_cuda/kernel_table.h"

namespace hiera::fake_cuda {

struct GridRun {
  const hiera_fake::Module* module;
  const hiera_fake::Kernel* kernel;
  void* const* arguments;  // one address a parameter
  dim3 grid, block;
  size_t shared_bytes;
};

// CUDA_SUCCESS or the error that the context keeps from now on. Blocks as long as the grid runs.
CUresult RunGrid(const GridRun& run);

}  // namespace hiera::fake_cuda

#endif  // HIERA_TESTS_FAKE_CUDA_FIBERS_H_
