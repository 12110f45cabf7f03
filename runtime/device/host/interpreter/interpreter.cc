#include "runtime/device/host/interpreter/interpreter.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include "runtime/device/host/interpreter/compile.h"
#include "runtime/device/host/interpreter/run_stage.h"
#include "runtime/device/host/interpreter/steps.h"
#include "runtime/device/interpreter/lower.h"
#include "runtime/device/interpreter/step_plan.h"

namespace hiera {
namespace interpreter {
namespace {

int64_t Aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// What one run needs beside its arguments: views, buffers of the interpreter's own, spare buffers
// of steps, and each thread's scratch.
struct Memory {
  std::vector<View> views;
  char* block = nullptr;

  ~Memory() { std::free(block); }
};

class Interpreter final : public Executable {
 public:
  Interpreter(Lowered lowered, std::vector<Program> programs, StepPlan steps,
              const ThreadPool& pool);
  ~Interpreter() override;

  // The first run, and each that finds others in flight than ever before, may allocate.
  hiera_status Run(const Call& call) const noexcept override;
  Memory* NewMemory() const noexcept;
  void GiveBack(Memory* memory) const noexcept;

 private:
  Memory* Take() const noexcept;
  void RunStages(const Call& call, Memory& memory) const;
  void RunSteps(const Call& call, Memory& memory) const;
  char* SpareFor(const CarriedOutput& output, Memory& memory, char* spares) const;
  void Prepare(const CarriedOutput& output, Memory& memory, char* spares, int64_t step) const;

