// What compiled kernels and the fictional driver know of each other. Also part of every source that
// the fictional NVRTC compiles, so it includes nothing.
#ifndef HIERA_TESTS_FAKE_CUDA_KERNEL_TABLE_H_
#define HIERA_TESTS_FAKE_CUDA_KERNEL_TABLE_H_

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

namespace hiera_fake {

// What a kernel asks of the block that runs it.
struct Engine {
  void (*sync_block)();
  void (*sync_warp)();
  // `out` gets what lane `source` of the warp passed; its own where there is no such lane.
  void (*exchange)(const void* in, void* out, unsigned long bytes, int source);
  int (*lane)();
  void* (*dynamic_shared)();
};

struct Parameter {
  unsigned long offset, bytes;
};

struct Kernel {
  const char* name;
  int max_threads;
  int parameter_count;
  const Parameter* parameters;
  void (*call)(void* const* arguments);
};

constexpr unsigned kModuleVersion = 1;

// One compiled source. The engine fills in the variables before it calls a kernel.
struct Module {
  unsigned version;
  int kernel_count;
  const Kernel* kernels;
  const Engine** engine;
  uint3 *thread, *block;
  dim3 *block_size, *grid_size;
};

}  // namespace hiera_fake

#endif  // HIERA_TESTS_FAKE_CUDA_KERNEL_TABLE_H_
