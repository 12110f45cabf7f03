#include "tests/gpu/gpu.h"

#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "runtime/base/environment.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/cuda/facts.h"
#include "sample_kernels.h"
#include "tests/temporary_folder.h"

#define HIERA_GPU_TEXT_OF(name) #name
#define HIERA_GPU_TEXT(name) HIERA_GPU_TEXT_OF(name)

namespace hiera::gpu {
namespace {

Entries Find() {
  const std::string& named = GetEnvironment().cuda_driver;
  void* library = dlopen(named.empty() ? "libcuda.so.1" : named.c_str(), RTLD_NOW);
  Entries entries;
  // The names as cuda.h maps them: cuMemAlloc_v2 for cuMemAlloc.
#define HIERA_GPU_FIND(name) \
  entries.name = reinterpret_cast<decltype(entries.name)>(dlsym(library, HIERA_GPU_TEXT(name)));
  HIERA_GPU_ENTRIES(HIERA_GPU_FIND)
#undef HIERA_GPU_FIND
  return entries;
}

}  // namespace

std::string WhyNone() {
  const Result<const cuda::Driver*> driver = cuda::MachineDriver();
  return driver.ok() ? "" : driver.status().message();
}

bool IsFictional() {
  const auto facts = cuda::ChooseDevice(**cuda::MachineDriver(), "cuda:0");
  return facts.ok() && facts->name == "HIERA fictional GPU";
}

const Entries& Cuda() {
  static const Entries entries = Find();
  return entries;
}

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  (*cuda::MachineDriver())->GetErrorName(result, &name);
  throw std::runtime_error(std::string(what) + ": " + (name == nullptr ? "?" : name));
}

CUcontext UsePrimary(int device) {
  CUcontext context = nullptr;
  Check(Cuda().cuDevicePrimaryCtxRetain(&context, device), "primary context");
  Check(Cuda().cuCtxSetCurrent(context), "current context");
  return context;
}

Memory::Memory(size_t bytes) { Check(Cuda().cuMemAlloc(&address_, bytes), "device memory"); }
Memory::~Memory() { Cuda().cuMemFree(address_); }
void Memory::Write(const void* from, size_t bytes) {
  Check(Cuda().cuMemcpyHtoD(address_, from, bytes), "copy to the device");
}
void Memory::Read(void* to, size_t bytes) const {
  Check(Cuda().cuMemcpyDtoH(to, address_, bytes), "copy from the device");
}

OnDevice::OnDevice(std::unique_ptr<Executable> executable, const Task& task, size_t guard,
                   CUstream stream)
    : executable_(std::move(executable)), guard_(guard), stream_(stream) {
  for (int t = 0; t < task.bound_count; ++t) bytes_.push_back(task.tensors[t].span_bytes());
}

hiera_status OnDevice::Run(const Call& call) const noexcept {
  try {
    std::vector<std::unique_ptr<Memory>> memory;
    std::vector<void*> pointers;
    for (size_t t = 0; t < bytes_.size(); ++t) {
      memory.push_back(std::make_unique<Memory>(bytes_[t] + 2 * guard_));
      memory[t]->Write(static_cast<char*>(call.pointers[t]) - guard_, bytes_[t] + 2 * guard_);
      pointers.push_back(memory[t]->data() + guard_);
    }
    const hiera_status status = executable_->Run({pointers.data(), call.scalars, stream_});
    Check(Cuda().cuStreamSynchronize(stream_), "waiting for the stream");
    for (size_t t = 0; t < bytes_.size(); ++t) {
      memory[t]->Read(static_cast<char*>(call.pointers[t]) - guard_, bytes_[t] + 2 * guard_);
    }
    return status;
  } catch (const std::exception& e) {
    fprintf(stderr, "%s\n", e.what());
    return HIERA_DEVICE_ERROR;
  }
}

const std::string& SampleCode() {
  static const TemporaryFolder folder;
  static const std::string path = [] {
    const char* compiled = std::getenv("HIERA_TEST_SAMPLE_CODE");
    if (compiled != nullptr && IsFictional()) return std::string(compiled);
    const std::string file = folder / "sample_kernels.fatbin";
    std::ofstream(file, std::ios::binary) << embedded::sample_kernels_fatbin;
    return file;
  }();
  return path;
}

}  // namespace hiera::gpu
