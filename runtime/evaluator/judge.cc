#include "runtime/evaluator/judge.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/evaluator/contention.h"
#include "runtime/evaluator/digest.h"
#include "runtime/evaluator/gpu_machine.h"
#include "runtime/evaluator/machine.h"
#include "runtime/task/roofline.h"

namespace hiera {
namespace {

constexpr int64_t kMostMemory = int64_t{8} << 30;
// A candidate whose faster run of the first trial takes longer than so many times the incumbent,
// and so much more, has no chance. The first is for caches that the incumbent's runs find warm, the
// second for pages touched for the first time and threads that were asleep.
constexpr double kHopeless = 8;
constexpr double kColdNs = 10e6;
// A noisy ratio whose interval ends below this is not measured again.
constexpr double kSurelySlower = 0.5;

// While a key is young its builds may take about a quarter of a busy processor, then a twentieth:
// the weights of these priorities beside an ordinary process, in the kernel's table, are 335 and 56
// to 1024.
constexpr int kYoungNice = 5;
constexpr int kOldNice = 13;

constexpr double kNoisySpread = 0.15;  // of the incumbent's samples: a provisional result
constexpr double kSuspicious = 0.9;    // of the floor
// Stores that bypass the caches save a third of the traffic of the copy that the floor rests on.
constexpr double kImpossible = 0.6;   // of the floor by bytes
constexpr double kFewestFlops = 0.2;  // algorithms that save operations save no more than this

void DescribeMeasurement(JudgeReport& report, size_t pairs, bool has_incumbent) {
  char text[160];
  std::snprintf(text, sizeof text, "%s beside %s: ratio %.3f, at least %.3f, %zu pairs%s",
                Nanoseconds(report.time_ns).c_str(),
                has_incumbent ? Nanoseconds(report.baseline_ns).c_str() : "nothing", report.ratio,
                report.ratio_low, pairs, report.provisional ? ", noisy" : "");
  report.detail = text;
}

}  // namespace

std::string Nanoseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, ns < 1e6 ? "%.0f ns" : "%.4g ms", ns < 1e6 ? ns : ns * 1e-6);
  return text;
}

Judge::Judge(Device& device, Device& host, JudgeOptions options, Builder builder)
    : device_(device), host_(host), options_(std::move(options)), builder_(std::move(builder)) {}

Result<std::unique_ptr<Judge>> Judge::Make(Device& device, Device& host,
                                           const JudgeOptions& options) {
  auto builder = Builder::Make(options.work_path, GetEnvironment());
  if (!builder.ok()) return builder.status();
  return std::unique_ptr<Judge>(new Judge(device, host, options, *std::move(builder)));
}

MachineReport Judge::MeasureDevice() {
  MachineReport report;
  if (!OnGpu()) {
    report.facts = MeasureMachine(device_.parallelism(), builder_.compilers());
  } else if (auto measured = MeasureGpuInChild(options_.worker_program); measured.ok()) {
    report = *std::move(measured);
    if (!report.facts.has_nvrtc) {
      Log(LogLevel::kWarning,
          "no NVRTC that knows this GPU: no kernels are compiled, and its peak rates are taken "
          "from "
          "clock and number of units; install the CUDA toolkit's libnvrtc or set HIERA_NVRTC");
    }
  } else {
    gpu_trouble_ = measured.status().message();
    Log(LogLevel::kError, gpu_trouble_);
    report.facts.threads = device_.parallelism();
    report.facts.has_gcc = false;
  }
  report.fingerprint = device_.fingerprint().Text();
  return report;
}

MachineReport Judge::Machine() {
  MachineReport report = MeasureDevice();
  if (machine_) {
    // What disturbs a measurement only slows it.
    MachineFacts& facts = report.facts;
    facts.copy_gbps = std::max(facts.copy_gbps, machine_->facts.copy_gbps);
    facts.flops_f32 = std::max(facts.flops_f32, machine_->facts.flops_f32);
    facts.flops_f64 = std::max(facts.flops_f64, machine_->facts.flops_f64);
  }
  machine_ = report;
  if (OnGpu() && !report.facts.IsGpu()) return report;  // to be tried again by the next evaluator
  const Status kept = WriteFile(options_.work_path + "/machine", EncodeFrame(report));
  if (!kept.ok()) Log(LogLevel::kWarning, kept.message());
  return report;
}

