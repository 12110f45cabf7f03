#include "runtime/device/cuda/prepared_launch.h"

#include <cstring>

#include "runtime/task/reference.h"

namespace hiera::cuda {
namespace {

using Kind = CudaArgument::Kind;

// Without being asked for, a block gets this much dynamic shared memory, and a cluster this many
// blocks.
constexpr int64_t kPlainShared = 48 << 10;
constexpr int64_t kPlainCluster = 8;

int64_t Volume(const std::array<int64_t, 3>& n) { return n[0] * n[1] * n[2]; }

void StoreScalar(double value, DType type, char* at) noexcept {
  if (type == DType::kF32) {
    const auto narrow = static_cast<float>(value);
    std::memcpy(at, &narrow, sizeof(narrow));
  } else if (type == DType::kF64) {
    std::memcpy(at, &value, sizeof(value));
  } else {
    StoreRounded(value, type, at);
  }
}

void StoreConstant(const CudaArgument& a, char* at) {
  if (a.kind == Kind::kReal) return StoreScalar(a.real, a.type, at);
  std::memcpy(at, &a.integer, SizeOf(a.type));  // little-endian: the low half first
}

Status CheckLimits(const DeviceState& state, const CudaStep& step, CUkernel kernel) {
  const Driver& driver = state.driver();
  const Facts& facts = state.facts();
  const auto attribute = [&](CUfunction_attribute what, int* value) {
    return driver.KernelGetAttribute(value, what, kernel, facts.device);
  };
  int threads = 0, fixed_shared = 0;
  CUresult result = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &threads);
  if (result == CUDA_SUCCESS)
    result = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &fixed_shared);
  if (result != CUDA_SUCCESS) return Refused(driver, result, "reading kernel " + step.kernel);
  if (Volume(step.block) > threads) {
    return Unsupported("kernel " + step.kernel + " can run with " + std::to_string(threads) +
                       " threads a block here, the plan has " + std::to_string(Volume(step.block)));
  }
  const int64_t shared = step.shared_bytes + fixed_shared;
  if (shared > facts.shared_bytes) {
    return Unsupported("kernel " + step.kernel + " needs " + std::to_string(shared) +
                       " bytes of shared memory, a block has at most " +
                       std::to_string(facts.shared_bytes) + " here");
  }
  if (Volume(step.cluster) > 1 && facts.major < 9) {
    return Unsupported("kernel " + step.kernel +
                       " runs in clusters, which need compute capability 9.0");
  }
  return {};
}

// Raises the kernel's own limits where the step needs it. Another plan of the same code may have
// raised them further.
Status RaiseLimits(const DeviceState& state, const CudaStep& step, CUkernel kernel) {
  const Driver& driver = state.driver();
  const CUdevice device = state.facts().device;
  CUresult result = CUDA_SUCCESS;
  if (step.shared_bytes > kPlainShared) {
    int now = 0;
    const auto limit = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    result = driver.KernelGetAttribute(&now, limit, kernel, device);
    if (result == CUDA_SUCCESS && now < step.shared_bytes) {
      result =
          driver.KernelSetAttribute(limit, static_cast<int>(step.shared_bytes), kernel, device);
    }
  }
  if (result == CUDA_SUCCESS && Volume(step.cluster) > kPlainCluster) {
    result = driver.KernelSetAttribute(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1,
                                       kernel, device);
  }
  if (result != CUDA_SUCCESS) return Refused(driver, result, "limits of kernel " + step.kernel);
  return {};
}

}  // namespace

