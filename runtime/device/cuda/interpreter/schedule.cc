#include "runtime/device/cuda/interpreter/schedule.h"

#include <algorithm>
#include <utility>

#include "runtime/task/limits.h"

namespace hiera::cuda {
namespace {

using interpreter::CarriedOutput;
using interpreter::Lowered;

int64_t Aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

Result<Schedule> Schedule::Make(const Task& task, const Target& target) {
  // Fewer results than four for each multiprocessor leave it idle even when blocks make them.
  interpreter::Splitting splitting;
  splitting.workers = 4 * target.multiprocessors;
  splitting.least_parts = 8;
  splitting.most_parts = 1024;
  Result<Lowered> lowered = interpreter::Lower(task, splitting);
  if (!lowered.ok()) return lowered.status();
  if (lowered->buffers.size() > kMostBuffers) {
    return Unsupported("the formula needs more than " + std::to_string(kMostBuffers) +
                       " buffers between its statements");
  }
  Schedule schedule;
  schedule.lowered_ = *std::move(lowered);
  schedule.is_f64_ = schedule.lowered_.real == interpreter::Lane::kF64;
  std::vector<interpreter::Unwritten> unwritten;
  for (const interpreter::Stage& stage : schedule.lowered_.stages) {
    interpreter::Unwritten& left = unwritten.emplace_back();
    if (stage.is_scan) continue;
    const Result<StageProgram> program = Compile(schedule.lowered_, stage.statement, target);
    if (!program.ok()) return program.status();
    left = program->unwritten;
  }
  schedule.steps_ = interpreter::MakeStepPlan(task, schedule.lowered_, unwritten);
  HIERA_RETURN_IF_ERROR(schedule.AddSets(target));
  schedule.own_offset_.assign(schedule.lowered_.buffers.size(), 0);
  for (size_t b = schedule.lowered_.bound_count; b < schedule.lowered_.buffers.size(); ++b) {
    schedule.own_offset_[b] = schedule.memory_bytes_;
    schedule.memory_bytes_ += Aligned(schedule.lowered_.buffers[b].bytes());
  }
  schedule.spares_offset_ = schedule.memory_bytes_;
  schedule.memory_bytes_ += schedule.steps_.spare_bytes;
  return schedule;
}

// Follows the layouts from step to step until a combination comes again.
Status Schedule::AddSets(const Target& target) {
  std::vector<std::vector<int64_t>> strides;
  const auto& carries = steps_.steps > 1 ? steps_.carries : std::vector<hiera::Carry>{};
  for (const hiera::Carry& carry : carries) {
    strides.push_back(lowered_.buffers[carry.state].strides);
  }
  for (;;) {
    const auto known = std::find_if(sets_.begin(), sets_.end(),
                                    [&](const Set& set) { return set.strides == strides; });
    if (!sets_.empty()) sets_.back().next = known - sets_.begin();
    if (known != sets_.end()) return {};
    HIERA_RETURN_IF_ERROR(AddSet(strides, target));
    std::vector<std::vector<int64_t>> after;
    for (const hiera::Carry& carry : carries) {
      after.push_back(lowered_.buffers[carry.source].strides);
      for (size_t c = 0; c < carries.size(); ++c) {
        if (carries[c].state == carry.source) after.back() = strides[c];
      }
    }
    strides = std::move(after);
  }
}

Status Schedule::AddSet(const std::vector<std::vector<int64_t>>& strides, const Target& target) {
  Set set;
  set.strides = strides;
  Lowered here = lowered_;
  for (size_t c = 0; c < strides.size(); ++c) {
    here.buffers[steps_.carries[c].state].strides = strides[c];
  }
  for (const interpreter::Stage& stage : here.stages) {
    if (stage.is_scan) {
      set.stages.push_back(StageLaunch::OfScan(here, stage.statement.output, stage.scan, target));
      continue;
    }
    const Result<StageProgram> program = Compile(here, stage.statement, target);
    if (!program.ok()) return program.status();
    Result<StageLaunch> launch = StageLaunch::Of(*program, target);
    if (!launch.ok()) return launch.status();
    set.stages.push_back(*std::move(launch));
  }
  for (const CarriedOutput& output : steps_.outputs) {
    const int from = output.in_place ? output.output : output.state;
    Result<StageLaunch> copy = StageLaunch::Of(CompileCopy(here, from, output.output), target);
    if (!copy.ok()) return copy.status();
    set.copies.push_back(*std::move(copy));
  }
  sets_.push_back(std::move(set));
  return {};
}

bool Schedule::Copy(const StageLaunch& copy, char* from, char* to, Queue& queue) noexcept {
  char* const bases[] = {from, to};
  return copy.is_empty() || queue.Put(copy, bases);
}

// A spare of the output that no state holds now.
char* Schedule::SpareFor(const CarriedOutput& output, char* spares,
                         const Places& places) const noexcept {
  for (int64_t i = 0; i < output.spares; ++i) {
    char* spare = spares + i * output.bytes;
    bool held = false;
    for (const hiera::Carry& carry : steps_.carries) held |= places.bases[carry.state] == spare;
    if (!held) return spare;
  }
  return spares;  // cannot be: there is one more than states
}

// Where the step writes its outputs. What it leaves unwritten has the value of the state that is
// being replaced.
bool Schedule::Prepare(const Set& set, bool last, int64_t step, void* const* pointers,
                       Places& places, Queue& queue) const noexcept {
  char* spares = places.spares;
  for (size_t o = 0; o < steps_.outputs.size(); ++o) {
    const CarriedOutput& output = steps_.outputs[o];
    if (last) {
      places.bases[output.output] = static_cast<char*>(pointers[output.output]);
    } else if (!output.in_place) {
      char* const spare = SpareFor(output, spares, places);
      places.bases[output.output] = spare;
      // What no step writes need be copied to each spare only once.
      if ((output.chooses || (output.keeps && step < output.spares)) &&
          !Copy(set.copies[o], places.bases[output.state], spare, queue)) {
        return false;
      }
    }
    spares += output.spares * output.bytes;
  }
  return true;
}

// After a step that is not the last: every state takes its source's value.
bool Schedule::Carry(const Set& set, Places& places, Queue& queue) const noexcept {
  std::array<char*, kMaxTensors> sources;
  for (size_t c = 0; c < steps_.carries.size(); ++c) {
    sources[c] = places.bases[steps_.carries[c].source];
  }
  char* spares = places.spares;
  for (size_t o = 0; o < steps_.outputs.size(); ++o) {
    const CarriedOutput& output = steps_.outputs[o];
    if (output.in_place) {
      char* const spare = SpareFor(output, spares, places);
      if (!Copy(set.copies[o], places.bases[output.output], spare, queue)) return false;
      for (size_t c = 0; c < steps_.carries.size(); ++c) {
        if (steps_.carries[c].source == output.output) sources[c] = spare;
      }
    }
    spares += output.spares * output.bytes;
  }
  for (size_t c = 0; c < steps_.carries.size(); ++c) {
    places.bases[steps_.carries[c].state] = sources[c];
  }
  return true;
}

bool Schedule::Run(void* const* pointers, char* memory, Queue& queue) const noexcept {
  Places places;
  for (size_t b = 0; b < lowered_.buffers.size(); ++b) {
    places.bases[b] = static_cast<int>(b) < lowered_.bound_count ? static_cast<char*>(pointers[b])
                                                                 : memory + own_offset_[b];
  }
  places.spares = memory + spares_offset_;
  size_t set = 0;
  for (int64_t step = 0; step < steps_.steps; ++step) {
    const bool last = step + 1 == steps_.steps;
    if (steps_.steps > 1 && !Prepare(sets_[set], last, step, pointers, places, queue)) return false;
    for (const StageLaunch& stage : sets_[set].stages) {
      if (!stage.is_empty() && !queue.Put(stage, places.bases.data())) return false;
    }
    if (!last && !Carry(sets_[set], places, queue)) return false;
    set = sets_[set].next;
  }
  return true;
}

}  // namespace hiera::cuda