const MachineFacts& Judge::Facts() {
  if (!machine_) {
    // A frame as it was encoded: length, type, body.
    constexpr size_t kHeader = 8;
    auto bytes = ReadFile(options_.work_path + "/machine");
    if (bytes.ok() && bytes->size() > kHeader) {
      const uint32_t type = static_cast<uint32_t>(static_cast<unsigned char>((*bytes)[4]));
      auto message = DecodeBody(type, std::string_view(*bytes).substr(kHeader));
      const MachineReport* report = message.ok() ? std::get_if<MachineReport>(&*message) : nullptr;
      if (report != nullptr && report->fingerprint == device_.fingerprint().Text()) {
        machine_ = *report;
      }
    }
  }
  if (!machine_) Machine();
  return machine_->facts;
}

Status Judge::CheckDevice() {
  if (!OnGpu() || Facts().IsGpu()) return {};
  Machine();  // what was wrong may be over
  return Facts().IsGpu() ? Status() : Unavailable(gpu_trouble_);
}

int Judge::BuildNice() const { return duty_.IsYoung(MonotonicNs()) ? kYoungNice : kOldNice; }

Result<PreparedTask*> Judge::Prepare(const std::string& canonical) {
  for (auto at = tasks_.begin(); at != tasks_.end(); ++at) {
    if ((*at)->canonical() != canonical) continue;
    tasks_.splice(tasks_.begin(), tasks_, at);
    return tasks_.front().get();
  }
  const int64_t limit = options_.memory_bytes > 0 ? options_.memory_bytes
                                                  : std::min(kMostMemory, AvailableMemory() / 4);
  auto prepared = PreparedTask::Make(canonical, host_, limit);
  // Older tasks go before this one does without.
  int64_t used = prepared.ok() ? (*prepared)->memory_bytes() : limit;
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    used += (*at)->memory_bytes();
    // A worker that is kept holds the memory of the task it was started on.
    if (used > limit && seat_ && seat_->canonical == (*at)->canonical()) EndWorker();
    at = used > limit ? tasks_.erase(at) : std::next(at);
  }
  if (!prepared.ok()) return prepared.status();
  tasks_.push_front(*std::move(prepared));
  return tasks_.front().get();
}

void Judge::Handle(const JudgeRequest& request,
                   const std::function<bool(const JudgeReport&)>& report) {
  const int64_t begin_ns = MonotonicNs();
  deadline_ns_ = request.seconds > 0 ? begin_ns + static_cast<int64_t>(request.seconds * 1e9) : 0;
  auto prepared = Prepare(request.canonical);
  duty_.Enter(request.canonical, begin_ns);
  const int nice = BuildNice();
  std::vector<int> tickets(request.candidates.size(), 0);
  Status ready = prepared.ok() ? CheckDevice() : prepared.status();
  if (ready.ok()) {
    const Arithmetic arithmetic = (*prepared)->task().contract.arithmetic;
    for (size_t i = 0; i < tickets.size(); ++i) {
      const Candidate& candidate = request.candidates[i];
      if (candidate.source.empty()) continue;
      const std::string architecture =
          candidate.compiler == Candidate::Compiler::kNvrtc ? Facts().architecture : "";
      tickets[i] = builder_.Start(candidate, arithmetic, request.build_seconds, nice, architecture);
    }
  }
  // The compilers are at work meanwhile.
  if (ready.ok()) ready = (*prepared)->MakeReady((*prepared)->CourseOf(request.full));
  Log(LogLevel::kDebug, "request " + std::to_string(request.id) + ": trials are ready after " +
                            Nanoseconds(static_cast<double>(MonotonicNs() - begin_ns)));
  for (size_t i = 0; i < tickets.size(); ++i) {
    JudgeReport one;
    one.id = request.id;
    one.candidate = static_cast<uint32_t>(i);
    if (!ready.ok()) {
      one.verdict = Verdict::kUnloadable;
      one.detail = "cannot be judged: " + ready.message();
    } else {
      BuildResult build;
      build.ok = tickets[i] == 0;
      if (tickets[i] != 0) build = builder_.Take(tickets[i], deadline_ns_);
      one.build_seconds = build.seconds;
      if (build.ok) {
        JudgeOne(**prepared, request, build, one);
      } else {
        one.verdict = Verdict::kBuildFailed;
        one.detail = build.detail;
      }
    }
    if (!report(one)) break;
  }
  builder_.Abandon();
}

