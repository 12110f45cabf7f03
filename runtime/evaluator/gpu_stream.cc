#include "runtime/evaluator/gpu_stream.h"

#include <string>

namespace hiera {
namespace {

Status Checked(const cuda::Driver& driver, CUresult result, const char* what) {
  return result == CUDA_SUCCESS ? Status() : cuda::Refused(driver, result, what);
}

size_t Size(int64_t bytes) { return static_cast<size_t>(bytes); }

}  // namespace

Result<GpuStream> GpuStream::Make(const cuda::Driver& driver) {
  GpuStream stream(driver);
  CUresult result = driver.StreamCreate(&stream.stream_, CU_STREAM_NON_BLOCKING);
  if (result == CUDA_SUCCESS) result = driver.EventCreate(&stream.begin_, CU_EVENT_DEFAULT);
  if (result == CUDA_SUCCESS) result = driver.EventCreate(&stream.end_, CU_EVENT_DEFAULT);
  if (result != CUDA_SUCCESS) return cuda::Refused(driver, result, "making a stream");
  return stream;
}

GpuStream& GpuStream::operator=(GpuStream&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(stream_, other.stream_);
  std::swap(begin_, other.begin_);
  std::swap(end_, other.end_);
  return *this;
}

GpuStream::~GpuStream() {
  if (begin_ != nullptr) driver_->EventDestroy(begin_);
  if (end_ != nullptr) driver_->EventDestroy(end_);
  if (stream_ != nullptr) driver_->StreamDestroy(stream_);
}

Status GpuStream::Upload(CUdeviceptr to, const void* from, int64_t bytes) const {
  if (bytes <= 0) return {};
  return Checked(*driver_, driver_->MemcpyHtoDAsync(to, from, Size(bytes), stream_),
                 "copying to the device");
}

Status GpuStream::Download(void* to, CUdeviceptr from, int64_t bytes) const {
  if (bytes <= 0) return {};
  return Checked(*driver_, driver_->MemcpyDtoHAsync(to, from, Size(bytes), stream_),
                 "copying from the device");
}

Status GpuStream::Copy(CUdeviceptr to, CUdeviceptr from, int64_t bytes) const {
  if (bytes <= 0) return {};
  return Checked(*driver_, driver_->MemcpyDtoDAsync(to, from, Size(bytes), stream_),
                 "copying on the device");
}

Status GpuStream::Fill(CUdeviceptr at, uint8_t value, int64_t bytes) const {
  if (bytes <= 0) return {};
  return Checked(*driver_, driver_->MemsetD8Async(at, value, Size(bytes), stream_),
                 "filling memory of the device");
}

Status GpuStream::Wait() const {
  return Checked(*driver_, driver_->StreamSynchronize(stream_), "waiting for the stream");
}

Status GpuStream::StartClock() {
  return Checked(*driver_, driver_->EventRecord(begin_, stream_), "recording an event");
}

Result<double> GpuStream::StopClock() {
  HIERA_RETURN_IF_ERROR(
      Checked(*driver_, driver_->EventRecord(end_, stream_), "recording an event"));
  HIERA_RETURN_IF_ERROR(Wait());
  float ms = 0;
  HIERA_RETURN_IF_ERROR(
      Checked(*driver_, driver_->EventElapsedTime(&ms, begin_, end_), "reading an event"));
  return static_cast<double>(ms) * 1e6;
}

Result<DeviceBlock> DeviceBlock::Make(const cuda::Driver& driver, int64_t bytes) {
  DeviceBlock block;
  const CUresult result = driver.MemAlloc(&block.address_, Size(bytes));
  if (result != CUDA_SUCCESS) {
    return cuda::Refused(driver, result,
                         std::to_string(bytes >> 20) + " MiB of memory of the device");
  }
  block.driver_ = &driver;
  block.bytes_ = bytes;
  return block;
}

DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DeviceBlock::~DeviceBlock() {
  if (driver_ != nullptr) driver_->MemFree(address_);
}

}  // namespace hiera
