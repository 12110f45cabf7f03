#include "runtime/device/cuda/facts.h"

#include <charconv>
#include <fstream>
#include <vector>

namespace hiera::cuda {
namespace {

std::string UuidText(const CUuuid& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// The interface's version says little: one covers many drivers. The kernel module has the rest.
std::string DriverVersion(const Driver& driver) {
  int version = 0;
  driver.DriverGetVersion(&version);
  std::string text = std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  std::string module;
  std::ifstream("/sys/module/nvidia/version") >> module;
  return module.empty() ? text : text + " " + module;
}

Result<Facts> Read(const Driver& driver, int ordinal) {
  Facts facts;
  char name[256] = "";
  CUuuid uuid = {};
  size_t memory = 0;
  CUresult result = driver.DeviceGet(&facts.device, ordinal);
  if (result == CUDA_SUCCESS) result = driver.DeviceGetName(name, sizeof(name), facts.device);
  if (result == CUDA_SUCCESS) result = driver.DeviceGetUuid(&uuid, facts.device);
  if (result == CUDA_SUCCESS) result = driver.DeviceTotalMem(&memory, facts.device);
  const auto attribute = [&](CUdevice_attribute what) {
    int value = 0;
    if (result == CUDA_SUCCESS) result = driver.DeviceGetAttribute(&value, what, facts.device);
    return value;
  };
  facts.major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  facts.minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  facts.multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  facts.l2_bytes = attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  facts.shared_bytes = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  if (result != CUDA_SUCCESS) {
    return Refused(driver, result, "reading device " + std::to_string(ordinal));
  }
  facts.name = name;
  facts.uuid = UuidText(uuid);
  facts.memory_bytes = static_cast<int64_t>(memory);
  facts.driver = DriverVersion(driver);
  return facts;
}

// The ordinal of the thread's current context; 0 where it has none.
int CurrentDevice(const Driver& driver, int count) {
  CUdevice current = 0, device = 0;
  if (driver.CtxGetDevice(&current) != CUDA_SUCCESS) return 0;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (driver.DeviceGet(&device, ordinal) == CUDA_SUCCESS && device == current) return ordinal;
  }
  return 0;
}

}  // namespace

Result<Facts> ChooseDevice(const Driver& driver, std::string_view which) {
  int count = 0;
  const CUresult result = driver.DeviceGetCount(&count);
  if (result != CUDA_SUCCESS) return Refused(driver, result, "counting devices");
  if (count == 0) return Unsupported("the CUDA driver finds no device");
  if (which == "cuda") return Read(driver, CurrentDevice(driver, count));
  const std::string_view name = which.substr(std::min(which.size(), sizeof("cuda:") - 1));
  int ordinal = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), ordinal);
  if (error == std::errc() && end == name.data() + name.size() && ordinal >= 0) {
    if (ordinal < count) return Read(driver, ordinal);
    return Unsupported("there is no device \"" + std::string(which) + "\": the driver shows " +
                       std::to_string(count) + ", counted from 0");
  }
  if (!name.starts_with("GPU-")) {
    return InvalidArgument("\"" + std::string(which) +
                           "\" names no CUDA device; use \"cuda\", \"cuda:0\" or "
                           "\"cuda:GPU-\" and the rest of a UUID");
  }
  std::string seen;
  for (int i = 0; i < count; ++i) {
    Result<Facts> facts = Read(driver, i);
    if (facts.ok() && facts->uuid == name) return facts;
    if (facts.ok()) seen += " " + facts->uuid;
  }
  return Unsupported("there is no device \"" + std::string(which) + "\"; the driver shows" + seen);
}

Fingerprint FingerprintOf(const Facts& facts) {
  Fingerprint fingerprint;
  fingerprint.fields = {
      {"device", "cuda"},
      {"name", facts.name},
      {"compute_capability", std::to_string(facts.major) + "." + std::to_string(facts.minor)},
      {"multiprocessors", std::to_string(facts.multiprocessors)},
      {"memory_mib", std::to_string(facts.memory_bytes >> 20)},
      {"l2_bytes", std::to_string(facts.l2_bytes)},
      {"driver", facts.driver},
  };
  return fingerprint;
}

}  // namespace hiera::cuda