void Judge::JudgeOne(PreparedTask& prepared, const JudgeRequest& request, const BuildResult& build,
                     JudgeReport& report) {
  report.artifact_path = build.path;
  report.artifact_sha256 = build.sha256;
  MaybeFinding finding = HearFairly(prepared, request, build, report);
  const Task& task = prepared.task();
  if (!finding && report.time_ns < kSuspicious * RooflineFloorNs(task, Facts())) {
    // Not believed: another worker has to show all of it again, beside fresh rates of the machine.
    EndWorker();
    Machine();
    finding = Hear(prepared, request, build, report);
    const double bytes_ns = BytesFloorNs(task);
    const double floor_ns = RooflineFloorNs(task, Facts());
    if (!finding &&
        (report.time_ns < kImpossible * bytes_ns || report.time_ns < kFewestFlops * floor_ns)) {
      finding = Finding{Verdict::kMisbehaved, "a time of " + Nanoseconds(report.time_ns) +
                                                  " cannot be true: the roofline floor is " +
                                                  Nanoseconds(floor_ns)};
    } else if (!finding && report.time_ns < kSuspicious * floor_ns) {
      report.detail += "; below the roofline floor of " + Nanoseconds(floor_ns) +
                       ", verified and measured twice";
    }
  }
  if (!finding) {
    report.verified = request.full;
    return;
  }
  report.verdict = finding->verdict;
  report.detail = finding->detail;
  report.verified = false;
}

Judge::MaybeFinding Judge::Hear(PreparedTask& prepared, const JudgeRequest& request,
                                const BuildResult& build, JudgeReport& report) {
  Hearing hearing{prepared, prepared.CourseOf(request.full),
                  request,  request.candidates[report.candidate],
                  build,    {},
                  nullptr,  {},
                  report};
  if (SecondsLeft() <= 0) return OutOfTime();
  if (auto finding = StartWorker(hearing)) return finding;
  for (const uint32_t trial : hearing.course.before) {
    if (auto finding = Verify(hearing, trial)) return finding;
  }
  if (auto finding = Measure(hearing)) return finding;
  if (auto finding = CheckClock(hearing)) {
    if (finding->verdict != Verdict::kMisbehaved) return finding;
    // Or the machine has slowed down since: both once more.
    if (auto again = Measure(hearing)) return again;
    if (auto again = CheckClock(hearing)) return again;
  }
  return Verify(hearing, hearing.course.after);
}

Judge::MaybeFinding Judge::GiveUp(Hearing& hearing, double run_ns) const {
  double incumbent_ns = hearing.request.give_up_ns;
  const bool interpreter = hearing.request.incumbent.kind == Incumbent::Kind::kInterpreter;
  if (incumbent_ns <= 0 && interpreter && !OnGpu()) {
    incumbent_ns = hearing.prepared.plain_seconds() * 1e9;
  }
  if (incumbent_ns <= 0 || run_ns <= kHopeless * incumbent_ns + kColdNs) return std::nullopt;
  JudgeReport& report = hearing.report;
  report.time_ns = run_ns;
  report.baseline_ns = incumbent_ns;
  report.ratio = report.ratio_low = incumbent_ns / run_ns;
  return Finding{Verdict::kNotFaster, "given up: a run took " + Nanoseconds(run_ns) +
                                          ", the incumbent takes " + Nanoseconds(incumbent_ns)};
}

