// The judge's side; the child's is in gpu_rates.cc.
#include "runtime/evaluator/gpu_machine.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "runtime/base/environment.h"
#include "runtime/evaluator/child_process.h"
#include "runtime/ipc/channel.h"

namespace hiera {
namespace {

constexpr int kAnswerTimeoutMs = 60'000;
constexpr int kEndTimeoutMs = 1'000;  // for a child that has closed its socket

}  // namespace

Result<MachineReport> MeasureGpuInChild(const std::string& program) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return Unavailable("no socket pair for measuring the GPU");
  }
  ChildOptions options;
  options.program = program;
  options.arguments = {"hiera-evaluator", "--measure-gpu"};
  options.environment = GetEnvironment().all;
  options.descriptors = {pair[1]};
  options.output_fd = memfd_create("hiera-measure-gpu", MFD_CLOEXEC);
  Result<ChildProcess> child = ChildProcess::Start(options);
  close(pair[1]);
  Channel channel(pair[0], pair[0]);
  char words[1000] = "";  // what the child says of its failure
  const auto refused = [&](const std::string& how) {
    const ssize_t got = options.output_fd < 0 ? 0 : pread(options.output_fd, words, 999, 0);
    if (options.output_fd >= 0) close(options.output_fd);
    return Unavailable("measuring the GPU " + how + (got > 0 ? ": " : "") + words);
  };
  if (!child.ok()) return refused("failed: " + child.status().message());
  Result<std::optional<Message>> received = channel.Receive(kAnswerTimeoutMs);
  if (received.ok() && received->has_value()) {
    auto* report = std::get_if<MachineReport>(&**received);
    if (report != nullptr) {
      if (options.output_fd >= 0) close(options.output_fd);
      return std::move(*report);
    }
  }
  if (child->Wait(kEndTimeoutMs)) return refused(child->EndText());
  child->Kill();
  return refused(received.ok() ? "gave no answer within a minute" : received.status().message());
}

}  // namespace hiera
