#include "runtime/planner/jobs.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

#include "policies/policy.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/planner/machine_record.h"
#include "runtime/planner/search.h"

namespace hiera {
namespace {

constexpr size_t kMaxWaiting = 65'536;
constexpr double kDefaultSeconds = 30;
constexpr double kMaxSeconds = 3600;
constexpr std::chrono::seconds kEvaluatorIdle{5};

// The value of a "name=value" line; 0 where there is none.
int FieldOf(const std::string& fingerprint, std::string_view name) {
  const std::string line = "\n" + std::string(name) + "=";
  const size_t at = ("\n" + fingerprint).find(line);
  if (at == std::string::npos) return 0;
  const char* begin = fingerprint.data() + at + line.size() - 1;
  int value = 0;
  std::from_chars(begin, fingerprint.data() + fingerprint.size(), value);
  return value;
}

bool HasCompiler(const MachineFacts& machine) {
  return machine.IsGpu() ? machine.has_nvrtc : machine.has_gcc || machine.has_clang;
}

std::string_view WantedCompiler(const MachineFacts& machine) {
  return machine.IsGpu() ? "there is no NVRTC that knows this GPU (HIERA_NVRTC names one)"
                         : "no C++ compiler runs (g++ or clang++ in PATH, HIERA_GCC, HIERA_CLANG)";
}

bool IsOfUuid(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == 'G' || c == 'P' || c == 'U' ||
         c == '-';
}

}  // namespace

Jobs::Jobs(Catalogue& catalogue, std::string evaluator_program, std::string work_path)
    : catalogue_(catalogue),
      evaluator_program_(std::move(evaluator_program)),
      work_path_(std::move(work_path)),
      event_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {}

Jobs::~Jobs() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
  close(event_fd_);
}

Status Jobs::Add(const Hash128& key, Task task, const PlanRequest& request) {
  if (!std::all_of(request.device.begin(), request.device.end(), IsOfUuid)) {
    return InvalidArgument("\"" + request.device + "\" is no UUID of a device");
  }
  const std::lock_guard lock(mutex_);
  if (request.baseline_ns > 0) baseline_ns_[key] = request.baseline_ns;
  if (running_ == key) return {};
  for (const Job& job : waiting_) {
    if (job.key == key) return {};
  }
  if (waiting_.size() >= kMaxWaiting) {
    return Unavailable("the planner's queue is full: " + std::to_string(kMaxWaiting) + " tasks");
  }
  waiting_.push_back({key, std::move(task), request});
  cancel_ = false;
  changed_.notify_all();
  return {};
}

void Jobs::SetBaseline(const Hash128& key, double baseline_ns) {
  const std::lock_guard lock(mutex_);
  const bool known = running_ == key || std::any_of(waiting_.begin(), waiting_.end(),
                                                    [&](const Job& j) { return j.key == key; });
  if (known && baseline_ns > 0) baseline_ns_[key] = baseline_ns;
}

std::vector<Event> Jobs::Take() {
  uint64_t ignored;
  [[maybe_unused]] const ssize_t drained = read(event_fd_, &ignored, sizeof ignored);
  const std::lock_guard lock(mutex_);
  return std::exchange(events_, {});
}

size_t Jobs::count() {
  const std::lock_guard lock(mutex_);
  return waiting_.size() + (running_ ? 1 : 0);
}

std::string Jobs::Describe() {
  const std::lock_guard lock(mutex_);
  if (!running_) return "idle";
  return "planning " + running_->ToHex() + ": " + running_text_ + "; " +
         std::to_string(waiting_.size()) + " waiting";
}

void Jobs::Cancel() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  cancel_ = running_.has_value();
}

bool Jobs::cancelled() {
  const std::lock_guard lock(mutex_);
  return cancel_ || stop_;
}

double Jobs::BaselineNs(const Hash128& key) {
  const std::lock_guard lock(mutex_);
  const auto found = baseline_ns_.find(key);
  return found == baseline_ns_.end() ? 0 : found->second;
}

