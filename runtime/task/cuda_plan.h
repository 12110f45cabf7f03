// CudaPlan: how a variant's device code is launched, said in LaunchPlan::text. A plan is data: the
// client fills in pointers and scalars and launches; nothing of a candidate runs on the host.
//
// The text is one line for the plan and one for each step, in order:
//
//   cuda align 16
//   fill w+0 4096
//   launch gemm grid 64 2 1 block 128 1 1 cluster 2 1 1 shared 98304 args t0 t1+128 t2 s0:f32
//   w+4096
//
// `align`: bytes that every tensor's address must be a multiple of. `fill`: sets that many bytes of
// the workspace to 0. `launch`: a kernel of the artifact, by its symbol; `cluster` (compute
// capability 9.0 and later), `shared` (dynamic shared memory in bytes) and `cooperative` may be
// left out. Arguments, in the order of the kernel's parameters:
//   tN, tN+BYTES   the address of bound tensor N, advanced by so many bytes
//   w+BYTES        the address of the workspace, advanced
//   sN:TYPE        scalar N as f64, f32, f16, bf16 or i32, rounded to nearest
//   i32=N, i64=N, f32=X, f64=X   a constant
//
// Plain values and pure functions.
#ifndef HIERA_RUNTIME_TASK_CUDA_PLAN_H_
#define HIERA_RUNTIME_TASK_CUDA_PLAN_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

struct CudaArgument {
  enum class Kind : uint8_t { kTensor, kWorkspace, kScalar, kInteger, kReal };
  Kind kind = Kind::kTensor;
  int number = 0;      // of the tensor or scalar
  int64_t offset = 0;  // bytes, of an address
  // What a scalar is passed as, or a real constant; kInteger: kI32, or kF64 for a 64-bit one.
  DType type = DType::kF64;
  int64_t integer = 0;
  double real = 0;

  friend bool operator==(const CudaArgument&, const CudaArgument&) = default;
};
// Bytes that the argument takes in the parameter block; also its alignment there.
int64_t SizeOf(const CudaArgument& argument);

struct CudaStep {
  bool is_fill = false;
  int64_t fill_offset = 0, fill_bytes = 0;

  std::string kernel;
  std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1}, cluster{1, 1, 1};
  int64_t shared_bytes = 0;
  bool cooperative = false;
  std::vector<CudaArgument> arguments;

  friend bool operator==(const CudaStep&, const CudaStep&) = default;
};

struct CudaPlan {
  int64_t alignment = 1;
  std::vector<CudaStep> steps;

  friend bool operator==(const CudaPlan&, const CudaPlan&) = default;
};

inline constexpr std::string_view kCudaPlan = "cuda";  // how the text begins
inline constexpr int kMaxCudaSteps = 64;
inline constexpr int kMaxCudaArguments = 128;         // of one launch
inline constexpr int64_t kMaxCudaParameters = 4096;   // bytes of one launch's parameters
inline constexpr int64_t kMaxCudaThreads = 1024;      // of a block
inline constexpr int64_t kMaxCudaShared = 227 << 10;  // bytes a block may ask for, on any device
inline constexpr int64_t kMaxCudaCluster = 16;        // blocks

// The plan's one spelling: ParseCudaPlan(CudaPlanText(p)) is p.
std::string CudaPlanText(const CudaPlan& plan);

// Errors: kInvalidArgument, naming line, field and what is admitted. Grids, blocks and clusters are
// within what any device takes.
Result<CudaPlan> ParseCudaPlan(std::string_view text);

// Whether the plan fits a task: tensors and scalars that exist, offsets inside their tensors and
// inside the workspace. Errors: kInvalidArgument.
Status CheckCudaPlan(const CudaPlan& plan, const Task& task, int64_t workspace_bytes);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_CUDA_PLAN_H_
