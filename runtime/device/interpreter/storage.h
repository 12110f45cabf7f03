// What the interpreters of formulas compute in, and what lies in memory.
#ifndef HIERA_RUNTIME_DEVICE_INTERPRETER_STORAGE_H_
#define HIERA_RUNTIME_DEVICE_INTERPRETER_STORAGE_H_

#include <cstdint>

namespace hiera::interpreter {

// What a lane holds. Reals have the task's accumulation type; booleans are 0 or 1.
enum class Lane : uint8_t { kF32, kF64, kInt, kBool };
inline constexpr int kLaneTypes = 4;
inline constexpr int64_t LaneBytes(Lane lane) {
  return lane == Lane::kF32 ? 4 : lane == Lane::kBool ? 1 : 8;
}

// What an element in memory is: the types of bound tensors, and integers of full width in buffers
// of the interpreter's own.
enum class Storage : uint8_t { kF64, kF32, kF16, kBF16, kI32, kBool, kI64 };
inline constexpr int kStorageTypes = 7;
inline constexpr int64_t StorageBytes(Storage s) {
  constexpr int64_t bytes[kStorageTypes] = {8, 4, 2, 2, 4, 1, 8};
  return bytes[static_cast<int>(s)];
}

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_INTERPRETER_STORAGE_H_
