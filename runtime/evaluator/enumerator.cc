#include "runtime/evaluator/enumerator.h"

#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/evaluator/child_process.h"
#include "runtime/ipc/channel.h"
#include "runtime/library/cuda/cuda_library.h"
#include "runtime/library/cuda/gpu_entries.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr int kChildSocket = 3;
constexpr int kSendTimeoutMs = 10'000;
// Opening cuDNN's engines from a cold disk took 20 s on a machine seen.
constexpr int kAnswerTimeoutMs = 60'000;

EnumerateReport Answer(const EnumerateRequest& request) {
  EnumerateReport report;
  report.id = request.id;
  const Result<Task> task = ParseTask(request.canonical);
  const Status context = MakeDeviceCurrent();
  if (!task.ok() || !context.ok()) {
    report.refusal = task.ok() ? context.message() : task.status().message();
    return report;
  }
  report.offers = EnumerateCudaLibraries(*task, request.workspace_bytes);
  return report;
}

}  // namespace

EnumerateReport EnumerateInChild(const EnumerateRequest& request, const std::string& program) {
  EnumerateReport refused;
  refused.id = request.id;
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    refused.refusal = "no socket pair for an enumeration";
    return refused;
  }
  ChildOptions options;
  options.program = program;
  options.arguments = {"hiera-evaluator", "--enumerate"};
  options.environment = GetEnvironment().all;
  options.descriptors = {pair[1]};
  Result<ChildProcess> child = ChildProcess::Start(options);
  close(pair[1]);
  Channel channel(pair[0], pair[0]);
  if (!child.ok()) {
    refused.refusal = child.status().message();
    return refused;
  }
  const Status sent = channel.Send(request, kSendTimeoutMs);
  Result<std::optional<Message>> received =
      sent.ok() ? channel.Receive(kAnswerTimeoutMs) : Result<std::optional<Message>>(sent);
  if (received.ok() && received->has_value()) {
    auto* report = std::get_if<EnumerateReport>(&**received);
    if (report != nullptr && report->id == request.id) return std::move(*report);
  }
  const bool ended = child->Wait(0);
  refused.refusal = "the enumeration " + (ended           ? child->EndText()
                                          : received.ok() ? "gives no answer within a minute"
                                                          : received.status().message());
  return refused;
}

int RunEnumerator() {
  Channel channel(kChildSocket, kChildSocket);
  Result<std::optional<Message>> received = channel.Receive(-1);
  if (!received.ok() || !received->has_value()) return 1;
  const auto* request = std::get_if<EnumerateRequest>(&**received);
  if (request == nullptr) return 1;
  const Status sent = channel.Send(Answer(*request), kSendTimeoutMs);
  // Without destructors: those of the libraries have crashed before in others' programs.
  _exit(sent.ok() ? 0 : 1);
}

}  // namespace hiera
