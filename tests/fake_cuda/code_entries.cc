// The driver's entries that load code and launch it.
#include <cstring>

#include "tests/fake_cuda/fibers.h"
#include "tests/fake_cuda/process.h"

namespace hiera::fake_cuda {
namespace {

constexpr unsigned kMostBlocksYZ = 65535;
constexpr unsigned kPlainCluster = 8, kMostCluster = 16;  // blocks

const Kernel* KernelOf(const void* handle) { return static_cast<const Kernel*>(handle); }

// The parameters of a launch, copied: whoever launches may change them at once.
struct Arguments {
  std::vector<char> block;
  std::vector<void*> addresses;
};

CUresult CopyArguments(const hiera_fake::Kernel& kernel, void** each, void** extra,
                       Arguments* arguments) {
  const int count = kernel.parameter_count;
  const size_t end =
      count == 0 ? 0 : kernel.parameters[count - 1].offset + kernel.parameters[count - 1].bytes;
  // Aligned as the strictest type asks for.
  arguments->block.resize(end + alignof(std::max_align_t) * 4);
  auto at = reinterpret_cast<uintptr_t>(arguments->block.data());
  char* const begin = arguments->block.data() + (64 - at % 64) % 64;
  if (extra != nullptr) {
    const void* given = nullptr;
    size_t bytes = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) given = extra[1];
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<size_t*>(extra[1]);
    }
    if (bytes != end || (given == nullptr && end > 0)) return CUDA_ERROR_INVALID_VALUE;
    if (end > 0) std::memcpy(begin, given, end);
  } else if (each == nullptr && count > 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (int p = 0; p < count; ++p) {
    char* const place = begin + kernel.parameters[p].offset;
    if (extra == nullptr) std::memcpy(place, each[p], kernel.parameters[p].bytes);
    arguments->addresses.push_back(place);
  }
  return CUDA_SUCCESS;
}

CUresult CheckCluster(const CUlaunchConfig& config, const Kernel& kernel) {
  for (unsigned a = 0; a < config.numAttrs; ++a) {
    if (config.attrs[a].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    const auto& cluster = config.attrs[a].value.clusterDim;
    const unsigned blocks = cluster.x * cluster.y * cluster.z;
    const unsigned most = kernel.any_cluster_size ? kMostCluster : kPlainCluster;
    if (blocks == 0 || blocks > most || config.gridDimX % cluster.x != 0 ||
        config.gridDimY % cluster.y != 0 || config.gridDimZ % cluster.z != 0) {
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult CheckLaunch(const CUlaunchConfig& config, const Kernel& kernel) {
  const size_t blocks = size_t{config.gridDimX} * config.gridDimY * config.gridDimZ;
  const size_t threads = size_t{config.blockDimX} * config.blockDimY * config.blockDimZ;
  if (blocks == 0 || threads == 0 || threads > kMaxThreads || config.gridDimX > 0x7fffffff ||
      config.gridDimY > kMostBlocksYZ || config.gridDimZ > kMostBlocksYZ || config.blockDimZ > 64 ||
      config.sharedMemBytes > static_cast<unsigned>(kernel.most_dynamic_shared)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (threads > static_cast<size_t>(kernel.table->max_threads)) {
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  }
  return CheckCluster(config, kernel);
}

CUresult Launch(const CUlaunchConfig& config, CUfunction function, void** each, void** extra) {
  return InContext([&](Process& process, Context&) {
    const Kernel& kernel = *KernelOf(function);
    const CUresult fits = CheckLaunch(config, kernel);
    if (fits != CUDA_SUCCESS) return fits;
    auto arguments = std::make_shared<Arguments>();
    const CUresult copied = CopyArguments(*kernel.table, each, extra, arguments.get());
    if (copied != CUDA_SUCCESS) return copied;
    const dim3 grid{config.gridDimX, config.gridDimY, config.gridDimZ};
    const dim3 block{config.blockDimX, config.blockDimY, config.blockDimZ};
    const size_t shared = config.sharedMemBytes;
    return process.Queue(config.hStream, [&process, &kernel, arguments, grid, block, shared] {
      const DeviceAccess access(&process.memory);
      return RunGrid(
          {kernel.module, kernel.table, arguments->addresses.data(), grid, block, shared});
    });
  });
}

CUresult GetAttribute(int* value, CUfunction_attribute what, const Kernel& kernel) {
  switch (what) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return *value = kernel.table->max_threads, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return *value = kernel.most_dynamic_shared, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
      return *value = kernel.any_cluster_size ? 1 : 0, CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return *value = 32, CUDA_SUCCESS;
    default:
      return *value = 0, CUDA_SUCCESS;
  }
}

CUresult SetAttribute(CUfunction_attribute what, int value, Kernel* kernel) {
  if (what == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    if (value < 0 || value > kMostShared) return CUDA_ERROR_INVALID_VALUE;
    kernel->most_dynamic_shared = value;
  }
  if (what == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
    kernel->any_cluster_size = value != 0;
  }
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace hiera::fake_cuda

using namespace hiera::fake_cuda;  // the entries are C's

extern "C" {

CUresult cuLibraryLoadData(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  return Locked([&](Process& process) {
    const CUresult captures = process.CheckCaptures();
    if (captures != CUDA_SUCCESS) return captures;
    std::unique_ptr<Library> loaded;
    const CUresult result = LoadCode(code, &loaded);
    if (result != CUDA_SUCCESS) return result;
    *library = reinterpret_cast<CUlibrary>(loaded.get());
    process.libraries[loaded.get()] = std::move(loaded);
    return CUDA_SUCCESS;
  });
}
CUresult cuLibraryUnload(CUlibrary library) {
  return Locked([&](Process& process) {
    return process.libraries.erase(reinterpret_cast<Library*>(library)) != 0
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return Locked([&](Process& process) {
    const auto known = process.libraries.find(reinterpret_cast<Library*>(library));
    if (known == process.libraries.end()) return CUDA_ERROR_INVALID_HANDLE;
    const auto found = known->second->kernels.find(name);
    if (found == known->second->kernels.end()) return CUDA_ERROR_NOT_FOUND;
    return *kernel = reinterpret_cast<CUkernel>(found->second.get()), CUDA_SUCCESS;
  });
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  return Waiting([&](Process&, Context&) {
    return *function = reinterpret_cast<CUfunction>(kernel), CUDA_SUCCESS;
  });
}
CUresult cuFuncLoad(CUfunction) {
  return Waiting([](Process&, Context&) { return CUDA_SUCCESS; });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute what, CUkernel kernel, CUdevice) {
  return Locked([&](Process&) { return GetAttribute(value, what, *KernelOf(kernel)); });
}
CUresult cuKernelSetAttribute(CUfunction_attribute what, int value, CUkernel kernel, CUdevice) {
  return Locked(
      [&](Process&) { return SetAttribute(what, value, reinterpret_cast<Kernel*>(kernel)); });
}
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute what, CUfunction function) {
  return InContext(
      [&](Process&, Context&) { return GetAttribute(value, what, *KernelOf(function)); });
}
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute what, int value) {
  return InContext([&](Process&, Context&) {
    return SetAttribute(what, value, reinterpret_cast<Kernel*>(function));
  });
}
CUresult cuKernelGetParamInfo(CUkernel kernel, size_t number, size_t* offset, size_t* bytes) {
  return Locked([&](Process&) {
    const hiera_fake::Kernel& table = *KernelOf(kernel)->table;
    if (number >= static_cast<size_t>(table.parameter_count)) return CUDA_ERROR_INVALID_VALUE;
    *offset = table.parameters[number].offset;
    if (bytes != nullptr) *bytes = table.parameters[number].bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** each,
                          void** extra) {
  return Launch(*config, function, each, extra);
}
CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** each, void** extra) {
  CUlaunchConfig config = {};
  config.gridDimX = grid_x, config.gridDimY = grid_y, config.gridDimZ = grid_z;
  config.blockDimX = block_x, config.blockDimY = block_y, config.blockDimZ = block_z;
  config.sharedMemBytes = shared;
  config.hStream = stream;
  return Launch(config, function, each, extra);
}

}  // extern "C"
