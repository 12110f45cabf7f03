#include "runtime/ipc/paths.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/folder.h"
#include "tests/temporary_folder.h"

namespace hiera {
namespace {

namespace fs = std::filesystem;
using Variables = std::vector<std::pair<std::string, std::string>>;

// The environment is read once a process: so each question is asked in one of its own, which knows
// only these variables. Answers with the value, or "CODE message".
std::string Ask(const Variables& variables, const std::function<Result<std::string>()>& question) {
  int answer[2];
  EXPECT_EQ(pipe(answer), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    clearenv();
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    const Result<std::string> result = question();
    const std::string text = result.ok()
                                 ? *result
                                 : std::to_string(static_cast<int>(result.status().code())) + " " +
                                       result.status().message();
    _exit(write(answer[1], text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
  }
  close(answer[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(answer[0], buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  close(answer[0]);
  int status = -1;
  waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
  return text;
}

std::string AskStore(const Variables& variables, const std::string& configured = "") {
  return Ask(variables, [&] { return StorePath(configured); });
}

std::string MachineId() {
  std::string id;
  std::ifstream("/etc/machine-id") >> id;
  return id;
}

TEST(StorePath, TheMostExplicitChoiceWins) {
  const Variables all = {
      {"HIERA_STORE", "/tmp/by-variable"}, {"XDG_CACHE_HOME", "/tmp/xdg"}, {"HOME", "/tmp/home"}};
  EXPECT_EQ(AskStore(all, "/tmp/by-config"), "/tmp/by-config");
  EXPECT_EQ(AskStore(all), "/tmp/by-variable");
}

TEST(StorePath, DefaultsToTheCacheFolderOfThisMachine) {
  if (MachineId().empty()) GTEST_SKIP() << "this machine has no /etc/machine-id";
  const std::string suffix = "/hiera/" + MachineId();
  EXPECT_EQ(AskStore({{"XDG_CACHE_HOME", "/tmp/xdg"}, {"HOME", "/tmp/home"}}), "/tmp/xdg" + suffix);
  EXPECT_EQ(AskStore({{"HOME", "/tmp/home"}}), "/tmp/home/.cache" + suffix);
  EXPECT_EQ(AskStore({{"XDG_CACHE_HOME", "not/absolute"}, {"HOME", "/tmp/home"}}),
            "/tmp/home/.cache" + suffix);
}

TEST(StorePath, WithoutAHomeItIsUnavailable) {
  EXPECT_EQ(AskStore({}).substr(0, 2), "7 ");
  EXPECT_NE(AskStore({}).find("HIERA_STORE"), std::string::npos);
}

// Clients that spell the folder differently must meet at one socket.
TEST(StorePath, EverySpellingIsOnePath) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  fs::create_symlink(folder / "real", folder / "link");
  const std::string expected = fs::canonical(folder.path()).string() + "/real/store";
  EXPECT_EQ(AskStore({}, folder / "real/store"), expected);
  EXPECT_EQ(AskStore({}, folder / "real/store/"), expected);
  EXPECT_EQ(AskStore({}, folder / "real/../real/./store"), expected);
  EXPECT_EQ(AskStore({}, folder / "link/store"), expected);
  EXPECT_EQ(Ask({},
                [&]() -> Result<std::string> {
                  if (chdir(folder.path().c_str()) != 0) return Internal("chdir");
                  return StorePath("link/store");
                }),
            expected);
}

TEST(ArtifactPath, IsSpreadByItsFirstByte) {
  EXPECT_EQ(ArtifactPath("/s", "ab12"), "/s/artifacts/ab/ab12");
  EXPECT_EQ(IndexPath("/s"), "/s/index");
}

std::string AskSocket(const Variables& variables, const std::string& store = "/s") {
  return Ask(variables, [&] { return SocketPath(store); });
}

TEST(SocketPath, LiesInThePrivateRuntimeFolder) {
  const TemporaryFolder folder;
  const std::string by_variable = AskSocket({{"HIERA_RUNTIME_DIR", folder / "run"}});
  EXPECT_EQ(by_variable.substr(0, (folder / "run/").size()), folder / "run/");
  struct stat file;
  ASSERT_EQ(stat((folder / "run").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0700u);
  const std::string by_xdg = AskSocket({{"XDG_RUNTIME_DIR", folder.path()}});
  EXPECT_EQ(fs::path(by_xdg).parent_path(), folder / "hiera");
  EXPECT_EQ(fs::path(by_xdg).filename(), fs::path(by_variable).filename());
  // The variable may name a folder that went with a session.
  const std::string by_user = AskSocket({{"XDG_RUNTIME_DIR", folder / "gone"}});
  EXPECT_EQ(fs::path(by_user).parent_path(), "/tmp/hiera-" + std::to_string(geteuid()));
}

TEST(SocketPath, DiffersByStoreAndStaysShort) {
  const TemporaryFolder folder;
  const Variables variables = {{"HIERA_RUNTIME_DIR", folder.path()}};
  const std::string long_store = "/" + std::string(4000, 'x');
  EXPECT_NE(AskSocket(variables, "/a"), AskSocket(variables, "/b"));
  EXPECT_EQ(AskSocket(variables, long_store), AskSocket(variables, long_store));
  EXPECT_LT(AskSocket(variables, long_store).size() - folder.path().size(), 40u);
}

TEST(SocketPath, AFolderOpenToOthersIsRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkdir((folder / "run").c_str(), 0700), 0);
  ASSERT_EQ(chmod((folder / "run").c_str(), 0777), 0);
  const std::string answer = AskSocket({{"HIERA_RUNTIME_DIR", folder / "run"}});
  EXPECT_EQ(answer.substr(0, 2), "1 ");
  EXPECT_NE(answer.find("chmod go-w"), std::string::npos);
  if (geteuid() == 0) {
    ASSERT_EQ(mkdir((folder / "other").c_str(), 0700), 0);
    ASSERT_EQ(chown((folder / "other").c_str(), 12345, 12345), 0);
    EXPECT_NE(AskSocket({{"HIERA_RUNTIME_DIR", folder / "other"}}).find("12345"),
              std::string::npos);
  }
}

TEST(MakePrivateFolder, AFileInTheWayIsAnError) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file").put('x');
  EXPECT_EQ(MakePrivateFolder(folder / "file").code(), Code::kInvalidArgument);
  EXPECT_EQ(MakePrivateFolder(folder / "file/below").code(), Code::kUnavailable);
}

void MakeProgram(const std::string& path) {
  std::ofstream(path) << "#!/bin/sh\n";
  fs::permissions(path, fs::perms::owner_all);
}

std::string AskProgram(const Variables& variables, const std::string& configured = "") {
  return Ask(variables, [&] { return FindProgram(Program::kPlanner, configured); });
}

TEST(FindProgram, WhatIsNamedIsTakenOrRefused) {
  const TemporaryFolder folder;
  MakeProgram(folder / "a");
  MakeProgram(folder / "b");
  EXPECT_EQ(AskProgram({{"HIERA_PLANNER", folder / "b"}}, folder / "a"), folder / "a");
  EXPECT_EQ(AskProgram({{"HIERA_PLANNER", folder / "b"}}), folder / "b");
  const std::string refused = AskProgram({{"HIERA_PLANNER", folder / "c"}});
  EXPECT_EQ(refused.substr(0, 2), "7 ");
  EXPECT_NE(refused.find("HIERA_PLANNER"), std::string::npos);
  // A folder is executable too, and no program.
  EXPECT_EQ(AskProgram({}, folder.path()).substr(0, 2), "7 ");
}

// The test program itself, copied to where an installed one might lie, asks for the planner.
std::string AskFrom(const std::string& program) {
  int answer[2];
  EXPECT_EQ(pipe(answer), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(answer[1], STDOUT_FILENO);
    execl(program.c_str(), "misleading-name", "--find-planner", nullptr);
    _exit(9);
  }
  close(answer[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(answer[0], buffer, sizeof buffer)) > 0;) text.append(buffer, n);
  close(answer[0]);
  waitpid(pid, nullptr, 0);
  return text;
}

TEST(FindProgram, LiesBesideTheCodeOrInTheInstalledPlaces) {
  const TemporaryFolder folder;
  const std::string root = fs::canonical(folder.path()).string();
  for (const char* name : {"bin", "libexec/hiera", "lib/x86_64-linux-gnu"}) {
    fs::create_directories(folder / name);
  }
  const std::string in_bin = root + "/bin/asker", in_lib = root + "/lib/x86_64-linux-gnu/asker";
  fs::copy_file("/proc/self/exe", in_bin);
  fs::copy_file("/proc/self/exe", in_lib);
  EXPECT_NE(AskFrom(in_bin).find("HIERA_PLANNER"), std::string::npos);  // not found, and says how
  MakeProgram(root + "/libexec/hiera/hiera-planner");
  EXPECT_EQ(AskFrom(in_bin), root + "/libexec/hiera/hiera-planner");
  EXPECT_EQ(AskFrom(in_lib), root + "/libexec/hiera/hiera-planner");
  MakeProgram(root + "/bin/hiera-planner");
  EXPECT_EQ(AskFrom(in_bin), root + "/bin/hiera-planner");
}

TEST(FindProgram, IsTakenFromAbsoluteFoldersOfThePath) {
  const TemporaryFolder folder;
  const std::string root = fs::canonical(folder.path()).string();
  fs::create_directories(folder / "there");
  fs::create_directories(folder / "alone");
  MakeProgram(root + "/there/hiera-planner");
  fs::copy_file("/proc/self/exe", folder / "alone/asker");
  setenv("PATH", (":relative:" + root + "/nowhere:" + root + "/there").c_str(), 1);
  EXPECT_EQ(AskFrom(root + "/alone/asker"), root + "/there/hiera-planner");
  setenv("PATH", ("there:" + root + "/nowhere:").c_str(), 1);
  EXPECT_NE(AskFrom(root + "/alone/asker").find("HIERA_PLANNER"), std::string::npos);
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--find-planner") {
    const auto found = hiera::FindProgram(hiera::Program::kPlanner, "");
    const std::string& text = found.ok() ? *found : found.status().message();
    return write(STDOUT_FILENO, text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
