// GpuStream: the stream that a GPU worker works on, and what is copied over it. DeviceBlock: memory
// of the device that is given back. Both belong to the context that was current when they were made
// and must be used and destroyed with it current; a context that a candidate has broken ends with
// its process. Not thread-safe.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_STREAM_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_STREAM_H_

#include <cstdint>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver.h"

namespace hiera {

class GpuStream {
 public:
  // Not the default stream, and none that waits for it: work that strays to another stream is not
  // waited for. The driver must outlive it. Errors: kDeviceError.
  static Result<GpuStream> Make(const cuda::Driver& driver);
  GpuStream(GpuStream&& other) noexcept : driver_(other.driver_) { *this = std::move(other); }
  GpuStream& operator=(GpuStream&& other) noexcept;
  ~GpuStream();

  const cuda::Driver& driver() const { return *driver_; }
  CUstream handle() const { return stream_; }

  // In the order of the stream. Memory of the host is not touched after Wait. Errors: kDeviceError
  // with the driver's name for what happened here or before.
  Status Upload(CUdeviceptr to, const void* from, int64_t bytes) const;
  Status Download(void* to, CUdeviceptr from, int64_t bytes) const;
  Status Copy(CUdeviceptr to, CUdeviceptr from, int64_t bytes) const;
  Status Fill(CUdeviceptr at, uint8_t value, int64_t bytes) const;
  Status Wait() const;

  // Nanoseconds on the device between two of these calls; Stop waits. Errors: kDeviceError.
  Status StartClock();
  Result<double> StopClock();

 private:
  explicit GpuStream(const cuda::Driver& driver) : driver_(&driver) {}

  const cuda::Driver* driver_;
  CUstream stream_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
};

class DeviceBlock {
 public:
  DeviceBlock() = default;
  // Errors: kOutOfMemory, kDeviceError.
  static Result<DeviceBlock> Make(const cuda::Driver& driver, int64_t bytes);
  DeviceBlock(DeviceBlock&& other) noexcept { *this = std::move(other); }
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;
  ~DeviceBlock();

  CUdeviceptr address() const { return address_; }
  int64_t bytes() const { return bytes_; }

 private:
  const cuda::Driver* driver_ = nullptr;
  CUdeviceptr address_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_STREAM_H_
