#include "runtime/evaluator/worker_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/evaluator/syscall_filter.h"

namespace hiera {
namespace {

constexpr int kEndTimeoutMs = 5'000;  // for a worker whose socket has closed to be gone

std::string Bytes(int64_t count) {
  return std::to_string(count) + (count == 1 ? " byte" : " bytes");
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

}  // namespace

WorkerProcess& WorkerProcess::operator=(WorkerProcess&& other) noexcept {
  std::swap(child_, other.child_);
  std::swap(socket_, other.socket_);
  std::swap(gone_, other.gone_);
  std::swap(secret_, other.secret_);
  std::swap(task_, other.task_);
  std::swap(fault_memory_, other.fault_memory_);
  std::swap(fault_view_, other.fault_view_);
  return *this;
}

WorkerProcess::~WorkerProcess() {
  child_.Kill();
  if (socket_ >= 0) close(socket_);
}

Result<WorkerProcess> WorkerProcess::Start(const std::string& program, const std::string& mode,
                                           const std::vector<std::string>& environment,
                                           const PreparedTask& prepared) {
  WorkerProcess worker;
  worker.task_ = &prepared.task();
  auto memory = SharedMemory::Create(kPageBytes);
  if (!memory.ok()) return memory.status();
  worker.fault_memory_ = *std::move(memory);
  auto view = worker.fault_memory_.Map(true);
  if (!view.ok()) return view.status();
  worker.fault_view_ = *std::move(view);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Unavailable(std::string("cannot make a socket: ") + std::strerror(errno));
  }
  worker.socket_ = pair[0];

  ChildOptions options;
  options.program = program;
  options.arguments = {"hiera-evaluator", mode};
  options.environment = environment;
  options.descriptors = {pair[1], worker.fault_memory_.fd(), prepared.outputs().fd()};
  for (const Trial& trial : prepared.trials()) {
    if (trial.ready) options.descriptors.push_back(trial.inputs.fd());
  }
  auto child = ChildProcess::Start(options);
  close(pair[1]);
  if (!child.ok()) return child.status();
  worker.child_ = *std::move(child);
  return worker;
}

WorkerProcess::Outcome WorkerProcess::SetUp(const WorkerSetup& setup, double timeout_seconds) {
  secret_ = setup.secret;
  return Exchange(Encode(setup), timeout_seconds, Verdict::kUnloadable);
}

WorkerProcess::Outcome WorkerProcess::Ask(const WorkerRequest& request, double timeout_seconds) {
  return Exchange(Encode(request), timeout_seconds, Verdict::kMisbehaved);
}

int64_t WorkerProcess::ProcessorNs() const {
  clockid_t clock;
  timespec time;
  if (clock_getcpuclockid(child_.pid(), &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

WorkerProcess::Outcome WorkerProcess::Exchange(const std::string& bytes, double timeout_seconds,
                                               Verdict refused) {
  Outcome outcome;
  // A write that fails finds a worker that is gone; reading says how it went.
  [[maybe_unused]] const Status sent = SendFrame(socket_, bytes);
  const int timeout_ms = static_cast<int>(std::clamp(timeout_seconds, 0.001, 3600.0) * 1000);
  auto answer = ReceiveFrame(socket_, timeout_ms);
  if (!answer.ok() && answer.status().code() == Code::kTimeout) {
    child_.Kill();
    outcome.finding =
        Finding{Verdict::kTimedOut, "did not finish within " + Seconds(timeout_seconds)};
  } else if (!answer.ok() && answer.status().code() == Code::kUnavailable) {
    outcome.finding = DescribeEnd();
  } else if (!answer.ok() || !Decode(*answer, outcome.reply) || outcome.reply.secret != secret_) {
    child_.Kill();
    outcome.finding = Finding{Verdict::kMisbehaved, "wrote to the worker's own socket"};
  } else if (!outcome.reply.ok) {
    outcome.finding = Finding{outcome.reply.verdict.value_or(refused), outcome.reply.message};
    if (outcome.reply.goes_on) return outcome;
    child_.Kill();
  }
  gone_ = outcome.finding.has_value();
  return outcome;
}

Finding WorkerProcess::DescribeEnd() {
  if (!child_.Wait(kEndTimeoutMs)) {
    child_.Kill();
    return {Verdict::kMisbehaved, "closed the worker's own socket"};
  }
  FaultRecord record;
  std::memcpy(&record, fault_view_.data(), sizeof record);
  const int status = child_.wait_status();
  if (WIFEXITED(status) && WEXITSTATUS(status) == kFaultExitStatus && record.signal != 0) {
    return DescribeFault(record);
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
    return {Verdict::kMisbehaved, "made a forbidden system call"};
  }
  return {Verdict::kCrashed, "the worker " + child_.EndText() + " in the middle of it"};
}

Finding WorkerProcess::DescribeFault(const FaultRecord& record) const {
  const std::string who = record.phase == Phase::kIncumbent ? "the incumbent " : "";
  if (record.signal == SIGSYS) {
    return {Verdict::kMisbehaved, who + "made the forbidden system call " +
                                      SystemCallName(record.system_call) +
                                      (record.phase == Phase::kLoading ? " while loading" : "")};
  }
  if (record.guarded == 0) {
    return {Verdict::kCrashed, who + "was ended by signal " + std::to_string(record.signal) + " (" +
                                   strsignal(record.signal) + ")"};
  }
  const std::string name =
      record.tensor >= 0 && record.tensor < static_cast<int>(task_->tensors.size())
          ? task_->tensors[static_cast<size_t>(record.tensor)].name
          : std::string("the workspace");
  const std::string did = who + (record.is_write != 0 ? "wrote " : "read ");
  if (record.offset < 0) {
    return {Verdict::kMisbehaved, did + Bytes(-record.offset) + " before the start of " + name};
  }
  if (record.past >= 0) {
    return {Verdict::kMisbehaved, did + Bytes(record.past) + " behind the end of " + name};
  }
  return {Verdict::kMisbehaved,
          did + "into " + name + ", which is an input, at byte " + std::to_string(record.offset)};
}

}  // namespace hiera
