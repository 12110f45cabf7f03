#include "runtime/device/cuda/interpreter/assembly.h"

#include <algorithm>
#include <utility>

namespace hiera::cuda {
namespace {

template <typename Visit>
void ForEachSlot(const Instruction& instruction, Visit visit) {
  for (const Field* field : {&instruction.out, &instruction.a, &instruction.b}) {
    if (field->slot >= 0) visit(field->slot);
  }
  for (const Field& field : instruction.words) {
    if (field.slot >= 0) visit(field.slot);
  }
}

// From the first to the last instruction that needs a slot's value kept.
struct Life {
  int first = -1, last = -1;
};

std::vector<Life> LivesOf(const std::vector<Instruction>& program, size_t slots) {
  std::vector<Life> lives(slots);
  struct OpenLoop {
    int begin;
    std::vector<int> touched;
  };
  std::vector<OpenLoop> loops;
  for (int i = 0; i < static_cast<int>(program.size()); ++i) {
    // A program from its point to its end is a loop too.
    if (program[i].code == Code::kLoop || program[i].code == Code::kPoint) loops.push_back({i, {}});
    ForEachSlot(program[i], [&](int slot) {
      if (lives[slot].first < 0) lives[slot].first = i;
      lives[slot].last = i;
      for (OpenLoop& loop : loops) loop.touched.push_back(slot);
    });
    if (program[i].code != Code::kNext && program[i].code != Code::kStop) continue;
    // What was there before the loop is needed in each of its turns; so is its index.
    for (const int slot : loops.back().touched) {
      if (lives[slot].first <= loops.back().begin) lives[slot].last = i;
    }
    loops.pop_back();
  }
  return lives;
}

bool HasOnlyShortLongs(const std::vector<Instruction>& program) {
  for (const Instruction& instruction : program) {
    for (const Field& field : instruction.words) {
      if (field.is_long && field.number != static_cast<int32_t>(field.number)) return false;
    }
  }
  return true;
}

// Writes the words of instructions, and the jumps of loops once their ends are known.
class Encoder {
 public:
  explicit Encoder(bool short_longs) : short_longs_(short_longs) {}

  // `real`: by virtual slot.
  void Put(const Instruction& instruction, const std::vector<int>& real) {
    if (instruction.code == Code::kPoint) point_at_ = static_cast<uint32_t>(code_.size());
    const auto value = [&](const Field& field) {
      const uint32_t slot = field.slot < 0 ? 0 : static_cast<uint32_t>(real[field.slot]);
      return static_cast<uint32_t>(field.number) + (slot << field.shift);
    };
    code_.push_back(static_cast<uint32_t>(instruction.code) | value(instruction.out) << 8 |
                    value(instruction.a) << 16 | value(instruction.b) << 24);
    for (const Field& field : instruction.words) {
      code_.push_back(value(field));
      if (field.is_long && !short_longs_) {
        code_.push_back(static_cast<uint32_t>(static_cast<uint64_t>(field.number) >> 32));
      }
    }
    if (instruction.code == Code::kLoop) {
      bodies_.push_back(code_.size());
    } else if (instruction.code == Code::kNext) {
      const auto jump = static_cast<uint32_t>(code_.size() - bodies_.back());
      code_.back() = code_[bodies_.back() - 1] = jump;
      bodies_.pop_back();
    }
  }
  std::vector<uint32_t> Take() { return std::move(code_); }
  uint32_t point_at() const { return point_at_; }

 private:
  const bool short_longs_;
  std::vector<uint32_t> code_;
  uint32_t point_at_ = 0;
  std::vector<size_t> bodies_;  // where those of the open loops begin
};

// Hands out the lowest free number at each first use.
class Numbers {
 public:
  int Take() {
    const auto free = std::find(busy_.begin(), busy_.end(), false);
    const auto number = static_cast<int>(free - busy_.begin());
    if (free == busy_.end()) busy_.push_back(true);
    busy_[number] = true;
    return number;
  }
  void GiveBack(int number) { busy_[number] = false; }
  uint32_t most() const { return static_cast<uint32_t>(busy_.size()); }

 private:
  std::vector<bool> busy_;
};

}  // namespace

void Instruction::WordWithSlot(uint32_t word, int slot, int shift) {
  if (slot < 0) return Word(word);
  words.push_back({word + (1u << shift), slot, shift});
}

void Instruction::TwoWords(uint64_t value) {
  Word(static_cast<uint32_t>(value));
  Word(static_cast<uint32_t>(value >> 32));
}

std::vector<Instruction> Assembly::Loop(int index, bool by_team, int64_t extent,
                                        std::vector<Instruction> body) {
  Instruction loop, next;
  loop.code = Code::kLoop;
  next.code = Code::kNext;
  for (Instruction* edge : {&loop, &next}) {
    edge->out = Field::Slot(index);
    edge->a = Field::Of(by_team ? kByTeam : 0);
    edge->Long(extent);
    edge->Word(0);  // the jump
  }
  body.insert(body.begin(), std::move(loop));
  body.push_back(std::move(next));
  return body;
}

std::optional<Encoded> Assembly::Encode(const std::vector<Instruction>& program) const {
  const std::vector<Life> lives = LivesOf(program, wide_.size());
  std::vector<std::vector<int>> ending(program.size());
  for (size_t slot = 0; slot < lives.size(); ++slot) {
    if (lives[slot].last >= 0) ending[lives[slot].last].push_back(static_cast<int>(slot));
  }
  Numbers wide, narrow;
  std::vector<int> real(wide_.size(), -1);
  Encoded encoded;
  encoded.short_longs = HasOnlyShortLongs(program);
  Encoder encoder(encoded.short_longs);
  for (size_t i = 0; i < program.size(); ++i) {
    // A result never takes the place of an operand of the same instruction: some read their
    // operands after they have begun to write.
    ForEachSlot(program[i], [&](int slot) {
      if (real[slot] < 0) real[slot] = wide_[slot] ? wide.Take() : narrow.Take();
    });
    if (wide.most() > kMostSlots || narrow.most() > kMostSlots) return std::nullopt;
    encoder.Put(program[i], real);
    for (const int slot : ending[i]) (wide_[slot] ? wide : narrow).GiveBack(real[slot]);
  }
  encoded.point_at = encoder.point_at();
  encoded.code = encoder.Take();
  encoded.wide_slots = wide.most();
  encoded.narrow_slots = narrow.most();
  return encoded;
}

}  // namespace hiera::cuda
