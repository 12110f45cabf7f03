// Connecting to the planner, and starting it where there is none.
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/ipc/channel.h"
#include "runtime/ipc/paths.h"
#include "runtime/ipc/spawn.h"

namespace hiera {
namespace {

enum class Found {
  kPlanner,
  kNobody,  // no socket, or one that nobody listens on
  kBusy,    // somebody listens, and more clients wait than the system queues
  kRefused  // not to be used, now or later
};

struct Attempt {
  Found found = Found::kRefused;
  Channel channel;
  std::string reason;
};

Attempt TryConnect(const std::string& socket_path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_path.size() >= sizeof address.sun_path) {
    return {Found::kRefused, {}, "the socket's path " + socket_path + " is too long"};
  }
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());

  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return {Found::kRefused, {}, std::string("socket: ") + std::strerror(errno)};
  Channel channel(fd, fd);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const std::string reason = "connect to " + socket_path + ": " + std::strerror(errno);
    if (errno == ENOENT || errno == ECONNREFUSED) return {Found::kNobody, {}, reason};
    if (errno == EAGAIN || errno == EINTR) return {Found::kBusy, {}, reason};
    return {Found::kRefused, {}, reason};
  }
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != geteuid()) {
    return {Found::kRefused, {}, socket_path + " is served by another user; remove it"};
  }
  return {Found::kPlanner, std::move(channel), {}};
}

// Hello and Welcome. kUnavailable where the planner ended before its Welcome: try another.
Status Greet(Channel& channel, const Hello& hello, int timeout_ms, Welcome* welcome) {
  if (const Status sent = channel.Send(hello, timeout_ms); !sent.ok()) return sent;
  const Result<std::optional<Message>> answer = channel.Receive(timeout_ms);
  if (!answer.ok()) return answer.status();
  if (!answer->has_value()) {
    return Timeout("the planner did not answer within " + std::to_string(timeout_ms) + " ms");
  }
  if (!std::holds_alternative<Welcome>(**answer)) {
    return Internal("the planner's first message is not its welcome");
  }
  if (welcome != nullptr) *welcome = std::get<Welcome>(**answer);
  return {};
}

}  // namespace

Result<Channel> ConnectTo(const std::string& socket_path) {
  Attempt attempt = TryConnect(socket_path);
  if (attempt.found != Found::kPlanner) return Unavailable(attempt.reason);
  return std::move(attempt.channel);
}

Result<Channel> ConnectToPlanner(const std::string& store_path, const std::string& planner_path,
                                 const Hello& hello, int timeout_ms, Welcome* welcome) {
  const Result<std::string> socket_path = SocketPath(store_path);
  if (!socket_path.ok()) return Unavailable(socket_path.status().message());

  constexpr int64_t kMs = 1'000'000;
  const int64_t end_ns = MonotonicNs() + timeout_ms * kMs;
  int64_t next_start_ns = 0;
  // Planners that lose the election end at once; one that is about to exit still holds the lock. So
  // starting one is repeated, ever more seldom.
  int64_t pause_ns = 200 * kMs;
  while (true) {
    Attempt attempt = TryConnect(*socket_path);
    const int64_t now_ns = MonotonicNs();
    const int left_ms = static_cast<int>(std::max<int64_t>((end_ns - now_ns) / kMs, 0));
    if (attempt.found == Found::kRefused) return Unavailable(attempt.reason);
    if (attempt.found == Found::kPlanner) {
      const Status greeted = Greet(attempt.channel, hello, left_ms, welcome);
      if (greeted.ok()) return std::move(attempt.channel);
      if (greeted.code() != Code::kUnavailable) return Unavailable(greeted.message());
      attempt.reason = greeted.message();
    }
    if (attempt.found == Found::kNobody && now_ns >= next_start_ns) {
      const Result<std::string> program = FindProgram(Program::kPlanner, planner_path);
      if (!program.ok()) return program.status();
      const Status started = SpawnUnseen(*program, {"--store", store_path});
      if (!started.ok()) return Unavailable("the planner can't be started: " + started.message());
      next_start_ns = now_ns + pause_ns;
      pause_ns *= 2;
    }
    if (MonotonicNs() >= end_ns) {
      return Unavailable("no planner within " + std::to_string(timeout_ms) +
                         " ms: " + attempt.reason);
    }
    poll(nullptr, 0, 2);
  }
}

}  // namespace hiera
