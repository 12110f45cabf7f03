// The judge's side of workers: starting them, asking them, and how long they may take.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/evaluator/contention.h"
#include "runtime/evaluator/judge.h"
#include "runtime/task/roofline.h"

namespace hiera {
namespace {

constexpr double kSetUpSeconds = 10;
constexpr double kLeastRunSeconds = 2;
constexpr double kTimesPlain = 20;  // a run slower than this many interpreters has hung

// A GPU worker's context takes tenths of a second, several where a driver starts up for it.
constexpr double kGpuSetUpSeconds = 30;
// Of a run. A hang costs the device's other users as much, and the duty many times as much.
constexpr double kLeastGpuRunSeconds = 1;
// Of a run between host and device, both ways and compared on the way back; far below what any link
// does.
constexpr double kGpuCopyBytesPerSecond = 5e8;

// A look at what others use of the processors, and how long one that found them idle is trusted.
constexpr int64_t kLookNs = 50'000'000;
constexpr int64_t kTrustNs = 1'000'000'000;
constexpr int64_t kSampledUs = 500'000;  // how far apart NVML's own samples may be

int64_t UnixUs() {
  using std::chrono::system_clock;
  const auto now = system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

uint64_t Secret() {
  std::random_device device;
  return static_cast<uint64_t>(device()) << 32 | device();
}

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// A verdict that another candidate's stray writes in the same context could have brought about.
bool MayBeAnothersDoing(Verdict verdict) {
  return verdict == Verdict::kWrong || verdict == Verdict::kMisbehaved ||
         verdict == Verdict::kCrashed;
}

}  // namespace

Finding Judge::OutOfTime() {
  return {Verdict::kTimedOut, "the search's time ran out before it was judged"};
}

Judge::MaybeFinding Judge::HearFairly(PreparedTask& prepared, const JudgeRequest& request,
                                      const BuildResult& build, JudgeReport& report) {
  last_seat_was_used_ = false;
  MaybeFinding finding = Hear(prepared, request, build, report);
  const bool in_used_worker = last_seat_was_used_;
  if (!finding || !MayBeAnothersDoing(finding->verdict)) {
    if (finding && finding->verdict == Verdict::kTimedOut) EndWorker();
    return finding;
  }
  EndWorker();
  if (!in_used_worker) return finding;
  finding = Hear(prepared, request, build, report);
  if (finding && MayBeAnothersDoing(finding->verdict)) EndWorker();
  return finding;
}

Judge::MaybeFinding Judge::StartWorker(Hearing& hearing) {
  const int64_t wanted = hearing.candidate.plan.workspace_bytes;
  const int64_t admitted = hearing.prepared.task().contract.workspace_bytes;
  if (wanted > admitted) {
    return Finding{Verdict::kUnloadable, "asks for " + std::to_string(wanted) +
                                             " bytes of workspace; the contract admits " +
                                             std::to_string(admitted)};
  }
  return OnGpu() ? TakeSeat(hearing) : StartOwnWorker(hearing);
}

WorkerSetup Judge::SetupOf(Hearing& hearing) const {
  WorkerSetup setup;
  setup.secret = Secret();
  setup.canonical = hearing.prepared.canonical();
  setup.threads = device_.parallelism();
  setup.device_memory_bytes = options_.device_memory_bytes;
  uint32_t position = 0;
  for (const Trial& trial : hearing.prepared.trials()) {
    hearing.positions.push_back(position);
    if (!trial.ready) continue;
    setup.trials.push_back({trial.placement, trial.scalars});
    ++position;
  }
  return setup;
}

Judge::MaybeFinding Judge::StartOwnWorker(Hearing& hearing) {
  WorkerSetup setup = SetupOf(hearing);
  setup.plan = hearing.candidate.plan;
  setup.artifact_path = hearing.build.path;
  setup.incumbent = hearing.request.incumbent;
  setup.readable = {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache"};
  if (!options_.artifacts_path.empty()) setup.readable.push_back(options_.artifacts_path);
  for (const std::string& path : {hearing.build.path, setup.incumbent.artifact_path}) {
    if (!path.empty()) setup.readable.push_back(FolderOf(path));
  }
  std::vector<std::string> environment;
  for (const std::string& variable : GetEnvironment().all) {
    if (variable.rfind("LD_", 0) != 0) environment.push_back(variable);
  }
  auto worker =
      WorkerProcess::Start(options_.worker_program, "--worker", environment, hearing.prepared);
  if (!worker.ok()) {
    return Finding{Verdict::kUnloadable,
                   "no worker could be started: " + worker.status().message()};
  }
  hearing.own = *std::move(worker);
  hearing.worker = &hearing.own;
  auto outcome = SetUp(*hearing.worker, setup, kSetUpSeconds + RunTimeout(hearing));
  if (!outcome.finding && !outcome.reply.message.empty()) {
    Log(LogLevel::kDebug, "the sandbox lacks: " + outcome.reply.message);
  }
  return outcome.finding;
}

Judge::MaybeFinding Judge::TakeSeat(Hearing& hearing) {
  const WorkerSetup setup = SetupOf(hearing);
  std::vector<bool> trials;
  for (const Trial& trial : hearing.prepared.trials()) trials.push_back(trial.ready);
  if (seat_ &&
      (seat_->worker.is_gone() || seat_->canonical != setup.canonical || seat_->trials != trials)) {
    EndWorker();
  }
  last_seat_was_used_ = seat_.has_value();
  const double seconds = kGpuSetUpSeconds + RunTimeout(hearing);
  if (!seat_) {
    // The libraries must be found where the application finds them: LD_LIBRARY_PATH stays.
    auto worker = WorkerProcess::Start(options_.worker_program, "--gpu-worker",
                                       GetEnvironment().all, hearing.prepared);
    if (!worker.ok()) {
      return Finding{Verdict::kUnloadable,
                     "no GPU worker could be started: " + worker.status().message()};
    }
    seat_.emplace(Seat{*std::move(worker), setup.canonical, trials, 0});
    auto ready = SetUp(seat_->worker, setup, seconds);
    if (ready.finding) {
      EndWorker();
      ready.finding->detail = "the GPU worker: " + ready.finding->detail;
      return ready.finding;
    }
    if (!ready.reply.message.empty() && !told_what_lacks_) {
      Log(LogLevel::kInfo, "measuring without: " + ready.reply.message);
      told_what_lacks_ = true;
    }
  }
  ++seat_->candidates;
  hearing.worker = &seat_->worker;
  WorkerRequest request;
  request.kind = WorkerRequest::Kind::kLoad;
  request.plan = hearing.candidate.plan;
  request.artifact_path = hearing.build.path;
  request.incumbent = hearing.request.incumbent;
  return Ask(hearing, request, seconds).finding;
}

void Judge::WaitForTurn() {
  const auto wait_ns = [this] { return duty_.WaitNs(MonotonicNs()); };
  if (MonotonicNs() < idle_until_ns_ || wait_ns() == 0) return;
  if (OnGpu() && monitor_ == nullptr) {
    // Without NVML the processors have to speak for the GPU.
    auto monitor = GpuMonitor::Open(std::string(device_.uuid()));
    if (monitor.ok()) monitor_ = *std::move(monitor);
  }
  ProcessorTimes before = ReadTimes(getpid());
  while (wait_ns() > 0 && SecondsLeft() > 0) {
    const int64_t since_us = UnixUs();
    usleep(kLookNs / 1000);
    builder_.Poll();
    const ProcessorTimes after = ReadTimes(getpid());
    const bool busy =
        monitor_ != nullptr
            ? monitor_->OthersAtWork(since_us - kSampledUs, seat_ ? seat_->worker.pid() : 0) > 0
            : OthersAreBusy(before, after);
    if (!busy) {
      idle_until_ns_ = MonotonicNs() + kTrustNs;
      return;
    }
    before = after;
  }
}

double Judge::RunTimeout(const Hearing& hearing) const {
  const double plain = hearing.prepared.plain_seconds();
  if (!OnGpu()) return kLeastRunSeconds + kTimesPlain * plain;
  return kLeastGpuRunSeconds + plain +
         static_cast<double>(hearing.prepared.layout().bytes) / kGpuCopyBytesPerSecond;
}

double Judge::SecondsLeft() const {
  return deadline_ns_ == 0 ? INFINITY : static_cast<double>(deadline_ns_ - MonotonicNs()) * 1e-9;
}

WorkerProcess::Outcome Judge::SetUp(WorkerProcess& worker, const WorkerSetup& setup,
                                    double seconds) const {
  const double left = SecondsLeft();
  if (left <= 0) return {OutOfTime(), {}};
  auto outcome = worker.SetUp(setup, std::min(seconds, left));
  if (left < seconds && outcome.finding && outcome.finding->verdict == Verdict::kTimedOut) {
    outcome.finding = OutOfTime();
  }
  return outcome;
}

WorkerProcess::Outcome Judge::Ask(Hearing& hearing, const WorkerRequest& request, double seconds) {
  const double left = SecondsLeft();
  if (left <= 0) return {OutOfTime(), {}};
  const int64_t begin_ns = MonotonicNs();
  const int64_t charged_ns = hearing.worker->ProcessorNs();
  auto outcome = hearing.worker->Ask(request, std::min(seconds, left));
  // A worker that is gone can't say; one thread of it was busy all the time, as far as is known. A
  // GPU is taken for busy as long as its worker is, unless it only loads code.
  const int64_t now_ns = hearing.worker->ProcessorNs();
  const double wall_ns = static_cast<double>(MonotonicNs() - begin_ns);
  const double used_ns = now_ns > 0 ? static_cast<double>(now_ns - charged_ns) : wall_ns;
  if (!OnGpu()) {
    duty_.Charge(used_ns / device_.parallelism());
  } else if (request.kind != WorkerRequest::Kind::kLoad) {
    duty_.Charge(wall_ns);
  }
  if (left < seconds && outcome.finding && outcome.finding->verdict == Verdict::kTimedOut) {
    outcome.finding = OutOfTime();
  }
  return outcome;
}

double Judge::BytesFloorNs(const Task& task) {
  MachineFacts bytes_only = Facts();
  bytes_only.flops_f32 = bytes_only.flops_f64 = 0;
  return RooflineFloorNs(task, bytes_only);
}

}  // namespace hiera
