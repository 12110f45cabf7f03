#include "runtime/ipc/spawn.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/eventually.h"
#include "tests/temporary_folder.h"

// The child of a threaded process goes on as a thread-sanitized one.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

namespace hiera {
namespace {

const char* const kProbe = HIERA_SPAWN_PROBE;

std::set<std::string> ReadReport(const std::string& path) {
  EXPECT_TRUE(Eventually([&] { return access(path.c_str(), F_OK) == 0; })) << path;
  std::ifstream in(path);
  std::set<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

std::vector<std::string> StartingWith(const std::set<std::string>& lines, const char* prefix) {
  std::vector<std::string> found;
  for (const std::string& line : lines) {
    if (line.starts_with(prefix)) found.push_back(line);
  }
  return found;
}

int Number(const std::set<std::string>& lines, const std::string& name) {
  const auto found = StartingWith(lines, (name + " ").c_str());
  return found.size() == 1 ? std::stoi(found[0].substr(name.size() + 1)) : -1;
}

// Set before the first look at the environment, which is read once.
const bool environment_is_set = [] {
  setenv("LD_PRELOAD", "", 1);
  setenv("LD_AUDIT", "", 1);
  setenv("HIERA_TEST_MARK", "kept", 1);
  return true;
}();

TEST(SpawnUnseen, GivesOnlyTheNullDeviceAndItsArguments) {
  const TemporaryFolder folder;
  const int pipe_like = open(folder.path().c_str(), O_RDONLY | O_DIRECTORY);  // not close-on-exec
  ASSERT_GE(pipe_like, 0);
  const int high = fcntl(pipe_like, F_DUPFD, 700);
  ASSERT_GE(high, 700);
  ASSERT_TRUE(SpawnUnseen(kProbe, {folder / "report"}).ok());
  const auto report = ReadReport(folder / "report");
  EXPECT_EQ(StartingWith(report, "fd "),
            (std::vector<std::string>{"fd 0 /dev/null", "fd 1 /dev/null", "fd 2 /dev/null"}));
  // The report has its lines sorted, and where the two folders lie decides their order.
  const std::vector<std::string> arguments = StartingWith(report, "argument ");
  EXPECT_EQ(std::multiset<std::string>(arguments.begin(), arguments.end()),
            (std::multiset<std::string>{"argument " + folder / "report",
                                        std::string("argument ") + kProbe}));
  EXPECT_EQ(StartingWith(report, "folder "), std::vector<std::string>{"folder /"});
  // The caller's own descriptors are as they were.
  EXPECT_EQ(fcntl(pipe_like, F_GETFD), 0);
  EXPECT_EQ(fcntl(high, F_GETFD), 0);
  close(pipe_like);
  close(high);
}

TEST(SpawnUnseen, GivesItsOwnSessionAndTheEnvironmentWithoutInjection) {
  ASSERT_TRUE(environment_is_set);
  const TemporaryFolder folder;
  ASSERT_TRUE(SpawnUnseen(kProbe, {folder / "report"}).ok());
  const auto report = ReadReport(folder / "report");
  EXPECT_EQ(Number(report, "session"), Number(report, "pid"));
  EXPECT_EQ(Number(report, "group"), Number(report, "pid"));
  EXPECT_NE(Number(report, "session"), getsid(0));
  EXPECT_TRUE(report.contains("variable HIERA_TEST_MARK=kept"));
  EXPECT_TRUE(StartingWith(report, "variable LD_PRELOAD").empty());
  EXPECT_TRUE(StartingWith(report, "variable LD_AUDIT").empty());
}

TEST(SpawnUnseen, ResetsSignals) {
  const TemporaryFolder folder;
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto old = signal(SIGHUP, SIG_IGN);
  ASSERT_TRUE(SpawnUnseen(kProbe, {folder / "report"}).ok());
  signal(SIGHUP, old);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, &before, &after);
  EXPECT_EQ(sigismember(&after, SIGTERM), 1);  // the caller's mask is as it was
  EXPECT_EQ(sigismember(&after, SIGINT), 0);
  const auto report = ReadReport(folder / "report");
  EXPECT_TRUE(StartingWith(report, "blocked ").empty());
  EXPECT_TRUE(StartingWith(report, "handled ").empty());
}

std::atomic<int> child_signals{0};

TEST(SpawnUnseen, IsNobodysVisibleChild) {
  struct sigaction action {};
  action.sa_handler = [](int) { child_signals.fetch_add(1); };
  struct sigaction before;
  ASSERT_EQ(sigaction(SIGCHLD, &action, &before), 0);
  const TemporaryFolder folder;
  std::atomic<bool> stop{false};
  std::atomic<int> reaped{0};
  // A program that reaps whatever child it finds, as servers do.
  std::thread reaper([&] {
    while (!stop) {
      if (waitpid(-1, nullptr, WNOHANG) > 0) reaped.fetch_add(1);
    }
  });
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(SpawnUnseen(kProbe, {folder / ("report" + std::to_string(i))}).ok());
  }
  int parent_of_last = 0;
  {
    // One that lives, to look at its parent.
    std::ofstream(folder / "stay").put('x');
    ASSERT_TRUE(SpawnUnseen(kProbe, {folder / "living", folder / "stay"}).ok());
    const int pid = Number(ReadReport(folder / "living"), "pid");
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string ignored;
    stat >> ignored >> ignored >> ignored >> parent_of_last;
    EXPECT_EQ(waitpid(pid, nullptr, WNOHANG | __WALL), -1);
    unlink((folder / "stay").c_str());
    EXPECT_TRUE(
        Eventually([&] { return kill(pid, 0) != 0 || waitpid(pid, nullptr, WNOHANG) > 0; }));
  }
  for (int i = 0; i < 20; ++i) ReadReport(folder / ("report" + std::to_string(i)));
  stop = true;
  reaper.join();
  EXPECT_NE(parent_of_last, getpid());
  EXPECT_EQ(child_signals.load(), 0);
  EXPECT_EQ(reaped.load(), 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);  // not even the intermediate is left
  sigaction(SIGCHLD, &before, nullptr);
}

// `app | cat` ends when app ends, although what it started goes on.
TEST(SpawnUnseen, HoldsNoPipeOfTheJob) {
  const TemporaryFolder folder;
  std::ofstream(folder / "stay").put('x');
  int job[2];
  ASSERT_EQ(pipe(job), 0);
  const pid_t app = fork();
  if (app == 0) {
    dup2(job[1], STDOUT_FILENO);
    dup2(job[1], STDERR_FILENO);
    const bool started = SpawnUnseen(kProbe, {folder / "report", folder / "stay"}).ok();
    _exit(started ? 0 : 1);
  }
  close(job[1]);
  int status = 0;
  ASSERT_EQ(waitpid(app, &status, 0), app);
  ASSERT_EQ(status, 0);
  const int pid = Number(ReadReport(folder / "report"), "pid");
  EXPECT_EQ(kill(pid, 0), 0);  // it lives
  char byte;
  EXPECT_EQ(read(job[0], &byte, 1), 0);  // and the pipe has ended
  close(job[0]);
  unlink((folder / "stay").c_str());
}

TEST(SpawnUnseen, SaysWhyAProgramCannotRun) {
  const TemporaryFolder folder;
  EXPECT_EQ(SpawnUnseen(folder / "missing", {}).code(), Code::kUnavailable);
  std::ofstream(folder / "text") << "not a program";
  const Status refused = SpawnUnseen(folder / "text", {});
  EXPECT_EQ(refused.code(), Code::kUnavailable);
  EXPECT_NE(refused.message().find("Permission denied"), std::string::npos) << refused.message();
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1);
}

TEST(SpawnUnseen, ThreadsMaySpawnAtOnce) {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&folder, t] {
      for (int i = 0; i < 10; ++i) {
        const std::string name = std::to_string(t) + "-" + std::to_string(i);
        EXPECT_TRUE(SpawnUnseen(kProbe, {folder / name}).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    for (int i = 0; i < 10; ++i) {
      const std::string name = folder / (std::to_string(t) + "-" + std::to_string(i));
      EXPECT_TRUE(ReadReport(name).contains("argument " + name));
    }
  }
}

}  // namespace
}  // namespace hiera
