#include "session.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string Outcome::operator[](const std::string& name) const {
  const std::string text = "\n" + output;
  const size_t at = text.find("\n" + name + "=");
  if (at == std::string::npos) return "";
  const size_t begin = at + name.size() + 2;
  return text.substr(begin, text.find('\n', begin) - begin);
}

Outcome Running::Wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.output = ReadAll(output_path_ + ".out");
  outcome.errors = ReadAll(output_path_ + ".err");
  return outcome;
}

Session::Session() {
  std::string pattern = std::filesystem::temp_directory_path() / "hiera-test-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = pattern;
  store_ = folder_ + "/store";
  // Only what the system needs: a developer's own HIERA_ settings must not decide a test.
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (text.rfind("HIERA_", 0) == 0) continue;
    environment_[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
  }
  environment_["HIERA_STORE"] = store_;
  environment_["HIERA_RUNTIME_DIR"] = folder_ + "/run";
  environment_["HIERA_PLANNER_IDLE_S"] = "60";
}

Session::~Session() {
  Hiera({"stop"});
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Running Session::Start(const std::vector<std::string>& command) {
  const std::string output = Path("program" + std::to_string(++started_));
  std::vector<std::string> environment;
  for (const auto& [name, value] : environment_) environment.push_back(name + "=" + value);
  std::vector<char*> arguments, variables;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  for (std::string& variable : environment) variables.push_back(variable.data());
  arguments.push_back(nullptr);
  variables.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 1, (output + ".out").c_str(), flags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, (output + ".err").c_str(), flags, 0600);
  pid_t pid = -1;
  const int error =
      posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(command[0] + " does not start");
  return Running(pid, output);
}

Outcome Session::App(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), HIERA_BINARIES "/end_to_end_app");
  return Run(arguments);
}

Outcome Session::Hiera(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), HIERA_BINARIES "/hiera");
  return Run(arguments);
}

pid_t Session::PlannerPid() {
  const Outcome status = Hiera({"status"});
  const size_t at = status.output.find("pid ");
  return at == std::string::npos ? 0 : std::atoi(status.output.c_str() + at + 4);
}
