#include "policies/kernel/fused_policy.h"

#include <algorithm>

#include "policies/kernel/fused/row_program.h"
#include "policies/kernel/fused/row_writer.h"

namespace hiera {
namespace {

constexpr int64_t kWorthCutting = 32768;  // elements of a row that are worth several threads

// One way of writing and compiling a row program.
struct Form {
  RowOptions options;
  Candidate::Compiler compiler = Candidate::Compiler::kGcc;

  std::string Name() const {
    std::string name = compiler == Candidate::Compiler::kGcc ? "gcc" : "clang";
    name += " vector=" + std::to_string(options.vector_bytes);
    name += " unroll=" + std::to_string(options.unroll);
    if (options.split_rows) name += " split";
    return name;
  }
};

std::string_view FamilyOf(const RowProgram& program) {
  return program.reduces() ? "rowwise" : "pointwise";
}

// What exact arithmetic forbids of what rows do: other orders of sums, functions other than libm's.
std::string ExactRefusal(const RowProgram& program) {
  for (const RowValue& value : program.values) {
    if (value.op == Op::kReduce &&
        (value.reduce == Reduction::kSum || value.reduce == Reduction::kMean ||
         value.reduce == Reduction::kProd)) {
      return "exact arithmetic: sums in vectors change the order";
    }
    const bool exponential = value.op >= Op::kExp && value.op <= Op::kSilu;
    const bool rounded_alike =
        value.op == Op::kSqrt || value.op == Op::kRsqrt || value.op == Op::kRelu;
    if (exponential && !rounded_alike)
      return "exact arithmetic: vector functions round otherwise than libm";
  }
  return "";
}

// Whether two reads that are reduced together each lack an outer axis that the other has: every
// row of the one meets every row of the other, which tiles serve and rows do not.
bool IsMatrixProduct(const RowProgram& program) {
  const auto has = [&](const RowValue& load, size_t axis) {
    return load.coefficients[axis] != 0 && program.axes[axis].extent > 1;
  };
  std::vector<const RowValue*> reduced;  // reads along the row, below a reduction
  std::vector<bool> below(program.values.size(), false);
  for (size_t v = program.values.size(); v-- > 0;) {
    const RowValue& value = program.values[v];
    if (value.op == Op::kLoad && value.in_row && below[v]) reduced.push_back(&value);
    for (int operand : value.operands) {
      if (below[v] || value.op == Op::kReduce) below[operand] = true;
    }
  }
  for (const RowValue* a : reduced) {
    for (const RowValue* b : reduced) {
      bool a_alone = false, b_alone = false;  // an axis that only the one has
      for (size_t axis = 0; axis < program.axes.size(); ++axis) {
        if (program.axes[axis].row) continue;
        a_alone = a_alone || (has(*a, axis) && !has(*b, axis));
        b_alone = b_alone || (has(*b, axis) && !has(*a, axis));
      }
      if (a_alone && b_alone) return true;
    }
  }
  return false;
}

// The stride along the row of most reads of the row, where that is none that vectors load: walking
// columns costs a cache line an element, which plain loops over blocks of columns avoid.
int64_t StrideOfRows(const RowProgram& program) {
  int strided = 0, ordered = 0;
  int64_t stride = 1;
  for (const RowValue& value : program.values) {
    if (value.op != Op::kLoad || !value.in_row) continue;
    if (value.coefficients.back() == 0 || value.coefficients.back() == 1) {
      ++ordered;
    } else {
      ++strided;
      stride = value.coefficients.back();
    }
  }
  return strided > ordered ? stride : 1;
}

Candidate MakeCandidate(const RowProgram& program, const Form& form, GeneratedSource source,
                        const MachineFacts& machine) {
  Candidate candidate;
  candidate.space = Space::kKernel;
  candidate.family = FamilyOf(program);
  candidate.name = form.Name();
  candidate.reason = std::to_string(program.passes) + (program.passes == 1 ? " pass" : " passes") +
                     " over " + std::to_string(program.OuterCount()) + " rows of " +
                     std::to_string(program.RowCount()) + ", statements fused";
  candidate.source = std::move(source.text);
  candidate.compiler = form.compiler;
  candidate.flags = {"-fno-math-errno", "-fno-trapping-math", "-lm"};
  if (form.compiler == Candidate::Compiler::kGcc) candidate.flags.push_back("-Wno-psabi");
  candidate.plan.workspace_bytes = source.workspace_bytes;
  candidate.plan.threads = source.parallel ? machine.threads : 1;
  return candidate;
}

bool Tried(const Evidence& evidence, std::string_view family, const std::string& name) {
  return std::any_of(evidence.trials.begin(), evidence.trials.end(), [&](const Trial& trial) {
    return trial.candidate.family == family && trial.candidate.name == name;
  });
}

Proposal Write(const Task& task, const RowProgram& program, const Evidence& evidence,
               const Budget& budget, const std::vector<Form>& forms) {
  Proposal proposal;
  for (const Form& form : forms) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    if (Tried(evidence, FamilyOf(program), form.Name())) continue;
    GeneratedSource source = WriteRows(task, program, form.options);
    if (source.workspace_bytes > task.contract.workspace_bytes) continue;
    Candidate candidate = MakeCandidate(program, form, std::move(source), evidence.machine);
    const bool known = std::any_of(
        proposal.candidates.begin(), proposal.candidates.end(), [&](const Candidate& other) {
          return other.source == candidate.source && other.compiler == candidate.compiler;
        });
    if (!known) proposal.candidates.push_back(std::move(candidate));
  }
  if (proposal.candidates.empty()) {
    proposal.refusal = "every form of fused rows was tried, or needs more workspace than admitted";
  }
  return proposal;
}

Result<RowProgram> ProgramFor(const Task& task) {
  Result<RowProgram> program = MakeRowProgram(task);
  if (!program.ok()) return program;
  if (task.contract.arithmetic == Arithmetic::kExact) {
    const std::string refusal = ExactRefusal(*program);
    if (!refusal.empty()) return Unsupported(refusal);
  }
  if (IsMatrixProduct(*program)) return Unsupported("a matrix product, not rows");
  const int64_t stride = StrideOfRows(*program);
  if (stride != 1) {
    return Unsupported("the elements of a row lie " + std::to_string(stride) + " apart in memory");
  }
  return program;
}

}  // namespace

