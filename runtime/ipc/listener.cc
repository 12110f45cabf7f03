#include "runtime/ipc/listener.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "runtime/base/log.h"

namespace hiera {
namespace {

constexpr int kBacklog = 128;

Status Failed(const char* what, const std::string& path) {
  return Internal(std::string(what) + " " + path + ": " + std::strerror(errno));
}

// Binds and listens under a name of its own, then renames: the path never leads to a socket of this
// process that refuses clients.
Result<int> ListenAt(const std::string& path) {
  const std::string fresh = path + "~";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (fresh.size() >= sizeof address.sun_path) {
    return Internal("the socket's path " + path + " is too long; set HIERA_RUNTIME_DIR");
  }
  std::memcpy(address.sun_path, fresh.data(), fresh.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return Failed("make a socket for", path);
  unlink(fresh.c_str());
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      chmod(fresh.c_str(), 0600) != 0 || listen(fd, kBacklog) != 0 ||
      rename(fresh.c_str(), path.c_str()) != 0) {
    const Status status = Failed("listen at", path);
    unlink(fresh.c_str());
    close(fd);
    return status;
  }
  return fd;
}

}  // namespace

Result<Listener> Listener::Elect(const std::string& socket_path) {
  Listener listener;
  listener.socket_path_ = socket_path;
  Result<FileLock> lock = FileLock::Take(socket_path + ".lock");
  if (!lock.ok()) return lock.status();
  listener.lock_ = *std::move(lock);
  const Result<int> socket = ListenAt(socket_path);
  if (!socket.ok()) return socket.status();
  listener.socket_fd_ = *socket;
  struct stat file;
  if (stat(socket_path.c_str(), &file) != 0) return Failed("find", socket_path);
  listener.socket_device_ = file.st_dev;
  listener.socket_inode_ = file.st_ino;
  return listener;
}

Listener& Listener::operator=(Listener&& other) noexcept {
  if (this == &other) return *this;
  Close();
  socket_path_ = std::move(other.socket_path_);
  lock_ = std::move(other.lock_);
  socket_fd_ = std::exchange(other.socket_fd_, -1);
  socket_device_ = other.socket_device_;
  socket_inode_ = other.socket_inode_;
  return *this;
}

Result<std::optional<Channel>> Listener::Accept() {
  while (true) {
    const int fd = accept4(socket_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      if (errno == EINTR || errno == ECONNABORTED) continue;
      if (errno == EAGAIN) return std::optional<Channel>();
      return Unavailable(std::string("accept: ") + std::strerror(errno));
    }
    Channel channel(fd, fd);
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid()) {
      return std::optional<Channel>(std::move(channel));
    }
    Log(LogLevel::kWarning,
        "refused a client of user " + std::to_string(peer.uid) + " at " + socket_path_);
  }
}

bool Listener::StillElected() const {
  struct stat file;
  return socket_fd_ >= 0 && lock_.StillHeld() && stat(socket_path_.c_str(), &file) == 0 &&
         file.st_dev == socket_device_ && file.st_ino == socket_inode_;
}

void Listener::Close() {
  if (socket_fd_ >= 0) {
    if (StillElected()) unlink(socket_path_.c_str());
    close(socket_fd_);
  }
  // Last, so that whoever is elected next finds no socket of ours to replace.
  lock_.Release();
  socket_fd_ = -1;
}

}  // namespace hiera
