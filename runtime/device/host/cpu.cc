#include "runtime/device/host/cpu.h"

#include <cpuid.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>

namespace hiera {
namespace {

enum Register { kEax, kEbx, kEcx, kEdx };

// What the operating system must save for the feature to be usable: nothing, the AVX, the AVX-512
// or the AMX registers.
enum State { kNone, kAvx, kAvx512, kAmx };

struct FeatureBit {
  const char* name;
  uint32_t leaf, subleaf;
  Register reg;
  int bit;
  State state;
};

// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID; AMD64
// Architecture Programmer's Manual, volume 3, appendix E (leaf 0x80000001).
constexpr FeatureBit kFeatures[] = {
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"pclmul", 1, 0, kEcx, 1, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"fma", 1, 0, kEcx, 12, kAvx},
    {"cx16", 1, 0, kEcx, 13, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone},
    {"sse4.2", 1, 0, kEcx, 20, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"aes", 1, 0, kEcx, 25, kNone},
    {"avx", 1, 0, kEcx, 28, kAvx},
    {"f16c", 1, 0, kEcx, 29, kAvx},
    {"bmi", 7, 0, kEbx, 3, kNone},
    {"avx2", 7, 0, kEbx, 5, kAvx},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"avx512f", 7, 0, kEbx, 16, kAvx512},
    {"avx512dq", 7, 0, kEbx, 17, kAvx512},
    {"adx", 7, 0, kEbx, 19, kNone},
    {"avx512ifma", 7, 0, kEbx, 21, kAvx512},
    {"avx512cd", 7, 0, kEbx, 28, kAvx512},
    {"sha", 7, 0, kEbx, 29, kNone},
    {"avx512bw", 7, 0, kEbx, 30, kAvx512},
    {"avx512vl", 7, 0, kEbx, 31, kAvx512},
    {"avx512vbmi", 7, 0, kEcx, 1, kAvx512},
    {"avx512vbmi2", 7, 0, kEcx, 6, kAvx512},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"vaes", 7, 0, kEcx, 9, kAvx},
    {"vpclmulqdq", 7, 0, kEcx, 10, kAvx},
    {"avx512vnni", 7, 0, kEcx, 11, kAvx512},
    {"avx512bitalg", 7, 0, kEcx, 12, kAvx512},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kAvx512},
    {"amx-bf16", 7, 0, kEdx, 22, kAmx},
    {"avx512fp16", 7, 0, kEdx, 23, kAvx512},
    {"amx-tile", 7, 0, kEdx, 24, kAmx},
    {"amx-int8", 7, 0, kEdx, 25, kAmx},
    {"avxvnni", 7, 1, kEax, 4, kAvx},
    {"avx512bf16", 7, 1, kEax, 5, kAvx512},
    {"sahf", 0x80000001, 0, kEcx, 0, kNone},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNone},
    {"sse4a", 0x80000001, 0, kEcx, 6, kNone},
    {"xop", 0x80000001, 0, kEcx, 11, kAvx},
    {"fma4", 0x80000001, 0, kEcx, 16, kAvx},
};

struct Registers {
  unsigned value[4] = {0, 0, 0, 0};
};

Registers Cpuid(uint32_t leaf, uint32_t subleaf) {
  Registers r;
  if (__get_cpuid_max(leaf & 0x80000000u, nullptr) < leaf) return r;
  __cpuid_count(leaf, subleaf, r.value[kEax], r.value[kEbx], r.value[kEcx], r.value[kEdx]);
  return r;
}

bool Bit(unsigned value, int bit) { return (value >> bit & 1) != 0; }

// The register sets that the operating system saves (XCR0); 0 where it saves none of them.
uint64_t SavedState() {
  if (!Bit(Cpuid(1, 0).value[kEcx], 27)) return 0;  // OSXSAVE
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool Saves(uint64_t saved, State state) {
  const uint64_t needed[] = {0, 0x6, 0xe6, 0x60000};
  return (saved & needed[state]) == needed[state];
}

bool HasAll(const std::vector<std::string>& sorted, std::initializer_list<const char*> names) {
  return std::all_of(names.begin(), names.end(), [&](const char* name) {
    return std::binary_search(sorted.begin(), sorted.end(), name);
  });
}

std::string Brand() {
  char text[49] = "";
  for (uint32_t i = 0; i < 3; ++i) {
    const Registers r = Cpuid(0x80000002 + i, 0);
    std::memcpy(text + 16 * i, r.value, 16);
  }
  std::string brand = text;
  brand.erase(0, std::min(brand.find_first_not_of(' '), brand.size()));
  brand.erase(brand.find_last_not_of(' ') + 1);
  return brand;
}

}  // namespace

bool Cpu::Has(const std::string& feature) const {
  return std::binary_search(features.begin(), features.end(), feature);
}

int LevelOf(const std::vector<std::string>& features) {
  // Source: x86-64 psABI, section 3.1.1, "Processor Architecture".
  if (!HasAll(features, {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"})) {
    return 1;
  }
  if (!HasAll(features, {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe"})) return 2;
  if (!HasAll(features, {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"})) return 3;
  return 4;
}

Cpu ReadCpu() {
  Cpu cpu;
  const Registers vendor = Cpuid(0, 0);
  for (const Register r : {kEbx, kEdx, kEcx}) {
    cpu.vendor.append(reinterpret_cast<const char*>(&vendor.value[r]), 4);
  }
  cpu.brand = Brand();
  const unsigned version = Cpuid(1, 0).value[kEax];
  const int base_family = version >> 8 & 15, base_model = version >> 4 & 15;
  cpu.family = base_family + (base_family == 15 ? version >> 20 & 255 : 0);
  cpu.model = base_model;
  if (base_family == 6 || base_family == 15) cpu.model += (version >> 16 & 15) << 4;
  cpu.stepping = version & 15;
  const uint64_t saved = SavedState();
  for (const FeatureBit& f : kFeatures) {
    if (Bit(Cpuid(f.leaf, f.subleaf).value[f.reg], f.bit) && Saves(saved, f.state)) {
      cpu.features.push_back(f.name);
    }
  }
  std::sort(cpu.features.begin(), cpu.features.end());
  cpu.level = LevelOf(cpu.features);
  return cpu;
}

Fingerprint HostFingerprint(const Cpu& cpu, int cores) {
  std::string features;
  for (const std::string& feature : cpu.features) {
    features += (features.empty() ? "" : " ") + feature;
  }
  Fingerprint fingerprint;
  fingerprint.fields = {
      {"device", "host"},
      {"vendor", cpu.vendor},
      {"brand", cpu.brand},
      {"family", std::to_string(cpu.family)},
      {"model", std::to_string(cpu.model)},
      {"stepping", std::to_string(cpu.stepping)},
      {"level", "x86-64-v" + std::to_string(cpu.level)},
      {"features", features},
      {"cores", std::to_string(cores)},
      {"pointer_bits", std::to_string(8 * sizeof(void*))},
  };
  return fingerprint;
}

}  // namespace hiera