Proposal FusedPolicy::Propose(const Task& task, const Evidence& evidence,
                              const Budget& budget) const {
  const Result<RowProgram> program = ProgramFor(task);
  if (!program.ok()) return {{}, program.status().message()};
  RowOptions options;
  options.vector_bytes = evidence.machine.vector_bytes;
  options.split_rows =
      program->OuterCount() < 2 * evidence.machine.threads && program->RowCount() >= kWorthCutting;
  std::vector<Form> forms;
  for (const int unroll : {4, 2}) {
    options.unroll = unroll;
    if (evidence.machine.has_gcc) forms.push_back({options, Candidate::Compiler::kGcc});
    if (evidence.machine.has_clang) forms.push_back({options, Candidate::Compiler::kClang});
  }
  if (forms.empty()) return {{}, "no C++ compiler on this machine"};
  return Write(task, *program, evidence, budget, forms);
}

// Other depths of unrolling and the other way of sharing rows out, beside the best so far.
Proposal FusedPolicy::Refine(const Task& task, const Evidence& evidence,
                             const Budget& budget) const {
  const Result<RowProgram> program = ProgramFor(task);
  if (!program.ok()) return {{}, program.status().message()};
  const Trial* best = nullptr;
  for (const Trial& trial : evidence.trials) {
    if (trial.candidate.family != FamilyOf(*program) || !IsCorrect(trial.verdict)) continue;
    if (best == nullptr || trial.time_ns < best->time_ns) best = &trial;
  }
  if (best == nullptr) return {{}, "no fused rows have run yet"};
  const bool split = best->candidate.name.find(" split") != std::string::npos;
  std::vector<Form> forms;
  for (const int unroll : {8, 1}) {
    RowOptions options;
    options.vector_bytes = evidence.machine.vector_bytes;
    options.unroll = unroll;
    options.split_rows = split;
    forms.push_back({options, best->candidate.compiler});
  }
  if (program->RowCount() >= kWorthCutting) {
    RowOptions options;
    options.vector_bytes = evidence.machine.vector_bytes;
    options.split_rows = !split;
    forms.push_back({options, best->candidate.compiler});
  }
  return Write(task, *program, evidence, budget, forms);
}

}  // namespace hiera
