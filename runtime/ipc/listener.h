// Listener: how a planner becomes the one planner of a store, and takes its clients.
//
// The election is a lock on a file beside the socket, held as long as the Listener lives and
// released by the kernel whatever ends the process. The lock's descriptor is close-on-exec, so that
// no compiler started by the planner keeps it. A socket left behind by a planner that died is
// replaced, by rename, so that clients find either a dead socket or one that listens.
//
// Elect before anything slow (opening the store): clients can then connect at once, and wait for
// their Welcome instead of starting more planners.
//
// Owns its descriptors. Not thread-safe.
#ifndef HIERA_RUNTIME_IPC_LISTENER_H_
#define HIERA_RUNTIME_IPC_LISTENER_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "runtime/base/file_lock.h"
#include "runtime/base/status.h"
#include "runtime/ipc/channel.h"

namespace hiera {

class Listener {
 public:
  // Takes the lock and listens. Never waits for another holder. Errors: kUnavailable (another
  // process is the planner of this socket: exit quietly), kInternal (the folder can't be used).
  static Result<Listener> Elect(const std::string& socket_path);

  Listener(Listener&& other) noexcept { *this = std::move(other); }
  Listener& operator=(Listener&& other) noexcept;
  ~Listener() { Close(); }

  int fd() const { return socket_fd_; }  // for poll(): readable where a client waits

  // The next client, checked to be the same user; empty where none waits. Never blocks. Errors:
  // kUnavailable (out of descriptors, or closed). A peer of another user is refused and skipped.
  Result<std::optional<Channel>> Accept();

  // Whether the lock file and the socket at the path are still this Listener's; false once somebody
  // has deleted them. A planner that finds false ends: no new client can reach it, and another
  // planner may have been elected. Two stat calls.
  bool StillElected() const;

  // Removes the socket, where it is still this one's, and releases the lock. Clients that connected
  // and were not accepted see their channel end, and try again.
  void Close();

 private:
  Listener() = default;

  std::string socket_path_;
  FileLock lock_;
  int socket_fd_ = -1;
  dev_t socket_device_ = 0;  // of the socket's file
  ino_t socket_inode_ = 0;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_IPC_LISTENER_H_
