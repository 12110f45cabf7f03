#include "tests/fake_cuda/card.h"

#include <cstdio>
#include <cstdlib>

namespace hiera::fake_cuda {
namespace {

std::string Text(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return value == nullptr ? otherwise : value;
}

std::string UuidText(const Card& card) {
  const CUuuid uuid = card.uuid();
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

std::vector<Card> All() {
  Card card;
  card.name = Text("FAKE_CUDA_NAME", "HIERA fictional GPU");
  std::sscanf(Text("FAKE_CUDA_CAPABILITY", "9.0").c_str(), "%d.%d", &card.major, &card.minor);
  card.multiprocessors = std::atoi(Text("FAKE_CUDA_MULTIPROCESSORS", "4").c_str());
  card.compute_mode = std::atoi(Text("FAKE_CUDA_COMPUTE_MODE", "0").c_str());
  card.memory_bytes = std::strtoull(Text("FAKE_CUDA_MEMORY", "1024").c_str(), nullptr, 10) << 20;
  std::vector<Card> cards;
  const int count = std::atoi(Text("FAKE_CUDA_DEVICES", "1").c_str());
  for (card.number = 0; card.number < count; ++card.number) cards.push_back(card);
  return cards;
}

// As the driver documents CUDA_VISIBLE_DEVICES: the first name that fits nothing ends the list, and
// a UUID may be cut short.
std::vector<Card> Visible() {
  const std::vector<Card> all = All();
  const char* variable = std::getenv("CUDA_VISIBLE_DEVICES");
  if (variable == nullptr) return all;
  std::vector<Card> visible;
  std::string rest = variable;
  while (!rest.empty()) {
    const std::string name = rest.substr(0, rest.find(','));
    rest = name.size() == rest.size() ? "" : rest.substr(name.size() + 1);
    const Card* found = nullptr;
    for (const Card& card : all) {
      const bool fits = name.rfind("GPU-", 0) == 0 ? UuidText(card).rfind(name, 0) == 0
                                                   : name == std::to_string(card.number);
      if (fits) found = &card;
    }
    if (found == nullptr) break;
    visible.push_back(*found);
  }
  return visible;
}

}  // namespace

CUuuid Card::uuid() const {
  CUuuid uuid = {};
  const char text[] = "HIERA fiction";
  for (int i = 0; text[i] != '\0'; ++i) uuid.bytes[i] = text[i];
  uuid.bytes[15] = static_cast<char>(number);
  return uuid;
}

int Card::Attribute(CUdevice_attribute what) const {
  switch (what) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return minor;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return multiprocessors;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_MODE:
      return compute_mode;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      return kL2Bytes;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
      return kPlainShared;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      return kMostShared;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
      return kMostShared + 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y:
      return kMaxThreads;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z:
      return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X:
      return 0x7fffffff;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z:
      return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
      return 2048;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
      return 1000000;  // kHz
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
      return 256;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
      return 1;
    default:
      return 0;
  }
}

const std::vector<Card>& Cards() {
  static const std::vector<Card>& cards = *new std::vector<Card>(Visible());
  return cards;
}

}  // namespace hiera::fake_cuda
