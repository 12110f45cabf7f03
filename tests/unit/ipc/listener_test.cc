#include "runtime/ipc/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/ipc/channel.h"
#include "tests/eventually.h"
#include "tests/temporary_folder.h"

namespace hiera {
namespace {

constexpr int kLongMs = 30'000;

bool Exists(const std::string& path) { return std::filesystem::exists(path); }

TEST(Listener, AcceptsClientsAndTalks) {
  const TemporaryFolder folder;
  Result<Listener> listener = Listener::Elect(folder / "s");
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  auto nobody = listener->Accept();
  ASSERT_TRUE(nobody.ok());
  EXPECT_FALSE(nobody->has_value());

  Result<Channel> client = ConnectTo(folder / "s");
  ASSERT_TRUE(client.ok()) << client.status().message();
  auto accepted = listener->Accept();
  ASSERT_TRUE(accepted.ok());
  ASSERT_TRUE(accepted->has_value());
  ASSERT_TRUE(client->Send(Query{"status", ""}, kLongMs).ok());
  auto received = (*accepted)->Receive(kLongMs);
  ASSERT_TRUE(received.ok() && received->has_value());
  EXPECT_EQ(std::get<Query>(**received).verb, "status");
}

TEST(Listener, DescriptorsAreCloseOnExec) {
  const TemporaryFolder folder;
  Result<Listener> listener = Listener::Elect(folder / "s");
  ASSERT_TRUE(listener.ok());
  Result<Channel> client = ConnectTo(folder / "s");
  ASSERT_TRUE(client.ok());
  auto accepted = listener->Accept();
  ASSERT_TRUE(accepted.ok() && accepted->has_value());
  int checked = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    char target[256];
    const ssize_t size = readlink(entry.path().c_str(), target, sizeof target);
    const std::string what(target, size > 0 ? static_cast<size_t>(size) : 0);
    if (what != folder / "s.lock" && what.rfind("socket:", 0) != 0) continue;
    if (fd <= 2) continue;  // what the test was started with
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << what;
    ++checked;
  }
  EXPECT_GE(checked, 4);  // lock, socket, both ends of the connection
}

TEST(Listener, OnlyOneIsElected) {
  const TemporaryFolder folder;
  Result<Listener> first = Listener::Elect(folder / "s");
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(Listener::Elect(folder / "s").status().code(), Code::kUnavailable);
  // The loser did not touch the winner's socket.
  EXPECT_TRUE(first->StillElected());
  EXPECT_TRUE(ConnectTo(folder / "s").ok());
  first->Close();
  EXPECT_FALSE(Exists(folder / "s"));
  EXPECT_TRUE(Listener::Elect(folder / "s").ok());
}

TEST(Listener, TheElectedIsReplacedAfterKill) {
  const TemporaryFolder folder;
  const pid_t pid = fork();
  if (pid == 0) {
    const Result<Listener> listener = Listener::Elect(folder / "s");
    while (listener.ok()) pause();
    _exit(1);
  }
  ASSERT_TRUE(Eventually([&] { return ConnectTo(folder / "s").ok(); }));
  EXPECT_EQ(Listener::Elect(folder / "s").status().code(), Code::kUnavailable);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  ASSERT_TRUE(Exists(folder / "s"));  // left behind
  EXPECT_EQ(ConnectTo(folder / "s").status().code(), Code::kUnavailable);
  Result<Listener> next = Listener::Elect(folder / "s");
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_TRUE(ConnectTo(folder / "s").ok());
}

// The lock must mean the file at the path: a lock on a deleted file excludes nobody.
TEST(Listener, NoticesThatLockOrSocketWereDeleted) {
  const TemporaryFolder folder;
  Result<Listener> listener = Listener::Elect(folder / "s");
  ASSERT_TRUE(listener.ok());
  ASSERT_TRUE(listener->StillElected());
  ASSERT_EQ(unlink((folder / "s.lock").c_str()), 0);
  EXPECT_FALSE(listener->StillElected());

  Result<Listener> second = Listener::Elect(folder / "s");
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(second->StillElected());
  // The one that lost its place must not take the other's socket with it.
  listener->Close();
  EXPECT_TRUE(second->StillElected());
  EXPECT_TRUE(ConnectTo(folder / "s").ok());
  ASSERT_EQ(unlink((folder / "s").c_str()), 0);
  EXPECT_FALSE(second->StillElected());
}

// Processes that race for one lock, some of which are killed: never two at once. Each winner makes
// a file exclusively and removes it before it ends, or is killed and leaves a stale socket only.
TEST(Listener, ManyProcessesElectOneAtATime) {
  const TemporaryFolder folder;
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      int won = 0;
      const bool enough = Eventually([&] {
        Result<Listener> listener = Listener::Elect(folder / "s");
        if (!listener.ok()) return listener.status().code() != Code::kUnavailable;
        const int fd = open((folder / "reigns").c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0) _exit(2);  // two at once
        close(fd);
        unlink((folder / "reigns").c_str());
        return ++won == 25;
      });
      _exit(enough && won == 25 ? 0 : 3);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
}

TEST(Listener, TooLongAPathSaysSo) {
  const TemporaryFolder folder;
  const Result<Listener> listener = Listener::Elect(folder / std::string(120, 'x'));
  ASSERT_FALSE(listener.ok());
  EXPECT_NE(listener.status().message().find("HIERA_RUNTIME_DIR"), std::string::npos);
}

TEST(ConnectTo, NobodyIsUnavailable) {
  const TemporaryFolder folder;
  EXPECT_EQ(ConnectTo(folder / "none").status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace hiera
