// Tuning: the parameters of one instantiation of the GEMM templates, and an analytic model that
// orders them. Plain values and pure functions.
#ifndef HIERA_POLICIES_KERNEL_GEMM_TUNING_H_
#define HIERA_POLICIES_KERNEL_GEMM_TUNING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "policies/kernel/gemm/problem.h"
#include "runtime/task/candidate.h"

namespace hiera::gemm {

// The members of the template's Plan of the same names; gemm_blocks.cc says what they do. A block
// extent of 0 means all of that dimension.
struct Tuning {
  bool inner = false;  // vectors along the sum
  int rows = 4;        // register tile: rows, and vectors (inner: columns)
  int vecs = 2;
  int width = 8;        // elements of a vector
  int unroll = 4;       // steps of the sum per iteration
  bool masked = false;  // rows end with a masked vector; only for vectors of 64 bytes
  int64_t mc = 0, nc = 0, kc = 0;
  bool pack_a = false, pack_b = false;
  bool rows_first = true;
  int split = 1;
  int lanes = 1;
  Candidate::Compiler compiler = Candidate::Compiler::kGcc;

  // "outer 4x2x8 u4 kc256 packb lanes2 gcc": names the tuning, and Parse reads it back.
  std::string Name() const;
  static std::optional<Tuning> Parse(std::string_view name);

  friend bool operator==(const Tuning&, const Tuning&) = default;
};

// Bytes of workspace that the instantiation needs.
int64_t WorkspaceBytes(const Problem& problem, const Tuning& tuning);

// "" where the templates can run this tuning of this problem, else why not.
std::string WhyNot(const Problem& problem, const Tuning& tuning);

// Nanoseconds by a model of issue slots, latency, cache blocks and memory bandwidth. Good for
// ordering alone.
double PredictNs(const Problem& problem, const Tuning& tuning, const MachineFacts& machine);

}  // namespace hiera::gemm

#endif  // HIERA_POLICIES_KERNEL_GEMM_TUNING_H_
