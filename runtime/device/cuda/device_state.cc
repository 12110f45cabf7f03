#include "runtime/device/cuda/device_state.h"

namespace hiera::cuda {
namespace {

// What the pool keeps for the next run once nothing uses it: as much as a contract grants a variant
// unless it says otherwise.
constexpr uint64_t kKeptBytes = uint64_t{1} << 30;

}  // namespace

DeviceState::~DeviceState() {
  // What runs still use stays until they end; at a process's end the driver may be gone, and
  // answers with an error.
  if (const CUmemoryPool made = pool()) driver_.MemPoolDestroy(made);
  if (primary_.load() != nullptr) driver_.DevicePrimaryCtxRelease(facts_.device);
}

Result<CUlibrary> DeviceState::LoadLibrary(std::string_view code) {
  const Hash128 hash = HashBytes(code);
  const std::lock_guard lock(mutex_);
  const auto known = libraries_.find(hash);
  if (known != libraries_.end()) return known->second;
  const RelaxedCapture relaxed(driver_);
  const std::string terminated(code);  // PTX is text
  CUlibrary library = nullptr;
  const CUresult result = driver_.LibraryLoadData(&library, terminated.data(), nullptr, nullptr, 0,
                                                  nullptr, nullptr, 0);
  if (result != CUDA_SUCCESS) return Refused(driver_, result, "loading code");
  libraries_[hash] = library;
  return library;
}

Result<CUcontext> DeviceState::Primary() noexcept {
  if (CUcontext primary = primary_.load(std::memory_order_acquire)) return primary;
  const std::lock_guard lock(mutex_);
  if (CUcontext primary = primary_.load(std::memory_order_acquire)) return primary;
  const RelaxedCapture relaxed(driver_);
  CUcontext primary = nullptr;
  const CUresult result = driver_.DevicePrimaryCtxRetain(&primary, facts_.device);
  if (result != CUDA_SUCCESS) return Refused(driver_, result, "the primary context");
  primary_.store(primary, std::memory_order_release);
  return primary;
}

Status DeviceState::PreparePool() {
  const std::lock_guard lock(mutex_);
  if (pool() != nullptr) return {};
  const RelaxedCapture relaxed(driver_);
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, facts_.device};
  CUmemoryPool made = nullptr;
  CUresult result = driver_.MemPoolCreate(&made, &properties);
  if (result != CUDA_SUCCESS) return Refused(driver_, result, "a pool of device memory");
  cuuint64_t kept = kKeptBytes;
  result = driver_.MemPoolSetAttribute(made, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &kept);
  if (result != CUDA_SUCCESS) {
    driver_.MemPoolDestroy(made);
    return Refused(driver_, result, "a pool of device memory");
  }
  pool_.store(made, std::memory_order_release);
  return {};
}

EnsuredContext::EnsuredContext(DeviceState& state) noexcept : driver_(state.driver()) {
  if (driver_.CtxGetCurrent(&context_) == CUDA_SUCCESS && context_ != nullptr) return;
  const Result<CUcontext> primary = state.Primary();
  if (!primary.ok() || driver_.CtxPushCurrent(*primary) != CUDA_SUCCESS) return;
  context_ = *primary;
  pushed_ = true;
}

EnsuredContext::~EnsuredContext() {
  CUcontext popped = nullptr;
  if (pushed_) driver_.CtxPopCurrent(&popped);
}

CUresult Residence::Load(const Driver& driver, CUcontext current) const noexcept {
  const RelaxedCapture relaxed(driver);
  for (const CUkernel kernel : kernels_) {
    CUfunction function = nullptr;
    CUresult result = driver.KernelGetFunction(&function, kernel);
    if (result == CUDA_SUCCESS) result = driver.FuncLoad(function);
    if (result != CUDA_SUCCESS) return result;
  }
  for (auto& place : contexts_) {
    CUcontext none = nullptr;
    if (place.compare_exchange_strong(none, current) || none == current) break;
  }
  return CUDA_SUCCESS;
}

bool IsCaptured(const Driver& driver, CUstream stream) noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // An error: the legacy stream, which would take part in some capture.
  return driver.StreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace hiera::cuda
