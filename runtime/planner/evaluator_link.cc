#include "runtime/planner/evaluator_link.h"

#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"

extern char** environ;

namespace hiera {
namespace {

constexpr int kChildChannel = 3;
constexpr int kSendTimeoutMs = 10'000;
constexpr double kMachineSeconds = 20;
// The evaluator's own limit for its child, and some for itself.
constexpr double kEnumerateSeconds = 90;
// What a candidate may take beside its build and its timing: reference, trials, workers' starts.
constexpr double kJudgeSlackSeconds = 60;

// The environment of this process, with the threads and the GPU that the evaluator is for.
std::vector<std::string> EnvironmentFor(const EvaluatorStart& start) {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name); });
    environment.push_back(name + value);
  };
  set("HIERA_THREADS=", std::to_string(start.threads));
  if (!start.gpu.empty()) set("CUDA_VISIBLE_DEVICES=", start.gpu);
  return environment;
}

Status SpawnWithChannel(const EvaluatorStart& start, int fd, pid_t* pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // dup2 onto itself would keep close-on-exec, so the pair is never at the child's number.
  posix_spawn_file_actions_adddup2(&actions, fd, kChildChannel);
  const std::string channel = std::to_string(kChildChannel);
  std::vector<const char*> arguments = {start.program.c_str(), "--channel", channel.c_str(),
                                        "--work", start.work_path.c_str()};
  if (!start.gpu.empty()) arguments.insert(arguments.end(), {"--device", "cuda"});
  arguments.push_back(nullptr);
  std::vector<std::string> environment = EnvironmentFor(start);
  std::vector<char*> pointers;
  for (std::string& entry : environment) pointers.push_back(entry.data());
  pointers.push_back(nullptr);
  // What the planner blocks for itself is not for the evaluator and its compilers.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const int error = posix_spawn(pid, start.program.c_str(), &actions, &attributes,
                                const_cast<char* const*>(arguments.data()), pointers.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return Unavailable(start.program + " could not be started: " + std::strerror(error));
  return {};
}

}  // namespace

Status EvaluatorLink::Start() {
  if (channel_.is_open()) return {};
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Unavailable(std::string("no socket pair for the evaluator: ") + std::strerror(errno));
  }
  if (pair[1] == kChildChannel) std::swap(pair[0], pair[1]);
  Status started = SpawnWithChannel(start_, pair[1], &pid_);
  close(pair[1]);
  if (!started.ok()) {
    close(pair[0]);
    pid_ = -1;
    return started;
  }
  channel_ = Channel(pair[0], pair[0]);
  return {};
}

void EvaluatorLink::Stop() {
  channel_.Close();
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

Result<MachineReport> EvaluatorLink::Machine() {
  HIERA_RETURN_IF_ERROR(Start());
  Status sent = channel_.Send(MachineRequest{}, kSendTimeoutMs);
  if (!sent.ok()) {
    Stop();
    return sent;
  }
  Result<std::optional<Message>> received =
      channel_.Receive(static_cast<int>(kMachineSeconds * 1000));
  if (!received.ok() || !received->has_value() ||
      !std::holds_alternative<MachineReport>(**received)) {
    Stop();
    return Unavailable("the evaluator did not measure the machine: " +
                       (received.ok() ? std::string("no answer") : received.status().message()));
  }
  return std::get<MachineReport>(**received);
}

Result<EnumerateReport> EvaluatorLink::Enumerate(const EnumerateRequest& request) {
  HIERA_RETURN_IF_ERROR(Start());
  Status status = channel_.Send(request, kSendTimeoutMs);
  if (status.ok()) {
    Result<std::optional<Message>> received =
        channel_.Receive(static_cast<int>(kEnumerateSeconds * 1000));
    if (received.ok() && received->has_value()) {
      auto* report = std::get_if<EnumerateReport>(&**received);
      if (report != nullptr && report->id == request.id) return std::move(*report);
    }
    status = Unavailable("the evaluator did not say what the libraries offer: " +
                         (received.ok() ? std::string("no answer") : received.status().message()));
  }
  Stop();
  return status;
}

Result<JudgeReport> EvaluatorLink::NextReport(uint64_t id, double seconds) {
  const int64_t deadline = MonotonicNs() + static_cast<int64_t>(seconds * 1e9);
  for (;;) {
    const int64_t left_ms = (deadline - MonotonicNs()) / 1'000'000;
    if (left_ms <= 0) return Timeout("no verdict in time");
    Result<std::optional<Message>> received =
        channel_.Receive(static_cast<int>(std::min<int64_t>(left_ms, 1'000'000)));
    if (!received.ok()) return received.status();
    if (!received->has_value()) continue;
    if (auto* report = std::get_if<JudgeReport>(&**received); report && report->id == id) {
      return *report;
    }
  }
}

std::vector<JudgeReport> EvaluatorLink::Judge(const JudgeRequest& request,
                                              const std::function<bool(const JudgeReport&)>& seen) {
  std::vector<JudgeReport> reports;
  const uint32_t count = static_cast<uint32_t>(request.candidates.size());
  while (reports.size() < count) {
    // What is left, as a request of its own: numbering starts again at 0.
    const uint32_t first = static_cast<uint32_t>(reports.size());
    JudgeRequest rest = request;
    rest.candidates.erase(rest.candidates.begin(), rest.candidates.begin() + first);
    Status status = Start();
    if (status.ok()) status = channel_.Send(rest, kSendTimeoutMs);
    bool wanted = true;
    while (status.ok() && reports.size() < count && wanted) {
      Result<JudgeReport> report = NextReport(
          request.id, request.build_seconds + request.measure_seconds + kJudgeSlackSeconds);
      if (!report.ok()) {
        status = report.status();
        break;
      }
      report->candidate += first;
      reports.push_back(*report);
      wanted = seen(reports.back());
    }
    if (status.ok()) {
      if (!wanted && reports.size() < count) Stop();  // it would go on with the rest
      return reports;
    }
    Stop();
    Log(LogLevel::kWarning, "the evaluator failed: " + status.message() + "; a new one takes over");
    JudgeReport lost;
    lost.id = request.id;
    lost.candidate = static_cast<uint32_t>(reports.size());
    lost.verdict = status.code() == Code::kTimeout ? Verdict::kTimedOut : Verdict::kCrashed;
    lost.detail = "the evaluator failed at this candidate: " + status.message();
    reports.push_back(lost);
    if (!seen(reports.back())) return reports;
  }
  return reports;
}

}  // namespace hiera
