// Variant: a candidate that was built, verified and measured, as it is stored, published and sent.
// A plain value; immutable once published.
#ifndef HIERA_RUNTIME_TASK_VARIANT_H_
#define HIERA_RUNTIME_TASK_VARIANT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/status.h"

namespace hiera {

// Where an implementation comes from. Stored: append only.
enum class Space : uint8_t {
  kBaseline = HIERA_SPACE_BASELINE,
  kFramework = HIERA_SPACE_FRAMEWORK,
  kLibrary = HIERA_SPACE_LIBRARY,
  kKernel = HIERA_SPACE_KERNEL,
};
std::string_view SpaceName(Space space);

// Something that must be the same where the variant is loaded, else it is a miss.
struct Requirement {
  std::string what;      // "library libopenblas.so.0"
  std::string identity;  // its build-id

  friend bool operator==(const Requirement&, const Requirement&) = default;
};

// How a device loads and launches it:
//   "object"          `artifact` is a shared object that defines hiera_variant (device/host/abi.h)
//   "cuda ..."        `artifact` is a cubin, launched as cuda_plan.h says
//   "library TEXT"    a library choice by structure, as runtime/library describes it
struct LaunchPlan {
  std::string text;
  int64_t workspace_bytes = 0;
  int threads = 0;  // the most threads it makes use of; 0: whatever there is

  friend bool operator==(const LaunchPlan&, const LaunchPlan&) = default;
};

struct Variant {
  Hash128 key;
  Space space = Space::kFramework;
  std::string family;  // "loops", "cblas", "gemm", "stencil", ...
  std::string name;    // its parameters, readable: "mr=6 nr=16 clang"
  LaunchPlan plan;
  std::string artifact;  // SHA-256 of the code, 64 hexadecimal digits; empty where there is none
  std::vector<Requirement> requirements;

  // Evidence, all from one interleaved measurement.
  std::string baseline_name;  // what it was compared with
  double baseline_ns = 0;
  double time_ns = 0;
  double ratio = 1;          // baseline / variant, median of pairs
  double ratio_low = 1;      // lower end of the 95 % bootstrap interval of the ratio
  double floor_ns = 0;       // roofline
  bool provisional = false;  // measured in a noisy moment; to be measured again
  int64_t measured_unix_s = 0;

  // What makes it this variant and no other, for quarantine: hash of family, name, plan, artifact.
  Hash128 Identity() const;

  friend bool operator==(const Variant&, const Variant&) = default;
};

// Versioned bytes with a checksum. Decode errors: kInvalidArgument, saying what did not fit.
std::string EncodeVariant(const Variant& variant);
Result<Variant> DecodeVariant(std::string_view bytes);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_VARIANT_H_
