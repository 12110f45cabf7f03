#include "runtime/device/cuda/driver.h"

#include <dlfcn.h>

#include "runtime/base/environment.h"

namespace hiera::cuda {
namespace {

constexpr int kInterfaceVersion = 12040;

// Without a driver a toolkit's stub may be found under its name; it refuses to initialise.
Result<const Driver*> Open() {
  const std::string& named = GetEnvironment().cuda_driver;
  const std::string path = named.empty() ? "libcuda.so.1" : named;
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    return Unsupported((named.empty() ? "no CUDA driver on this machine: "
                                      : "HIERA_CUDA_DRIVER names no CUDA driver: ") +
                       (why == nullptr ? path + " was not found" : std::string(why)));
  }
  using GetProcAddress =
      CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  const auto get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
  if (get == nullptr) {
    return Unsupported("the CUDA driver " + path + " is too old: version 12.4 is needed");
  }
  auto driver = std::make_unique<Driver>();
  const char* missing = nullptr;
  const auto find = [&](const char* name, auto* entry) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const CUresult result =
        get(name, &address, kInterfaceVersion, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &found);
    if (result != CUDA_SUCCESS || address == nullptr) missing = name;
    *entry = reinterpret_cast<std::remove_pointer_t<decltype(entry)>>(address);
  };
#define HIERA_CUDA_FIND(name) find("cu" #name, &driver->name);
  HIERA_CUDA_ENTRIES(HIERA_CUDA_FIND)
#undef HIERA_CUDA_FIND
  if (missing != nullptr) {
    return Unsupported(std::string("the CUDA driver is too old: it has no ") + missing +
                       "; version 12.4 is needed");
  }
  const CUresult result = driver->Init(0);
  if (result == CUDA_ERROR_STUB_LIBRARY || result == CUDA_ERROR_NO_DEVICE) {
    return Unsupported(result == CUDA_ERROR_NO_DEVICE
                           ? "the CUDA driver finds no device"
                           : "no CUDA driver on this machine: " + path + " is a toolkit's stub");
  }
  if (result != CUDA_SUCCESS) {
    return Unsupported("the CUDA driver could not be initialised: " +
                       Refused(*driver, result, "cuInit").message());
  }
  return driver.release();  // for the life of the process
}

}  // namespace

Result<const Driver*> MachineDriver() {
  static const Result<const Driver*>& driver = *new Result<const Driver*>(Open());
  return driver;
}

Status Refused(const Driver& driver, CUresult result, const std::string& what) {
  const char *name = nullptr, *text = nullptr;
  driver.GetErrorName(result, &name);
  driver.GetErrorString(result, &text);
  std::string message = what + ": " + (name == nullptr ? std::to_string(result) : name);
  if (text != nullptr) message += std::string(" (") + text + ")";
  if (result == CUDA_ERROR_OUT_OF_MEMORY) return OutOfMemory(std::move(message));
  return DeviceError(std::move(message));
}

}  // namespace hiera::cuda
