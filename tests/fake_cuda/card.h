// Cards: the GPUs that the fictional driver shows, from the environment of the process:
//
//   CUDA_VISIBLE_DEVICES        as for the real driver: numbers or UUIDs, in this order
//   FAKE_CUDA_DEVICES           how many there are; 1
//   FAKE_CUDA_NAME              "HIERA fictional GPU"
//   FAKE_CUDA_CAPABILITY        "9.0"
//   FAKE_CUDA_MULTIPROCESSORS   4
//   FAKE_CUDA_MEMORY            MiB; 1024
//   FAKE_CUDA_COMPUTE_MODE      0 (default), 3 (exclusive): told, not kept to
//
// Read once. Immutable; any thread.
#ifndef HIERA_TESTS_FAKE_CUDA_CARD_H_
#define HIERA_TESTS_FAKE_CUDA_CARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fake_cuda/driver_api.h"

namespace hiera::fake_cuda {

inline constexpr int kMaxThreads = 1024;       // of a block
inline constexpr int kPlainShared = 48 << 10;  // bytes that a block gets unasked
inline constexpr int kMostShared = 227 << 10;  // and when asked
inline constexpr int kL2Bytes = 1 << 20;

struct Card {
  int number = 0;  // of all there are, whether visible or not
  std::string name;
  int major = 9, minor = 0, multiprocessors = 4, compute_mode = 0;
  size_t memory_bytes = 0;

  CUuuid uuid() const;
  int Attribute(CUdevice_attribute what) const;  // 0 for what no test has asked for yet
};

const std::vector<Card>& Cards();  // the visible ones, in their order

}  // namespace hiera::fake_cuda

#endif  // HIERA_TESTS_FAKE_CUDA_CARD_H_