Result<PreparedLaunch> PreparedLaunch::Make(const DeviceState& state, const CudaStep& step,
                                            CUkernel kernel) {
  PreparedLaunch launch;
  launch.kernel_ = kernel;
  launch.fill_offset_ = static_cast<uint64_t>(step.fill_offset);
  launch.fill_bytes_ = static_cast<uint64_t>(step.fill_bytes);
  if (kernel == nullptr) return launch;
  HIERA_RETURN_IF_ERROR(CheckLimits(state, step, kernel));
  HIERA_RETURN_IF_ERROR(RaiseLimits(state, step, kernel));
  HIERA_RETURN_IF_ERROR(launch.PlaceArguments(state.driver(), step));
  CUlaunchConfig& config = launch.config_;
  const auto u = [](int64_t n) { return static_cast<unsigned>(n); };
  config.gridDimX = u(step.grid[0]), config.gridDimY = u(step.grid[1]);
  config.gridDimZ = u(step.grid[2]);
  config.blockDimX = u(step.block[0]), config.blockDimY = u(step.block[1]);
  config.blockDimZ = u(step.block[2]);
  config.sharedMemBytes = u(step.shared_bytes);
  if (Volume(step.cluster) > 1) {
    CUlaunchAttribute& cluster = launch.attributes_.emplace_back();
    cluster = {};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = u(step.cluster[0]);
    cluster.value.clusterDim.y = u(step.cluster[1]);
    cluster.value.clusterDim.z = u(step.cluster[2]);
  }
  if (step.cooperative) {
    CUlaunchAttribute& cooperative = launch.attributes_.emplace_back();
    cooperative = {};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
  }
  config.numAttrs = static_cast<unsigned>(launch.attributes_.size());
  return launch;
}

Status PreparedLaunch::PlaceArguments(const Driver& driver, const CudaStep& step) {
  size_t end = 0, offset = 0, size = 0;
  for (size_t i = 0; i < step.arguments.size(); ++i) {
    const CudaArgument& a = step.arguments[i];
    const auto bytes = static_cast<size_t>(SizeOf(a));
    const size_t at = (end + bytes - 1) / bytes * bytes;
    if (driver.KernelGetParamInfo(kernel_, i, &offset, &size) != CUDA_SUCCESS || offset != at ||
        size != bytes) {
      return InvalidArgument("kernel " + step.kernel + ": argument " + std::to_string(i) +
                             " of the plan has " + std::to_string(bytes) + " bytes at " +
                             std::to_string(at) + ", which is no parameter of the kernel");
    }
    end = at + bytes;
    block_.resize(end);
    if (a.kind == Kind::kInteger || a.kind == Kind::kReal) {
      StoreConstant(a, block_.data() + at);
    } else {
      patches_.push_back(
          {a.kind, a.type, a.number, static_cast<uint32_t>(at), static_cast<uint64_t>(a.offset)});
    }
  }
  if (driver.KernelGetParamInfo(kernel_, step.arguments.size(), &offset, &size) == CUDA_SUCCESS) {
    return InvalidArgument("kernel " + step.kernel + " has more parameters than the plan's " +
                           std::to_string(step.arguments.size()));
  }
  return {};
}

void PreparedLaunch::Patched(const Call& call, CUdeviceptr workspace, char* block) const noexcept {
  std::memcpy(block, block_.data(), block_.size());
  for (const Patch& patch : patches_) {
    if (patch.kind == Kind::kScalar) {
      StoreScalar(call.scalars[patch.number], patch.type, block + patch.at);
      continue;
    }
    const uint64_t base = patch.kind == Kind::kTensor
                              ? reinterpret_cast<uint64_t>(call.pointers[patch.number])
                              : workspace;
    const uint64_t address = base + patch.offset;
    std::memcpy(block + patch.at, &address, sizeof(address));
  }
}

CUresult PreparedLaunch::Run(const Driver& driver, const Call& call,
                             CUdeviceptr workspace) const noexcept {
  if (kernel_ == nullptr) {
    return driver.MemsetD8Async(workspace + fill_offset_, 0, fill_bytes_,
                                static_cast<CUstream>(call.stream));
  }
  alignas(16) char block[kMaxCudaParameters];
  Patched(call, workspace, block);
  size_t bytes = block_.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  CUlaunchConfig config = config_;
  config.hStream = static_cast<CUstream>(call.stream);
  config.attrs = const_cast<CUlaunchAttribute*>(attributes_.data());
  return driver.LaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel_), nullptr, extra);
}

}  // namespace hiera::cuda
