// Assembly: a program while it is made: instructions on virtual slots, in order, and their encoding
// on as few real slots as they need. Plain values.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_ASSEMBLY_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_ASSEMBLY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/device/cuda/interpreter/program.h"

namespace hiera::cuda {

// A word or a byte of an instruction: a number, or the real slot of virtual slot `value`, shifted
// and added to `number`.
struct Field {
  int64_t number = 0;
  int slot = -1;  // virtual
  int shift = 0;
  bool is_long = false;

  static Field Of(uint32_t number) { return {number}; }
  static Field Slot(int slot) { return {0, slot}; }
};

struct Instruction {
  Code code = Code::kStop;
  Field out, a, b;
  std::vector<Field> words;

  void Word(uint32_t word) { words.push_back(Field::Of(word)); }
  void Slot(int slot) { words.push_back(Field::Slot(slot)); }
  // A number in front of which slot + 1 is packed, `shift` bits up; slot -1: 0.
  void WordWithSlot(uint32_t word, int slot, int shift);
  void Long(int64_t value) { words.push_back({value, -1, 0, true}); }
  void TwoWords(uint64_t value);
};

// What an encoded program needs.
struct Encoded {
  std::vector<uint32_t> code;
  uint32_t wide_slots = 0, narrow_slots = 0;
  bool short_longs = false;
  uint32_t point_at = 0;
};

class Assembly {
 public:
  int NewSlot(bool wide) {
    wide_.push_back(wide);
    return static_cast<int>(wide_.size()) - 1;
  }

  // The body of a loop between its first and last instruction; their jumps are found by Encode.
  static std::vector<Instruction> Loop(int index, bool by_team, int64_t extent,
                                       std::vector<Instruction> body);

  // Nothing where more than kMostSlots of a kind are live at once.
  std::optional<Encoded> Encode(const std::vector<Instruction>& program) const;

 private:
  std::vector<bool> wide_;  // by virtual slot
};

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_ASSEMBLY_H_
