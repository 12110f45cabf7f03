// The CUDA device behind the device interface, on any driver. Applications get it from
// MakeCudaDevice of device.h; tests put a fictional driver under it.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H_
#define HIERA_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H_

#include <memory>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/device/cuda/driver.h"
#include "runtime/device/device.h"

namespace hiera::cuda {

// `driver` must outlive the device and all that it makes. Errors: as MakeCudaDevice.
Result<std::unique_ptr<Device>> MakeDevice(const Driver& driver, std::string_view which);

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_CUDA_DEVICE_H_
