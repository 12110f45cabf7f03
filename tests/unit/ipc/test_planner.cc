// A planner that plans nothing: is elected, notes that in STORE/elections, welcomes clients and
// ends when STORE/run is gone. While STORE/flaky exists it ends at its first client, without a
// welcome; while STORE/mute exists it never answers.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/ipc/listener.h"
#include "runtime/ipc/paths.h"

namespace {

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

void Note(const std::string& store) {
  const int fd = open((store + "/elections").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const std::string line = std::to_string(getpid()) + "\n";
  if (fd < 0 || write(fd, line.data(), line.size()) < 0) _exit(3);
  close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3 || std::string(argv[1]) != "--store") return 2;
  const std::string store = argv[2];
  const auto socket_path = hiera::SocketPath(store);
  if (!socket_path.ok()) return 2;
  auto listener = hiera::Listener::Elect(*socket_path);
  if (!listener.ok()) return 0;
  Note(store);
  std::vector<hiera::Channel> clients;
  while (Exists(store + "/run")) {
    pollfd waiting{listener->fd(), POLLIN, 0};
    poll(&waiting, 1, 5);
    auto accepted = listener->Accept();
    if (!accepted.ok()) return 4;
    if (!accepted->has_value()) continue;
    hiera::Channel client = **std::move(accepted);
    if (unlink((store + "/flaky").c_str()) == 0) return 0;
    if (!Exists(store + "/mute")) {
      const auto hello = client.Receive(10'000);
      if (!hello.ok() || !client.Send(hiera::Welcome{getpid(), store}, 10'000).ok()) continue;
    }
    clients.push_back(std::move(client));
  }
  return 0;
}
