#include "policies/framework/framework_policy.h"

#include <algorithm>

#include "policies/framework/loops.h"

namespace hiera {
namespace {

constexpr std::string_view kFamily = "loops";
constexpr int64_t kBlock = 64;  // elements: a few vector registers of either type

// One way of writing and compiling the loops.
struct Form {
  int64_t block = 0;
  bool reassociate = false;
  Candidate::Compiler compiler = Candidate::Compiler::kGcc;

  std::string Name() const {
    std::string name = compiler == Candidate::Compiler::kGcc ? "gcc" : "clang";
    if (block > 0) name += " block=" + std::to_string(block);
    if (reassociate) name += " reassociated";
    return name;
  }
};

bool HasNode(const Task& task, Op op) {
  return std::any_of(task.formula.nodes.begin(), task.formula.nodes.end(),
                     [op](const Node& node) { return node.op == op; });
}

bool MultipliesIntegers(const Task& task) {
  return std::any_of(task.formula.nodes.begin(), task.formula.nodes.end(), [](const Node& node) {
    return node.type == ValueType::kInt &&
           (node.op == Op::kMul || node.op == Op::kAdd || node.op == Op::kSub ||
            node.op == Op::kNeg || node.op == Op::kReduce || node.op == Op::kScan);
  });
}

// Whether the innermost loop of a reduction strides through what an output loop would read in
// order.
bool ReducesAcrossRows(const Task& task) {
  const Formula& formula = task.formula;
  for (const Statement& statement : formula.statements) {
    if (statement.indices.empty()) continue;
    const int inner = statement.indices.back();
    for (const Node& node : formula.nodes) {
      if (node.op != Op::kLoad) continue;
      for (const Node& reduce : formula.nodes) {
        if (reduce.op != Op::kReduce || reduce.bound.empty()) continue;
        int64_t along_inner = 0, along_bound = 0;
        for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
          const int64_t stride = task.tensors[node.target].strides[axis];
          for (const auto& [index, coefficient] : node.subscripts[axis].affine.terms) {
            if (index == inner) along_inner += coefficient * stride;
            if (index == reduce.bound.back()) along_bound += coefficient * stride;
          }
        }
        if (along_inner == 1 && along_bound > 1) return true;
      }
    }
  }
  return false;
}

std::string ReasonFor(const Form& form) {
  std::string reason = "plain loops";
  if (form.block > 0) {
    reason += ", " + std::to_string(form.block) + " outputs summed side by side";
  }
  if (form.reassociate) reason += ", sums reordered by the compiler";
  return reason;
}

Candidate MakeCandidate(const Task& task, const Form& form, GeneratedSource source,
                        const MachineFacts& machine) {
  Candidate candidate;
  candidate.space = Space::kFramework;
  candidate.family = kFamily;
  candidate.name = form.Name();
  candidate.reason = ReasonFor(form);
  candidate.source = std::move(source.text);
  candidate.compiler = form.compiler;
  candidate.flags = {"-fno-math-errno", "-fno-trapping-math"};
  if (form.reassociate) {
    candidate.flags.insert(candidate.flags.end(), {"-fassociative-math", "-fno-signed-zeros"});
  }
  if (MultipliesIntegers(task)) candidate.flags.push_back("-fwrapv");  // 64-bit arithmetic wraps
  candidate.flags.push_back("-lm");
  candidate.plan.workspace_bytes = source.workspace_bytes;
  candidate.plan.threads = source.parallel ? machine.threads : 1;
  return candidate;
}

class Loops final : public Policy {
 public:
  std::string_view name() const override { return "framework"; }
  Space space() const override { return Space::kFramework; }

  Proposal Propose(const Task& task, const Evidence& evidence,
                   const Budget& budget) const override {
    const bool reduces = HasNode(task, Op::kReduce);
    const bool reassociate = reduces && task.contract.arithmetic != Arithmetic::kExact;
    const bool across = ReducesAcrossRows(task);
    std::vector<Form> forms;
    for (const Candidate::Compiler compiler : CompilersOf(evidence.machine)) {
      const Form blocked{kBlock, false, compiler};
      if (across) forms.push_back(blocked);
      forms.push_back({0, reassociate, compiler});
      if (reduces && !across) forms.push_back(blocked);
    }
    if (forms.empty()) return {{}, "no C++ compiler on this machine"};
    return Write(task, evidence, budget, forms);
  }

  // Other block sizes beside the best block.
  Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const override {
    const Trial* best = BestTrial(evidence, kFamily);
    if (best == nullptr) return {{}, "no plain loop has run yet"};
    if (best->candidate.name.find("block=") == std::string::npos) {
      return {{}, "the best plain loop has no block to vary"};
    }
    std::vector<Form> forms;
    for (const int64_t block : {kBlock / 2, 2 * kBlock, 4 * kBlock, 16 * kBlock}) {
      forms.push_back({block, false, best->candidate.compiler});
    }
    return Write(task, evidence, budget, forms);
  }

 private:
  static std::vector<Candidate::Compiler> CompilersOf(const MachineFacts& machine) {
    std::vector<Candidate::Compiler> compilers;
    if (machine.has_gcc) compilers.push_back(Candidate::Compiler::kGcc);
    if (machine.has_clang) compilers.push_back(Candidate::Compiler::kClang);
    return compilers;
  }

  // Candidates for the forms that are new, in order; forms that come out alike are proposed once.
  static Proposal Write(const Task& task, const Evidence& evidence, const Budget& budget,
                        const std::vector<Form>& forms) {
    Proposal proposal;
    for (const Form& form : forms) {
      if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
      if (WasTried(evidence, kFamily, form.Name())) continue;
      Result<GeneratedSource> source = WriteLoops(task, {.block = form.block});
      if (!source.ok()) return {{}, source.status().message()};
      if (source->workspace_bytes > task.contract.workspace_bytes) {
        return {{},
                "needs " + std::to_string(source->workspace_bytes) +
                    " bytes of workspace for locals and steps, the contract admits " +
                    std::to_string(task.contract.workspace_bytes)};
      }
      Candidate candidate = MakeCandidate(task, form, *std::move(source), evidence.machine);
      const bool known = std::any_of(
          proposal.candidates.begin(), proposal.candidates.end(), [&](const Candidate& other) {
            return other.source == candidate.source && other.compiler == candidate.compiler &&
                   other.flags == candidate.flags;
          });
      if (!known) proposal.candidates.push_back(std::move(candidate));
    }
    if (proposal.candidates.empty()) proposal.refusal = "every form of plain loops was tried";
    return proposal;
  }
};

}  // namespace

const Policy& FrameworkPolicy() {
  static const Loops& policy = *new Loops;
  return policy;
}

}  // namespace hiera
