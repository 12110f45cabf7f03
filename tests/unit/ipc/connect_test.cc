// Connecting to the planner of a store, which starts it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "runtime/ipc/channel.h"
#include "runtime/ipc/paths.h"
#include "tests/eventually.h"
#include "tests/temporary_folder.h"

namespace hiera {
namespace {

constexpr int kLongMs = 30'000;
const char* const kPlanner = HIERA_TEST_PLANNER;

// The sockets' folder of this process and the planners it starts.
const TemporaryFolder& RuntimeFolder() {
  static const TemporaryFolder folder;
  return folder;
}
const bool environment_is_set = [] {
  setenv("HIERA_RUNTIME_DIR", RuntimeFolder().path().c_str(), 1);
  return true;
}();

class Connect : public testing::Test {
 protected:
  Connect() { Touch("run"); }
  ~Connect() override {
    // Ends the planner; its socket goes with it.
    unlink((store_ / "run").c_str());
    const std::string socket_path = *SocketPath(store_.path());
    EXPECT_TRUE(Eventually([&] { return access(socket_path.c_str(), F_OK) != 0; }));
  }

  void Touch(const std::string& name) { std::ofstream(store_ / name).put('x'); }
  std::vector<int> Elections() const {
    std::vector<int> pids;
    std::ifstream in(store_ / "elections");
    for (int pid; in >> pid;) pids.push_back(pid);
    return pids;
  }
  Result<Channel> ConnectNow(int timeout_ms = kLongMs) {
    return ConnectToPlanner(store_.path(), kPlanner, Hello{kProtocolVersion, "test", ""},
                            timeout_ms);
  }

  TemporaryFolder store_;
};

int PeerPid(const Channel& channel) {
  ucred peer{};
  socklen_t size = sizeof peer;
  getsockopt(channel.read_fd(), SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer.pid;
}

TEST_F(Connect, StartsOnePlannerAndReusesIt) {
  ASSERT_TRUE(environment_is_set);
  const Result<Channel> first = ConnectNow();
  ASSERT_TRUE(first.ok()) << first.status().message();
  const Result<Channel> second = ConnectNow();
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(Elections(), std::vector<int>{PeerPid(*first)});
  EXPECT_EQ(PeerPid(*second), PeerPid(*first));
}

TEST_F(Connect, EightProcessesAtOnceGetOnePlanner) {
  int gate[2], results[2];
  ASSERT_EQ(pipe(gate), 0);
  ASSERT_EQ(pipe(results), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      close(gate[1]);
      char byte;
      if (read(gate[0], &byte, 1) != 0) _exit(3);  // opens for all at once
      const Result<Channel> channel = ConnectNow();
      const int peer = channel.ok() ? PeerPid(*channel) : -1;
      _exit(write(results[1], &peer, sizeof peer) == sizeof peer ? 0 : 4);
    }
    children.push_back(pid);
  }
  close(gate[0]);
  close(gate[1]);
  close(results[1]);
  std::multiset<int> peers;
  for (int peer; read(results[0], &peer, sizeof peer) == sizeof peer;) peers.insert(peer);
  close(results[0]);
  for (const pid_t pid : children) waitpid(pid, nullptr, 0);
  const std::vector<int> elections = Elections();
  ASSERT_EQ(elections.size(), 1u);
  EXPECT_EQ(peers.count(elections[0]), 8u);
}

TEST_F(Connect, APlannerAboutToExitIsReplaced) {
  Touch("flaky");
  const Result<Channel> channel = ConnectNow();
  ASSERT_TRUE(channel.ok()) << channel.status().message();
  ASSERT_EQ(Elections().size(), 2u);
  EXPECT_EQ(PeerPid(*channel), Elections()[1]);
}

TEST_F(Connect, APlannerThatDoesNotAnswerIsUnavailable) {
  Touch("mute");
  const Result<Channel> channel = ConnectNow(500);
  ASSERT_FALSE(channel.ok());
  EXPECT_EQ(channel.status().code(), Code::kUnavailable);
}

TEST_F(Connect, AProgramThatIsMissingIsNamed) {
  const Result<Channel> channel =
      ConnectToPlanner(store_.path(), store_ / "no-planner", Hello{}, kLongMs);
  ASSERT_FALSE(channel.ok());
  EXPECT_EQ(channel.status().code(), Code::kUnavailable);
  EXPECT_NE(channel.status().message().find("no-planner"), std::string::npos);
}

TEST_F(Connect, AProgramThatEndsAtOnceIsUnavailableInTime) {
  const Result<Channel> channel = ConnectToPlanner(store_.path(), "/bin/true", Hello{}, 300);
  ASSERT_FALSE(channel.ok());
  EXPECT_EQ(channel.status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace hiera
