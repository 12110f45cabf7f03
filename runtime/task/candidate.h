// MachineFacts, Candidate and Verdict: what policies propose, what the evaluator answers, and what
// both know of the machine. Plain values that travel between planner and evaluator.
#ifndef HIERA_RUNTIME_TASK_CANDIDATE_H_
#define HIERA_RUNTIME_TASK_CANDIDATE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/task/variant.h"

namespace hiera {

// What is known of the machine. Measured by the evaluator once per device, kept in the store.
struct MachineFacts {
  int threads = 1;              // multiprocessors on a GPU
  int64_t l1_bytes = 32 << 10;  // per core
  int64_t l2_bytes = 512 << 10;
  int64_t l3_bytes = 8 << 20;  // the last level, shared by all: on a GPU its L2
  int vector_bytes = 32;       // widest vector unit: 16, 32 or 64
  double copy_gbps = 0;        // cached-store copy, all threads, read + write counted
  double flops_f32 = 0;        // multiply-add peak per second, all threads
  double flops_f64 = 0;
  bool has_gcc = true;  // compilers found on this machine
  bool has_clang = false;
  std::string blas;       // identity of the CBLAS library found, "" if there is none
  std::string blas_what;  // its requirement name: "library libopenblas.so.0"

  std::string architecture;  // "sm_90a", as NVRTC is told; empty where this is not a GPU
  int64_t memory_bytes = 0;  // of the GPU
  int64_t shared_bytes = 0;  // the most that a block may ask for
  bool has_nvrtc = false;

  bool IsGpu() const { return !architecture.empty(); }
};

// What is built and judged. Nobody has checked it yet.
struct Candidate {
  Space space = Space::kFramework;
  std::string family;  // names the policy's family: Variant::family
  std::string name;    // unique within (task, family): the parameters, readable
  std::string reason;  // why it is worth trying, for the journal

  // C++ that defines hiera_variant, with abi.h's text put before it; for kNvrtc CUDA C++ that
  // defines the kernels of the plan. Empty where the plan alone says it (library choices).
  std::string source;
  enum class Compiler : uint8_t { kGcc, kClang, kNvrtc } compiler = Compiler::kGcc;
  // Added to the evaluator's own: -std=c++20 -O3 -march=native -fPIC -shared, and -ffp-contract=off
  // under exact arithmetic (-fmad=false for kNvrtc, which is told the architecture besides). Never
  // -ffast-math: NaN and infinities are honoured.
  std::vector<std::string> flags;
  LaunchPlan plan{"object", 0, 0};
  std::vector<Requirement> requirements;

  double predicted_ns = 0;  // 0: no prediction. Used to order, never to decide.
};

// One candidate's fate so far.
enum class Verdict : uint8_t {
  kFaster,       // beats the incumbent beyond the noise
  kNotFaster,    // correct, but within the noise or slower
  kBuildFailed,  // the compiler refused, or ran out of time
  kCrashed,      // a signal, or the worker died
  kTimedOut,     // did not finish
  kWrong,        // outputs outside the contract, with the element
  kMisbehaved,   // wrote outside its outputs, changed an input, or was not repeatable
  kUnloadable,   // no entry point, or a library choice that does not resolve
};
std::string_view VerdictName(Verdict verdict);
inline bool IsCorrect(Verdict v) { return v == Verdict::kFaster || v == Verdict::kNotFaster; }

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CANDIDATE_H_
