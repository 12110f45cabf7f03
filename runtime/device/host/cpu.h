// Cpu: what the processor says of itself, and the host device's fingerprint made of it.
// Pure functions of the machine; any thread.
#ifndef HIERA_RUNTIME_DEVICE_HOST_CPU_H_
#define HIERA_RUNTIME_DEVICE_HOST_CPU_H_

#include <string>
#include <vector>

#include "runtime/task/fingerprint.h"

namespace hiera {

struct Cpu {
  std::string vendor;  // "AuthenticAMD"
  std::string brand;   // "AMD EPYC 7B13", without surrounding spaces
  int family = 0, model = 0, stepping = 0;
  // The micro-architecture level of the x86-64 psABI: 1 to 4.
  int level = 1;
  // Instruction set extensions that both processor and operating system offer, as compilers spell
  // them in -m options, sorted.
  std::vector<std::string> features;

  bool Has(const std::string& feature) const;
};

Cpu ReadCpu();

// The level that a sorted list of features makes: 1 to 4.
int LevelOf(const std::vector<std::string>& features);

// cores: the threads a run may use, because variants are measured with all of them.
Fingerprint HostFingerprint(const Cpu& cpu, int cores);

}  // namespace hiera

#endif  // HIERA_RUNTIME_DEVICE_HOST_CPU_H_
