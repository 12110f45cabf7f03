#include "runtime/device/cuda/cuda_timer.h"

#include <limits>

namespace hiera::cuda {

CudaTimer::~CudaTimer() {
  const Driver& driver = state_->driver();
  if (begin_ != nullptr) driver.EventDestroy(begin_);
  if (end_ != nullptr) driver.EventDestroy(end_);
}

void CudaTimer::Begin(void* stream) noexcept {
  const Driver& driver = state_->driver();
  const EnsuredContext context(*state_);
  result_ = CUDA_SUCCESS;
  if (begin_ == nullptr) {
    const RelaxedCapture relaxed(driver);
    result_ = driver.EventCreate(&begin_, CU_EVENT_DEFAULT);
    if (result_ == CUDA_SUCCESS) result_ = driver.EventCreate(&end_, CU_EVENT_DEFAULT);
  }
  if (result_ == CUDA_SUCCESS) {
    result_ = driver.EventRecord(begin_, static_cast<CUstream>(stream));
  }
}

void CudaTimer::End(void* stream) noexcept {
  const EnsuredContext context(*state_);
  if (result_ == CUDA_SUCCESS) {
    result_ = state_->driver().EventRecord(end_, static_cast<CUstream>(stream));
  }
}

double CudaTimer::ElapsedNs() noexcept {
  if (result_ == CUDA_ERROR_NOT_READY) return -1;
  constexpr double kLost = std::numeric_limits<double>::quiet_NaN();
  if (result_ != CUDA_SUCCESS) return kLost;
  const Driver& driver = state_->driver();
  const EnsuredContext context(*state_);
  const RelaxedCapture relaxed(driver);
  const CUresult ready = driver.EventQuery(end_);
  if (ready == CUDA_ERROR_NOT_READY) return -1;
  float ms = 0;
  if (ready != CUDA_SUCCESS || driver.EventElapsedTime(&ms, begin_, end_) != CUDA_SUCCESS) {
    return kLost;
  }
  return static_cast<double>(ms) * 1e6;
}

}  // namespace hiera::cuda
