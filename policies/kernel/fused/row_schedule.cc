#include "policies/kernel/fused/row_schedule.h"

#include <algorithm>

namespace hiera {
namespace {

bool Contains(const std::vector<int>& list, int value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void AddOnce(std::vector<int>* list, int value) {
  if (!Contains(*list, value)) list->push_back(value);
}

class Scheduler {
 public:
  Scheduler(const RowProgram& program, size_t buffer_values, bool keep_loads)
      : program_(program),
        buffer_values_(buffer_values),
        worth_keeping_(program.values.size(), false) {
    // What the first pass reads anyway: the loads below its reductions.
    std::vector<bool> below(program.values.size(), false);
    for (size_t v = program.values.size(); v-- > 0;) {
      const RowValue& value = program.values[v];
      const bool first = value.op == Op::kReduce && value.level == 1;
      for (int operand : value.operands) below[operand] = below[operand] || below[v] || first;
      worth_keeping_[v] =
          value.costly || (keep_loads && value.op == Op::kLoad && value.in_row && below[v]);
    }
  }

  RowSchedule Schedule() {
    schedule_.passes.resize(program_.passes);
    for (size_t v = 0; v < program_.values.size(); ++v) {
      const RowValue& value = program_.values[v];
      if (value.op == Op::kReduce && value.level <= program_.passes) {
        schedule_.passes[value.level - 1].reductions.push_back(static_cast<int>(v));
      }
    }
    for (size_t o = 0; o < program_.outputs.size(); ++o) {
      const RowOutput& output = program_.outputs[o];
      if (!output.along_row) continue;
      schedule_.passes[program_.values[output.value].level].outputs.push_back(static_cast<int>(o));
    }
    // Later passes first: what they save is work of earlier ones.
    for (int p = program_.passes - 1; p >= 0; --p) {
      pass_ = p;
      visited_.assign(program_.values.size(), false);
      RowPass& pass = schedule_.passes[p];
      for (int v : pass.reductions) Visit(program_.values[v].operands[0]);
      for (int o : pass.outputs) Visit(program_.outputs[o].value);
      for (int v : std::vector<int>(pass.saved)) Visit(v);
      std::sort(pass.before.begin(), pass.before.end());
    }
    return schedule_;
  }

 private:
  void Visit(int v) {
    if (visited_[v]) return;
    visited_[v] = true;
    const RowValue& value = program_.values[v];
    RowPass& pass = schedule_.passes[pass_];
    if (!value.in_row) {
      if (value.op != Op::kConstant && value.op != Op::kScalar) AddOnce(&pass.before, v);
      return;
    }
    if (value.level < pass_ && worth_keeping_[v] && value.type == ValueType::kReal) {
      const bool buffered = Contains(schedule_.buffered, v);
      if (buffered || schedule_.buffered.size() < buffer_values_) {
        AddOnce(&schedule_.buffered, v);
        AddOnce(&schedule_.passes[value.level].saved, v);
        pass.loaded.push_back(v);
        return;
      }
    }
    for (int operand : value.operands) Visit(operand);
  }

  const RowProgram& program_;
  const size_t buffer_values_;
  std::vector<bool> worth_keeping_;  // per value, when a later pass needs it
  RowSchedule schedule_;
  int pass_ = 0;
  std::vector<bool> visited_;
};

}  // namespace

RowSchedule ScheduleRow(const RowProgram& program, size_t buffer_values, bool keep_loads) {
  return Scheduler(program, buffer_values, keep_loads).Schedule();
}

}  // namespace hiera
