// The CUDA device of a build without the CUDA Toolkit's headers and compiler: there is none.
#include "runtime/device/device.h"

namespace hiera {

Result<std::unique_ptr<Device>> MakeCudaDevice(std::string_view) {
  return Unsupported(
      "this build of HIERA has no CUDA device: it was made without the CUDA Toolkit (12.8 or "
      "later); use \"host\"");
}

}  // namespace hiera
