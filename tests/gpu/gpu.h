// A real GPU for tests: the entries of the driver that the product has no use for, memory, streams,
// graphs. Every call is checked; a failure is a test's failure.
#ifndef HIERA_TESTS_GPU_GPU_H_
#define HIERA_TESTS_GPU_GPU_H_

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/task/task.h"

namespace hiera::gpu {

#define HIERA_GPU_ENTRIES(X)                                                                      \
  X(cuCtxCreate)                                                                                  \
  X(cuCtxDestroy) X(cuCtxSetCurrent) X(cuCtxGetCurrent) X(cuDevicePrimaryCtxRetain) X(cuMemAlloc) \
      X(cuMemFree) X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoDAsync) X(cuMemsetD8)             \
          X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamBeginCapture)     \
              X(cuStreamEndCapture) X(cuCtxSynchronize) X(cuGraphInstantiate) X(cuGraphLaunch)    \
                  X(cuGraphDestroy) X(cuGraphExecDestroy) X(cuLaunchKernel) X(cuLibraryLoadData)  \
                      X(cuLibraryGetKernel)

struct Entries {
#define HIERA_GPU_ENTRY(name) decltype(&::name) name = nullptr;
  HIERA_GPU_ENTRIES(HIERA_GPU_ENTRY)
#undef HIERA_GPU_ENTRY
};

// "" where there is a GPU; else why not.
std::string WhyNone();
// Whether it is that of tests/fake_cuda, which is some thousand times slower.
bool IsFictional();
// Only where there is one.
const Entries& Cuda();
// Throws, so that the test fails, unless the call succeeded.
void Check(CUresult result, const char* what);

// Makes the device's primary context current, in which most tests run.
CUcontext UsePrimary(int device = 0);

// Device memory with the bytes of the host, and back.
class Memory {
 public:
  explicit Memory(size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  char* data() const { return reinterpret_cast<char*>(address_); }
  void Write(const void* from, size_t bytes);
  void Read(void* to, size_t bytes) const;

 private:
  CUdeviceptr address_ = 0;
};

// Runs an executable of the device on buffers of the host: copies them over with `guard` bytes to
// either side, runs on `stream`, waits, and copies back.
class OnDevice final : public Executable {
 public:
  OnDevice(std::unique_ptr<Executable> executable, const Task& task, size_t guard, CUstream stream);
  hiera_status Run(const Call& call) const noexcept override;

 private:
  const std::unique_ptr<Executable> executable_;
  std::vector<size_t> bytes_;
  const size_t guard_;
  const CUstream stream_;
};

// Code of sample_kernels.cu, in a file; it lasts as long as the process. For the fictional GPU:
// the file that HIERA_TEST_SAMPLE_CODE names.
const std::string& SampleCode();

}  // namespace hiera::gpu

#endif  // HIERA_TESTS_GPU_GPU_H_
