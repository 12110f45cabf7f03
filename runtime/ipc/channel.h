// Channel: framed messages over a connected stream socket or pipe pair. Owns its descriptors, whose
// makers set close-on-exec; works with blocking and non-blocking ones and leaves their flags alone.
// Not thread-safe: one thread sends and receives, or two threads one each.
#ifndef HIERA_RUNTIME_IPC_CHANNEL_H_
#define HIERA_RUNTIME_IPC_CHANNEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/ipc/messages.h"

namespace hiera {

class Channel {
 public:
  Channel() = default;
  // Takes over the descriptors; the same one may serve both directions.
  Channel(int read_fd, int write_fd) : read_fd_(read_fd), write_fd_(write_fd) {}
  Channel(Channel&& other) noexcept { *this = std::move(other); }
  Channel& operator=(Channel&& other) noexcept;
  ~Channel() { Close(); }

  bool is_open() const { return read_fd_ >= 0; }
  int read_fd() const { return read_fd_; }  // for poll()
  void Close();

  // Sends a whole frame; never raises SIGPIPE. Errors: kUnavailable (the peer is gone), kTimeout
  // (the peer takes nothing for timeout_ms; the channel is then unusable), kInvalidArgument (larger
  // than kMaxFrameBytes; nothing was sent).
  Status Send(const Message& message, int timeout_ms);

  // The next message; empty where none is complete within timeout_ms (0: only what has arrived;
  // negative: waits for ever). After an empty answer poll(read_fd()) tells when to try again; after
  // a message call again with 0 until empty, because several may have arrived at once. Errors:
  // kUnavailable (the peer is gone), kInvalidArgument (a frame too large or not decodable).
  Result<std::optional<Message>> Receive(int timeout_ms);

 private:
  int read_fd_ = -1;
  int write_fd_ = -1;
  bool send_failed_ = false;  // a frame went out in part; only the sending thread touches it
  std::string pending_;       // bytes of the next frame
};

// Connects to the planner's socket and checks that the peer is the same user. Errors: kUnavailable.
Result<Channel> ConnectTo(const std::string& socket_path);

// Connects to the planner of a store; starts one where there is none (spawn.h), as
//   hiera-planner --store STORE_PATH
// with planner_path as FindProgram takes it, and waits for it up to timeout_ms. Says Hello and
// takes Welcome, which is handed out where `welcome` is not null. A planner that ends before its
// Welcome (it was about to exit) is replaced by another. Errors: kUnavailable with the reason.
Result<Channel> ConnectToPlanner(const std::string& store_path, const std::string& planner_path,
                                 const Hello& hello, int timeout_ms, Welcome* welcome = nullptr);

}  // namespace hiera

#endif  // HIERA_RUNTIME_IPC_CHANNEL_H_
