// Fingerprint: the device that a variant is valid on. A plain value made by a device.
#ifndef HIERA_RUNTIME_TASK_FINGERPRINT_H_
#define HIERA_RUNTIME_TASK_FINGERPRINT_H_

#include <string>
#include <utility>
#include <vector>

namespace hiera {

struct Fingerprint {
  // In a fixed order: device kind first ("device", "host"), then what the device names. Every field
  // counts: a change of any of them is another device.
  std::vector<std::pair<std::string, std::string>> fields;

  // One "name=value" line a field.
  std::string Text() const {
    std::string text;
    for (const auto& [name, value] : fields) text += name + "=" + value + "\n";
    return text;
  }

  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_FINGERPRINT_H_