  const Lowered lowered_;
  const std::vector<Program> programs_;  // by stage; empty ones for scans
  const StepPlan steps_;
  const ThreadPool& pool_;
  std::vector<int64_t> own_offset_;  // of each buffer in Memory::block; bound ones unused
  int64_t spares_offset_ = 0, scratch_offset_ = 0, scratch_stride_ = 0, block_bytes_ = 0;
  mutable std::array<std::atomic<Memory*>, 8> idle_{};
};

Interpreter::Interpreter(Lowered lowered, std::vector<Program> programs, StepPlan steps,
                         const ThreadPool& pool)
    : lowered_(std::move(lowered)),
      programs_(std::move(programs)),
      steps_(std::move(steps)),
      pool_(pool),
      own_offset_(lowered_.buffers.size(), 0) {
  for (size_t b = lowered_.bound_count; b < lowered_.buffers.size(); ++b) {
    own_offset_[b] = block_bytes_;
    block_bytes_ += Aligned(lowered_.buffers[b].bytes());
  }
  spares_offset_ = block_bytes_;
  scratch_offset_ = spares_offset_ + steps_.spare_bytes;
  for (const Program& p : programs_) {
    const int64_t bytes =
        ThreadScratchBytes(p, static_cast<int64_t>(lowered_.formula.indices.size()));
    scratch_stride_ = std::max(scratch_stride_, bytes);
  }
  block_bytes_ = scratch_offset_ + scratch_stride_ * pool_.threads();
}

Interpreter::~Interpreter() {
  for (auto& memory : idle_) delete memory.load(std::memory_order_acquire);
}

Memory* Interpreter::NewMemory() const noexcept {
  try {
    auto memory = std::make_unique<Memory>();
    memory->views.resize(lowered_.buffers.size());
    memory->block = static_cast<char*>(std::aligned_alloc(64, std::max<int64_t>(block_bytes_, 64)));
    if (memory->block == nullptr) return nullptr;
    return memory.release();
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

Memory* Interpreter::Take() const noexcept {
  for (auto& place : idle_) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    Memory* memory = place.exchange(nullptr, std::memory_order_acquire);
    if (memory != nullptr) return memory;
  }
  return NewMemory();
}

void Interpreter::GiveBack(Memory* memory) const noexcept {
  for (auto& place : idle_) {
    Memory* none = nullptr;
    if (place.compare_exchange_strong(none, memory, std::memory_order_release,
                                      std::memory_order_relaxed)) {
      return;
    }
  }
  delete memory;
}

hiera_status Interpreter::Run(const Call& call) const noexcept {
  Memory* memory = Take();
  if (memory == nullptr) return HIERA_OUT_OF_MEMORY;
  for (size_t b = 0; b < lowered_.buffers.size(); ++b) {
    const Buffer& buffer = lowered_.buffers[b];
    char* base = static_cast<int>(b) < lowered_.bound_count ? static_cast<char*>(call.pointers[b])
                                                            : memory->block + own_offset_[b];
    memory->views[b] = {base, buffer.strides.data(), buffer.extents.data()};
  }
  if (steps_.steps == 1) {
    RunStages(call, *memory);
  } else {
    RunSteps(call, *memory);
  }
  GiveBack(memory);
  return HIERA_OK;
}

void Interpreter::RunStages(const Call& call, Memory& memory) const {
  const StageCall stage_call{memory.views.data(),
                             call.scalars,
                             static_cast<int64_t>(lowered_.formula.indices.size()),
                             memory.block + scratch_offset_,
                             scratch_stride_,
                             &pool_};
  for (size_t s = 0; s < lowered_.stages.size(); ++s) {
    const Stage& stage = lowered_.stages[s];
    if (stage.is_scan) {
      const int b = stage.statement.output;
      RunScan(lowered_.buffers[b], memory.views[b], stage.scan, pool_);
    } else {
      RunProgram(programs_[s], stage_call);
    }
  }
}

// A spare of the output that no state holds now.
char* Interpreter::SpareFor(const CarriedOutput& output, Memory& memory, char* spares) const {
  for (int64_t i = 0; i < output.spares; ++i) {
    char* spare = spares + i * output.bytes;
    bool held = false;
    for (const Carry& carry : steps_.carries) held |= memory.views[carry.state].base == spare;
    if (!held) return spare;
  }
  return spares;  // cannot be: there is one more than states
}

// Before a step that is not the last: points the output at a spare, and gives the elements that
// stay unwritten the value of the state that is being replaced.
void Interpreter::Prepare(const CarriedOutput& output, Memory& memory, char* spares,
                          int64_t step) const {
  if (output.in_place) return;
  View& view = memory.views[output.output];
  view.base = SpareFor(output, memory, spares);
  // What no step writes need be copied to each spare only once.
  if (output.chooses || (output.keeps && step < output.spares)) {
    CopyTensor(memory.views[output.state], view, lowered_.buffers[output.output]);
  }
}

void Interpreter::RunSteps(const Call& call, Memory& memory) const {
  for (int64_t step = 0; step < steps_.steps; ++step) {
    const bool last = step + 1 == steps_.steps;
    char* spares = memory.block + spares_offset_;
    for (const CarriedOutput& output : steps_.outputs) {
      if (last) {
        memory.views[output.output].base = static_cast<char*>(call.pointers[output.output]);
      } else {
        Prepare(output, memory, spares, step);
      }
      spares += output.spares * output.bytes;
    }
    RunStages(call, memory);
    if (last) break;
    spares = memory.block + spares_offset_;
    std::array<View, 64> sources;
    for (const CarriedOutput& output : steps_.outputs) {
      if (output.in_place) {
        View copy = memory.views[output.output];
        copy.base = SpareFor(output, memory, spares);
        CopyTensor(memory.views[output.output], copy, lowered_.buffers[output.output]);
        for (size_t c = 0; c < steps_.carries.size(); ++c) {
          if (steps_.carries[c].source == output.output) sources[c] = copy;
        }
      }
      spares += output.spares * output.bytes;
    }
    for (size_t c = 0; c < steps_.carries.size(); ++c) {
      bool copied = false;
      for (const CarriedOutput& output : steps_.outputs) {
        copied |= output.in_place && output.output == steps_.carries[c].source;
      }
      if (!copied) sources[c] = memory.views[steps_.carries[c].source];
    }
    for (size_t c = 0; c < steps_.carries.size(); ++c) {
      memory.views[steps_.carries[c].state] = sources[c];
    }
  }
}

}  // namespace
}  // namespace interpreter

Result<std::unique_ptr<Executable>> MakeInterpreter(const Task& task, const ThreadPool& pool) {
  try {
    auto lowered = interpreter::Lower(task, {pool.threads(), pool.threads()});
    if (!lowered.ok()) return lowered.status();
    std::vector<interpreter::Program> programs;
    std::vector<interpreter::Unwritten> unwritten;
    for (const interpreter::Stage& stage : lowered->stages) {
      programs.push_back(stage.is_scan ? interpreter::Program{}
                                       : interpreter::Compile(*lowered, stage.statement));
      const bool chooses = programs.back().root_mask != interpreter::kNoSlot;
      unwritten.push_back({chooses || !programs.back().clips.empty(), chooses});
    }
    interpreter::StepPlan steps = interpreter::MakeStepPlan(task, *lowered, unwritten);
    auto made = std::make_unique<interpreter::Interpreter>(*std::move(lowered), std::move(programs),
                                                           std::move(steps), pool);
    interpreter::Memory* memory = made->NewMemory();
    if (memory == nullptr) return OutOfMemory("interpreter: buffers of its own do not fit");
    made->GiveBack(memory);
    return std::unique_ptr<Executable>(std::move(made));
  } catch (const std::bad_alloc&) {
    return OutOfMemory("interpreter: no memory to compile the formula");
  }
}

}  // namespace hiera