Judge::MaybeFinding Judge::Verify(Hearing& hearing, uint32_t number) {
  const Trial& trial = hearing.prepared.trials()[number];
  const Task& task = hearing.prepared.task();
  const Layout& layout = hearing.prepared.layout();
  std::byte* outputs = hearing.prepared.output_view();
  std::vector<std::byte> earlier;
  double least_ns = INFINITY;
  uint8_t runs = 0;
  for (const uint8_t poison : kPoison) {
    PrepareOutputs(task, layout, trial.placement, trial.view.data(), poison, outputs);
    WorkerRequest request;
    request.kind = WorkerRequest::Kind::kRun;
    request.trial = hearing.positions[number];
    request.run = runs++;
    WaitForTurn();
    const int64_t begin = MonotonicNs();
    const int64_t processor_begin = hearing.worker->ProcessorNs();
    auto outcome = Ask(hearing, request, RunTimeout(hearing));
    if (outcome.finding) return outcome.finding;
    // Others may be using the processors: then the worker was not charged all of the time. On a GPU
    // most of the time went into copies; the worker tells what the device took.
    double ns = static_cast<double>(
        std::min(MonotonicNs() - begin, hearing.worker->ProcessorNs() - processor_begin));
    if (OnGpu()) ns = outcome.reply.candidate_ns.empty() ? 0 : outcome.reply.candidate_ns[0];
    least_ns = std::min(least_ns, ns);
    const FinishedRun run{
        task, layout, trial.placement, poison, trial.view.data(), outputs, trial.scalars.data()};
    auto finding = CheckRun(run, trial.expectation);
    if (!finding && !earlier.empty()) finding = CheckRepeated(run, earlier.data(), kPoison[0]);
    if (finding) {
      finding->detail += " (" + std::string(DistributionName(trial.distribution)) + " inputs" +
                         (number == hearing.course.after ? ", after timing)" : ")");
      return finding;
    }
    if (task.contract.deterministic) earlier.assign(outputs, outputs + layout.bytes);
  }
  return number == hearing.course.before.front() ? GiveUp(hearing, least_ns) : std::nullopt;
}

Judge::MaybeFinding Judge::Measure(Hearing& hearing) {
  const Trial& trial = hearing.prepared.trials()[hearing.course.timed];
  const Task& task = hearing.prepared.task();
  const Layout& layout = hearing.prepared.layout();
  std::byte* outputs = hearing.prepared.output_view();
  JudgeReport& report = hearing.report;
  WorkerRequest request;
  request.kind = WorkerRequest::Kind::kMeasure;
  request.trial = hearing.positions[hearing.course.timed];
  request.seconds = std::clamp(hearing.request.measure_seconds, 0.001, 60.0);
  request.graph = hearing.request.graph && OnGpu();

  // A noisy measurement is made once more; what is then still noisy is told as provisional.
  for (int attempt = 0; attempt < 2; ++attempt) {
    PrepareOutputs(task, layout, trial.placement, trial.view.data(), kPoison[1], outputs);
    WaitForTurn();
    builder_.Pause();
    const ProcessorTimes before = ReadTimes(hearing.worker->pid());
    auto outcome = Ask(hearing, request, 5 * request.seconds + 3 * RunTimeout(hearing));
    const ProcessorTimes after = ReadTimes(hearing.worker->pid());
    builder_.Resume();
    if (outcome.finding) return outcome.finding;
    const FinishedRun run{task,
                          layout,
                          trial.placement,
                          kPoison[1],
                          trial.view.data(),
                          outputs,
                          trial.scalars.data()};
    if (auto finding = CheckRun(run, trial.expectation)) {
      finding->detail += " (while it was timed)";
      return finding;
    }
    const auto& incumbent_ns = outcome.reply.incumbent_ns;
    const auto& candidate_ns = outcome.reply.candidate_ns;
    report.time_ns = Median(candidate_ns);
    report.baseline_ns = Median(incumbent_ns);
    const PairedRatio ratio = RatioOfPairs(incumbent_ns, candidate_ns);
    report.ratio = ratio.ratio;
    report.ratio_low = ratio.low;
    report.verdict = ratio.low > kWinMargin ? Verdict::kFaster : Verdict::kNotFaster;
    report.provisional =
        RelativeSpread(incumbent_ns.empty() ? candidate_ns : incumbent_ns) > kNoisySpread ||
        (OnGpu() ? outcome.reply.disturbed : IsContended(before, after));
    DescribeMeasurement(report, candidate_ns.size(), !incumbent_ns.empty());
    if (!outcome.reply.note.empty()) report.detail += ", " + outcome.reply.note;
    const bool surely_slower = !incumbent_ns.empty() && ratio.high < kSurelySlower;
    if (!report.provisional || surely_slower) break;
  }
  if (report.time_ns > 0) return std::nullopt;
  return Finding{Verdict::kMisbehaved, "the time of a call came out as zero"};
}

}  // namespace hiera
