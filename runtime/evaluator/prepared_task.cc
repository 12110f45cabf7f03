#include "runtime/evaluator/prepared_task.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "runtime/base/hash.h"
#include "runtime/base/log.h"
#include "runtime/evaluator/sibling.h"
#include "runtime/task/cost.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

// What the reference takes for one operation of the formula on one core, roughly, and for one
// element; only used to choose how much of it to run.
constexpr double kReferenceNsPerFlop = 100;
constexpr double kReferenceNsPerElement = 500;
constexpr double kReferenceBytesPerElement = 256;  // where it keeps whole tensors
constexpr double kTrialBudgetNs = 0.04e9;
constexpr int64_t kFewestElements = 64;
constexpr int64_t kMostElements = 1 << 16;
// A trial whose expected values are mostly NaN or infinite shows too little.
constexpr double kFewestFinite = 0.1;

enum TrialNumber : uint32_t { kFirst, kSecond, kThird, kTimed, kLast, kTrialCount };

std::vector<Trial> PlanTrials(const Task& task) {
  const Inputs inputs = task.contract.inputs;
  const Distribution usual =
      inputs == Inputs::kPositive ? Distribution::kPositive : Distribution::kNormal;
  const bool any = inputs == Inputs::kAny;
  std::vector<Trial> trials(kTrialCount);
  const auto set = [&](TrialNumber i, Placement placement, Distribution distribution) {
    trials[i].placement = placement;
    trials[i].distribution = distribution;
  };
  set(kFirst, Placement::kLeft, usual);
  set(kSecond, Placement::kRight, any ? Distribution::kWide : usual);
  set(kThird, Placement::kShifted,
      task.contract.special_values ? Distribution::kSpecial
      : any                        ? Distribution::kUniform
                                   : usual);
  set(kTimed, Placement::kOrdinary, usual);
  set(kLast, Placement::kRight, any ? Distribution::kUniform : usual);
  const uint64_t base = HashBytes(CanonicalText(task)).low;
  for (uint32_t i = 0; i < kTrialCount; ++i) trials[i].seed = base + 1 + i;
  return trials;
}

bool IsComputedWhole(const Task& task) {
  return task.formula.steps > 1 || task.formula.statements.size() > 1;
}

}  // namespace

Result<std::unique_ptr<PreparedTask>> PreparedTask::Make(const std::string& canonical,
                                                         Device& device, int64_t memory_bytes) {
  std::unique_ptr<PreparedTask> prepared(new PreparedTask);
  auto task = ParseTask(canonical);
  if (!task.ok()) return task.status();
  prepared->canonical_ = canonical;
  prepared->task_ = *std::move(task);
  prepared->layout_ = LayOut(prepared->task_);
  prepared->trials_ = PlanTrials(prepared->task_);
  prepared->parallelism_ = device.parallelism();
  for (const uint32_t trials : {3u, 2u}) {
    if (prepared->memory_bytes() > memory_bytes) prepared->trial_count_ = trials;
  }
  if (prepared->memory_bytes() > memory_bytes) {
    return OutOfMemory("judging this task takes " + std::to_string(prepared->memory_bytes() >> 20) +
                       " MiB, and " + std::to_string(memory_bytes >> 20) + " MiB may be used");
  }

  HIERA_RETURN_IF_ERROR(prepared->ChooseReference(device, memory_bytes));
  auto outputs = SharedMemory::Create(prepared->layout_.bytes);
  if (!outputs.ok()) return outputs.status();
  prepared->outputs_ = *std::move(outputs);
  auto view = prepared->outputs_.Map(true);
  if (!view.ok()) return view.status();
  prepared->output_view_ = *std::move(view);
  auto interpreter = device.Interpret(prepared->task_);
  if (interpreter.ok()) {
    prepared->interpreter_ = *std::move(interpreter);
  } else {
    Log(LogLevel::kWarning, "no interpreter to compare with: " + interpreter.status().message());
  }
  return prepared;
}

Status PreparedTask::ChooseReference(Device& device, int64_t memory_bytes) {
  double elements = 1;
  for (const Statement& statement : task_.formula.statements) {
    elements +=
        static_cast<double>(task_.tensors[static_cast<size_t>(statement.output)].elements());
  }
  const double whole_ns =
      CostOf(task_).flops * kReferenceNsPerFlop + elements * kReferenceNsPerElement;
  const double budget_ns = kTrialBudgetNs * parallelism_;
  if (!IsComputedWhole(task_)) {
    max_elements_ = std::clamp(static_cast<int64_t>(budget_ns / (whole_ns / elements)),
                               kFewestElements, kMostElements);
    return {};
  }
  max_elements_ = kMostElements;
  if (whole_ns <= budget_ns) return {};
  if (const auto text = SiblingOf(task_, budget_ns / whole_ns)) {
    auto sibling = Make(*text, device, memory_bytes);
    if (!sibling.ok()) return sibling.status();
    Trial& trial = (*sibling)->trials_[kFirst];
    HIERA_RETURN_IF_ERROR((*sibling)->MakeTrial(trial));
    if (trial.expectation.vouched) {
      sibling_ = *std::move(sibling);
      return {};
    }
  }
  if (elements * kReferenceBytesPerElement > static_cast<double>(memory_bytes)) {
    return OutOfMemory(
        "this task must be computed as a whole, which is too much for the reference");
  }
  return {};
}

