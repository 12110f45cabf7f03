#include "runtime/evaluator/session.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "runtime/base/log.h"
#include "runtime/evaluator/enumerator.h"

namespace hiera {
namespace {

constexpr int kSendTimeoutMs = 30'000;
constexpr int kKeepWorkerMs = 3'000;

}  // namespace

int Serve(Channel& channel, Judge& judge) {
  for (;;) {
    // A GPU worker's context and memory are given back when nothing comes for a while.
    auto message = channel.Receive(judge.KeepsWorker() ? kKeepWorkerMs : -1);
    if (!message.ok()) {
      if (message.status().code() == Code::kUnavailable) return 0;
      Log(LogLevel::kError, "planner: " + message.status().message());
      return 1;
    }
    if (!message->has_value()) {
      judge.EndWorker();
      continue;
    }
    if (std::holds_alternative<MachineRequest>(**message)) {
      if (!channel.Send(judge.Machine(), kSendTimeoutMs).ok()) return 0;
    } else if (const auto* request = std::get_if<JudgeRequest>(&**message)) {
      bool heard = true;
      judge.Handle(*request, [&](const JudgeReport& report) {
        heard = channel.Send(report, kSendTimeoutMs).ok();
        return heard;
      });
      if (!heard) return 0;
    } else if (const auto* wanted = std::get_if<EnumerateRequest>(&**message)) {
      if (!channel.Send(EnumerateInChild(*wanted, "/proc/self/exe"), kSendTimeoutMs).ok()) return 0;
    } else {
      Log(LogLevel::kError, "planner: a message that is not for an evaluator");
      return 1;
    }
  }
}

void EndWithPeer(int fd) {
  std::thread([fd] {
    for (;;) {
      pollfd peer = {fd, POLLRDHUP, 0};
      const int got = poll(&peer, 1, -1);
      if (got > 0 || (got < 0 && errno != EINTR)) _exit(0);
    }
  }).detach();
}

}  // namespace hiera
