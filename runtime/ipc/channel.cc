#include "runtime/ipc/channel.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "runtime/base/clock.h"

namespace hiera {
namespace {

constexpr size_t kHeaderBytes = 8;
constexpr size_t kReadBytes = 64 << 10;
// A pipe that poll() calls writable takes this much without blocking (pipe(7)).
constexpr size_t kPipeBytes = 4096;

// Milliseconds for poll(), rounded up, until a point in time; -1 for ever.
class Deadline {
 public:
  explicit Deadline(int timeout_ms)
      : end_ns_(timeout_ms < 0 ? -1 : MonotonicNs() + int64_t{timeout_ms} * 1'000'000) {}
  int RemainingMs() const {
    if (end_ns_ < 0) return -1;
    const int64_t left_ns = std::max<int64_t>(end_ns_ - MonotonicNs(), 0);
    return static_cast<int>((left_ns + 999'999) / 1'000'000);
  }

 private:
  int64_t end_ns_;
};

// Whether the descriptor became ready (also for an error, which the next call then reports).
bool WaitFor(int fd, short events, int timeout_ms) {
  const Deadline deadline(timeout_ms);
  while (true) {
    pollfd p{fd, events, 0};
    const int ready = poll(&p, 1, deadline.RemainingMs());
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

// write() to a pipe without the SIGPIPE that it may raise: blocked meanwhile, and taken back where
// it was not pending before.
ssize_t WritePipe(int fd, const char* data, size_t size) {
  if (!WaitFor(fd, POLLOUT, 0)) {
    errno = EAGAIN;
    return -1;
  }
  sigset_t pipe_only, before, pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const ssize_t written = write(fd, data, std::min(size, kPipeBytes));
  const int error = errno;
  if (written < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec at_once{0, 0};
    while (sigtimedwait(&pipe_only, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

ssize_t WriteSome(int fd, const char* data, size_t size) {
  const ssize_t sent = send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  return WritePipe(fd, data, size);
}

ssize_t ReadSome(int fd, char* data, size_t size) {
  const ssize_t received = recv(fd, data, size, MSG_DONTWAIT);
  if (received >= 0 || errno != ENOTSOCK) return received;
  if (!WaitFor(fd, POLLIN, 0)) {
    errno = EAGAIN;
    return -1;
  }
  return read(fd, data, size);
}

Status Gone(const char* what, int error) {
  return Unavailable(std::string("the peer is gone: ") + what + ": " + std::strerror(error));
}

}  // namespace

Channel& Channel::operator=(Channel&& other) noexcept {
  if (this == &other) return *this;
  Close();
  read_fd_ = std::exchange(other.read_fd_, -1);
  write_fd_ = std::exchange(other.write_fd_, -1);
  send_failed_ = std::exchange(other.send_failed_, false);
  pending_ = std::exchange(other.pending_, {});
  return *this;
}

void Channel::Close() {
  if (read_fd_ >= 0) close(read_fd_);
  if (write_fd_ >= 0 && write_fd_ != read_fd_) close(write_fd_);
  read_fd_ = write_fd_ = -1;
  send_failed_ = false;
  pending_.clear();
}

Status Channel::Send(const Message& message, int timeout_ms) {
  if (write_fd_ < 0) return Unavailable("the channel is closed");
  if (send_failed_) return Unavailable("an earlier message could not be sent");
  const std::string frame = EncodeFrame(message);
  if (frame.size() - kHeaderBytes > kMaxFrameBytes) {
    return InvalidArgument("a message of " + std::to_string(frame.size()) +
                           " bytes exceeds the limit of " + std::to_string(kMaxFrameBytes));
  }
  size_t sent = 0;
  while (sent < frame.size()) {
    const ssize_t n = WriteSome(write_fd_, frame.data() + sent, frame.size() - sent);
    if (n >= 0) {
      sent += static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) {
      send_failed_ = true;
      return Gone("send", errno);
    }
    if (!WaitFor(write_fd_, POLLOUT, timeout_ms)) {
      send_failed_ = true;
      // The peer must not take the rest of the stream for whole frames. On a pipe this does
      // nothing, and nothing more is written.
      shutdown(write_fd_, SHUT_RDWR);
      return Timeout("the peer took nothing for " + std::to_string(timeout_ms) + " ms");
    }
  }
  return {};
}

Result<std::optional<Message>> Channel::Receive(int timeout_ms) {
  if (read_fd_ < 0) return Unavailable("the channel is closed");
  const Deadline deadline(timeout_ms);
  while (true) {
    if (pending_.size() >= kHeaderBytes) {
      uint32_t size, type;
      std::memcpy(&size, pending_.data(), sizeof size);
      std::memcpy(&type, pending_.data() + sizeof size, sizeof type);
      if (size > kMaxFrameBytes) {
        return InvalidArgument("a frame of " + std::to_string(size) +
                               " bytes exceeds the limit of " + std::to_string(kMaxFrameBytes));
      }
      if (pending_.size() - kHeaderBytes >= size) {
        const std::string_view frame(pending_);
        Result<Message> message = DecodeBody(type, frame.substr(kHeaderBytes, size));
        pending_.erase(0, kHeaderBytes + size);
        if (!message.ok()) return message.status();
        return std::optional<Message>(*std::move(message));
      }
    }
    const size_t have = pending_.size();
    pending_.resize(have + kReadBytes);
    const ssize_t n = ReadSome(read_fd_, pending_.data() + have, kReadBytes);
    const int error = errno;
    pending_.resize(have + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n > 0 || (n < 0 && error == EINTR)) continue;
    if (n == 0) {
      return Unavailable(have == 0 ? "the peer closed the channel"
                                   : "the peer closed the channel inside a message");
    }
    if (error != EAGAIN) return Gone("receive", error);
    const int remaining_ms = deadline.RemainingMs();
    if (remaining_ms == 0 || !WaitFor(read_fd_, POLLIN, remaining_ms)) {
      return std::optional<Message>();
    }
  }
}

}  // namespace hiera