void Jobs::Emit(const Hash128& key, Message message) {
  {
    const std::lock_guard lock(mutex_);
    events_.push_back({key, std::move(message)});
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(event_fd_, &one, sizeof one);
}

void Jobs::Run() {
  for (;;) {
    std::optional<Job> job;
    {
      std::unique_lock lock(mutex_);
      const auto called = [&] { return stop_ || !waiting_.empty(); };
      if (!evaluators_.empty() && !changed_.wait_for(lock, kEvaluatorIdle, called)) {
        lock.unlock();
        evaluators_.clear();
        lock.lock();
      }
      changed_.wait(lock, called);
      if (stop_) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
      running_ = job->key;
      running_text_ = "starting";
    }
    Plan(*job);
    const std::lock_guard lock(mutex_);
    baseline_ns_.erase(job->key);
    running_.reset();
    cancel_ = false;
  }
}

void Jobs::Plan(Job& job) {
  EvaluatorLink& evaluator = EvaluatorFor(job.request);
  const Result<MachineFacts> machine = FactsFor(job.request, evaluator);
  if (!machine.ok()) {
    Settle(job, "not planned: " + machine.status().message(), false);
    return;
  }
  const std::string outcome = SearchFor(job, *machine, evaluator);
  if (cancelled()) {
    Settle(job, "planning was stopped", false);
  } else if (!HasCompiler(*machine)) {
    Settle(job, "not planned in full: " + std::string(WantedCompiler(*machine)) + "; " + outcome,
           false);
  } else {
    Settle(job, outcome, true);
  }
}

EvaluatorLink& Jobs::EvaluatorFor(const PlanRequest& request) {
  std::unique_ptr<EvaluatorLink>& evaluator = evaluators_[{request.fingerprint, request.device}];
  if (!evaluator) {
    // Two evaluators at once never share a folder.
    const std::string work_path =
        request.device.empty() ? work_path_ : work_path_ + "-" + request.device;
    evaluator = std::make_unique<EvaluatorLink>(
        EvaluatorStart{evaluator_program_, work_path,
                       std::max(1, FieldOf(request.fingerprint, "cores")), request.device});
  }
  return *evaluator;
}

Result<MachineFacts> Jobs::FactsFor(const PlanRequest& request, EvaluatorLink& evaluator) {
  const std::string& fingerprint = request.fingerprint;
  const std::string name = MachineRecordName(fingerprint);
  if (const auto known = catalogue_.store().GetKnowledge(name)) {
    // What had no compiler may have one now.
    Result<MachineFacts> facts = DecodeMachineRecord(*known);
    if (facts.ok() && HasCompiler(*facts)) return facts;
  }
  Result<MachineReport> report = evaluator.Machine();
  if (!report.ok()) return report.status();
  if (report->fingerprint != fingerprint) {
    return Unavailable("the evaluator sees another device than the application:\n" +
                       report->fingerprint + "instead of\n" + fingerprint);
  }
  const Status kept = catalogue_.store().PutKnowledge(name, EncodeMachineRecord(report->facts));
  if (!kept.ok()) Log(LogLevel::kWarning, "machine facts were not kept: " + kept.message());
  return report->facts;
}

std::string Jobs::SearchFor(Job& job, const MachineFacts& machine, EvaluatorLink& evaluator) {
  SearchInput input;
  input.key = job.key;
  input.canonical = job.request.canonical;
  input.task = std::move(job.task);
  input.machine = machine;
  input.baseline_name = job.request.baseline_name;
  input.graph = job.request.graph;
  input.caller_baseline = job.request.caller_baseline;
  input.seconds =
      job.request.seconds > 0 ? std::min(job.request.seconds, kMaxSeconds) : kDefaultSeconds;
  input.current = catalogue_.Best(job.key);
  if (input.current && !input.current->artifact.empty()) {
    input.current_artifact_path = catalogue_.store().ArtifactPath(input.current->artifact);
  }

  SearchHooks hooks;
  hooks.win = [&](const Variant& variant, const std::string& file) {
    const std::string path = catalogue_.Keep(variant, file);
    Emit(job.key, Announce{variant});
    return path;
  };
  hooks.journal = [&](std::string_view kind, const std::string& text) {
    const Status kept =
        catalogue_.store().AppendJournal(job.key, {UnixSeconds(), std::string(kind), text});
    if (!kept.ok()) Log(LogLevel::kWarning, "journal: " + kept.message());
  };
  hooks.progress = [&](uint32_t done, uint32_t total, const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      running_text_ = std::to_string(done) + " of " + std::to_string(total) + " candidates";
    }
    Emit(job.key, Progress{job.key, done, total, text});
  };
  hooks.quarantined = [&](const Hash128& identity) {
    return catalogue_.store().IsQuarantined(job.key, identity);
  };
  hooks.baseline_ns = [&] { return BaselineNs(job.key); };
  hooks.cancelled = [&] { return cancelled(); };
  return Search(input, PoliciesFor(machine), evaluator, hooks);
}

void Jobs::Settle(const Job& job, const std::string& outcome, bool settled) {
  if (auto record = catalogue_.store().GetTask(job.key)) {
    record->settled = settled;
    record->outcome = outcome;
    if (const double ns = BaselineNs(job.key); ns > 0) record->baseline_ns = ns;
    const Status kept = catalogue_.store().PutTask(*record);
    if (!kept.ok()) Log(LogLevel::kWarning, "a task's outcome was not kept: " + kept.message());
  }
  const Status kept =
      catalogue_.store().AppendJournal(job.key, {UnixSeconds(), "settled", outcome});
  if (!kept.ok()) Log(LogLevel::kWarning, "journal: " + kept.message());
  Emit(job.key, Settled{job.key, outcome});
}

}  // namespace hiera
