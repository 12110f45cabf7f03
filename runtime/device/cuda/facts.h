// Facts: what the driver says of one device, and how a device is named and chosen.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_FACTS_H_
#define HIERA_RUNTIME_DEVICE_CUDA_FACTS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/task/fingerprint.h"

namespace hiera::cuda {

struct Facts {
  CUdevice device = 0;
  std::string name;
  std::string uuid;  // "GPU-00112233-4455-6677-8899-aabbccddeeff"
  int major = 0, minor = 0;
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t shared_bytes = 0;  // the most that a block may ask for
  std::string driver;        // the interface's version, and the kernel module's where it shows
};

// The device that `which` names: "cuda" (that of the thread's current context, else the first),
// "cuda:N" (as the driver counts) or "cuda:GPU-..." (by UUID). Errors: kInvalidArgument (no such
// spelling), kUnsupported (no such device; says what there is).
Result<Facts> ChooseDevice(const Driver& driver, std::string_view which);

// What a variant must find again to be valid. Neither the UUID nor clocks are part of it: two
// devices of one kind share their variants.
Fingerprint FingerprintOf(const Facts& facts);

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_FACTS_H_