int64_t PreparedTask::memory_bytes() const {
  // Of a file or mapping of the whole layout only the slots that are written take memory.
  int64_t inputs = 0, outputs = 0;
  for (int i = 0; i < task_.bound_count; ++i) {
    const Role role = RoleOf(task_, i);
    const int64_t bytes = layout_.slots[static_cast<size_t>(i)].bytes;
    if (role != Role::kOutput) inputs += bytes;
    if (role == Role::kOutput || role == Role::kInPlace) outputs += bytes;
  }
  // Inputs and the plain result of each trial, the outputs, and the worker's private copy; a run
  // that is repeated is kept beside it, with all the file's pages.
  const int64_t repeated = task_.contract.deterministic ? 2 * layout_.bytes : 0;
  return trial_count_ * (inputs + outputs) + outputs + layout_.bytes + repeated;
}

PreparedTask::Course PreparedTask::CourseOf(bool full) const {
  if (trial_count_ < 3) return {{kTimed}, kTimed, kLast};
  if (!full || trial_count_ < kTrialCount) return {{kFirst}, kTimed, kLast};
  return {{kFirst, kSecond, kThird}, kTimed, kLast};
}

Status PreparedTask::DrawTrial(Trial& trial) {
  auto memory = SharedMemory::Create(layout_.bytes);
  if (!memory.ok()) return memory.status();
  trial.inputs = *std::move(memory);
  {
    auto writable = trial.inputs.Map(true);
    if (!writable.ok()) return writable.status();
    const std::vector<void*> pointers = PointersInto(layout_, trial.placement, writable->data());
    const std::vector<int64_t> gathered = GatherExtents(task_);
    Random random(trial.seed);
    trial.scalars = DrawScalars(task_, trial.distribution, random);
    for (int i = 0; i < task_.bound_count; ++i) {
      if (RoleOf(task_, i) == Role::kOutput) continue;
      DrawTensor(task_.tensors[i], trial.distribution, task_.contract.inputs, gathered[i], random,
                 pointers[i]);
    }
  }
  HIERA_RETURN_IF_ERROR(trial.inputs.Seal());
  auto view = trial.inputs.Map(false);
  if (!view.ok()) return view.status();
  trial.view = *std::move(view);
  return {};
}

Status PreparedTask::ExpectTrial(Trial& trial) {
  ExpectationOptions options;
  options.max_elements = max_elements_;
  options.seed = trial.seed;
  if (sibling_ != nullptr && interpreter_ != nullptr) {
    options.limits = &sibling_->trials_[kFirst].expectation.limits;
  }
  auto expectation = MakeExpectation(task_, layout_, trial.placement, trial.view.data(),
                                     trial.scalars, interpreter_.get(), options);
  if (!expectation.ok()) return expectation.status();
  trial.expectation = *std::move(expectation);
  return {};
}

Status PreparedTask::MakeTrial(Trial& trial) {
  // The sibling's limits hold for its distribution.
  if (sibling_ != nullptr && trial.distribution == Distribution::kWide) {
    trial.distribution = Distribution::kNormal;
  }
  // Inputs that show nothing, or that a plain implementation itself cannot do within the contract
  // (an overflow halfway), are drawn again from milder distributions.
  std::vector<Distribution> milder;
  if (trial.distribution == Distribution::kWide) milder.push_back(Distribution::kNormal);
  if (trial.distribution != Distribution::kPositive &&
      trial.distribution != Distribution::kSpecial) {
    milder.push_back(Distribution::kPositive);
  }
  for (size_t next = 0;; ++next) {
    HIERA_RETURN_IF_ERROR(DrawTrial(trial));
    HIERA_RETURN_IF_ERROR(ExpectTrial(trial));
    const bool useful = trial.distribution == Distribution::kSpecial ||
                        trial.expectation.finite_share >= kFewestFinite;
    const bool fair = trial.expectation.disagreement.empty();
    if ((useful && fair) || next == milder.size()) break;
    trial.distribution = milder[next];
  }
  if (!trial.expectation.disagreement.empty()) {
    Log(LogLevel::kWarning, std::string(DistributionName(trial.distribution)) +
                                " inputs: " + trial.expectation.disagreement +
                                "; unsampled elements are not compared");
  }
  trial.ready = true;
  return {};
}

Status PreparedTask::MakeReady(const Course& course) {
  std::vector<Trial*> missing;
  const auto want = [&](uint32_t i) {
    Trial* trial = &trials_[i];
    // A course may name a trial twice; two threads must not make it.
    const bool known = std::find(missing.begin(), missing.end(), trial) != missing.end();
    if (!trial->ready && !known) missing.push_back(trial);
  };
  for (const uint32_t i : course.before) want(i);
  want(course.timed);
  want(course.after);
  std::vector<Status> statuses(missing.size());
  // One at a time where the reference keeps whole tensors of its own.
  const size_t lanes = IsComputedWhole(task_) ? 1 : static_cast<size_t>(std::max(parallelism_, 1));
  std::vector<std::thread> threads;
  for (size_t lane = 0; lane < std::min(lanes, missing.size()); ++lane) {
    threads.emplace_back([&, lane] {
      for (size_t i = lane; i < missing.size(); i += lanes) statuses[i] = MakeTrial(*missing[i]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) HIERA_RETURN_IF_ERROR(status);

  for (const Trial* trial : missing) {
    plain_seconds_ = std::max(plain_seconds_, trial->expectation.plain_seconds);
  }
  return {};
}

}  // namespace hiera
