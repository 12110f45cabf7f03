// Evaluator: the real evaluator process in a folder of its own, and the channel to it. For tests.
#ifndef HIERA_TESTS_FAULT_EVALUATOR_PROCESS_H_
#define HIERA_TESTS_FAULT_EVALUATOR_PROCESS_H_

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/evaluator/child_process.h"
#include "runtime/ipc/channel.h"

namespace hiera {

class Evaluator {
 public:
  static constexpr int kAnswerTimeoutMs = 90'000;

  // The program lies beside the test. The variables ("NAME=value") go before those of the
  // test itself.
  explicit Evaluator(const std::vector<std::string>& more_arguments = {},
                     const std::vector<std::string>& variables = {}) {
    char name[] = "/tmp/hiera-evaluator-XXXXXX";
    folder_ = mkdtemp(name);
    std::filesystem::create_directory(folder_ + "/store");
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    ChildOptions options;
    options.program =
        std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hiera-evaluator";
    options.arguments = {"hiera-evaluator",   "--channel",       "3", "--work", folder_ + "/work",
                         "--store-artifacts", folder_ + "/store"};
    options.arguments.insert(options.arguments.end(), more_arguments.begin(), more_arguments.end());
    options.environment = variables;
    const auto& all = GetEnvironment().all;
    options.environment.insert(options.environment.end(), all.begin(), all.end());
    options.descriptors = {pair[1]};
    auto child = ChildProcess::Start(options);
    EXPECT_TRUE(child.ok()) << child.status().message();
    child_ = *std::move(child);
    close(pair[1]);
    channel_ = Channel(pair[0], pair[0]);
  }
  ~Evaluator() {
    child_.Kill();
    std::filesystem::remove_all(folder_);
  }

  Channel& channel() { return channel_; }
  ChildProcess& child() { return child_; }

  template <typename Answer>
  std::optional<Answer> Receive() {
    auto message = channel_.Receive(kAnswerTimeoutMs);
    if (!message.ok() || !message->has_value()) return std::nullopt;
    const Answer* answer = std::get_if<Answer>(&**message);
    return answer == nullptr ? std::nullopt : std::optional<Answer>(*answer);
  }

  // Without an incumbent where none is named.
  JudgeReport Judge(const std::string& task, const Candidate& candidate,
                    const Incumbent& incumbent = {Incumbent::Kind::kNone, {}, "", ""}) {
    JudgeRequest request;
    request.canonical = task;
    request.incumbent = incumbent;
    request.candidates = {candidate};
    return Judge(request);
  }

  // In full, and measured for a short while.
  JudgeReport Judge(JudgeRequest request) {
    request.id = ++id_;
    request.measure_seconds = 0.02;
    request.full = true;
    EXPECT_TRUE(channel_.Send(request, 1000).ok());
    auto report = Receive<JudgeReport>();
    if (!report) {
      ADD_FAILURE() << "no report came";
      return {};
    }
    EXPECT_EQ(report->id, id_);
    EXPECT_EQ(report->candidate, 0u);
    return *report;
  }

 private:
  std::string folder_;
  ChildProcess child_;
  Channel channel_;
  uint64_t id_ = 0;
};

}  // namespace hiera

#endif  // HIERA_TESTS_FAULT_EVALUATOR_PROCESS_H_
