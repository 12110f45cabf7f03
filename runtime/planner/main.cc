// hiera-planner: one per store. Started by the first client that finds none; ends when it has been
// idle. `hiera-planner --help` lists its options.
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "cache/store.h"
#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/ipc/listener.h"
#include "runtime/ipc/paths.h"
#include "runtime/planner/catalogue.h"
#include "runtime/planner/jobs.h"
#include "runtime/planner/log_file.h"
#include "runtime/planner/server.h"

namespace hiera {
namespace {

constexpr int kDefaultIdleSeconds = 60;

struct Options {
  std::string store;
  std::string evaluator;
  int idle_seconds = 0;
};

// A descriptor that becomes readable on SIGTERM and SIGINT; SIGPIPE and SIGHUP are ignored.
int BlockSignals() {
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
  sigset_t ending;
  sigemptyset(&ending);
  sigaddset(&ending, SIGTERM);
  sigaddset(&ending, SIGINT);
  sigprocmask(SIG_BLOCK, &ending, nullptr);
  return signalfd(-1, &ending, SFD_CLOEXEC | SFD_NONBLOCK);
}

int Run(const Options& options) {
  const int stop_fd = BlockSignals();
  const Result<std::string> store_path = StorePath(options.store);
  const Result<std::string> socket_path = store_path.ok() ? SocketPath(*store_path) : store_path;
  if (!socket_path.ok()) {
    std::fprintf(stderr, "hiera-planner: %s\n", socket_path.status().message().c_str());
    return 1;
  }
  Result<Listener> listener = Listener::Elect(*socket_path);
  if (!listener.ok()) {
    std::fprintf(stderr, "hiera-planner: %s\n", listener.status().message().c_str());
    return listener.status().code() == Code::kUnavailable ? 0 : 1;
  }
  std::string index_path = IndexPath(*store_path);
  std::string trouble;
  Result<std::unique_ptr<Store>> opened = OpenStore(*store_path);
  if (opened.ok()) {
    LogToFile(*store_path + "/planner.log");
  } else {
    trouble = "the store can't be used, nothing will be kept: " + opened.status().message();
    Log(LogLevel::kWarning, trouble);
    index_path.clear();
  }
  Catalogue catalogue(opened.ok() ? std::move(*opened) : MakeMemoryStore(), index_path);
  const Result<std::string> evaluator = FindProgram(Program::kEvaluator, options.evaluator);
  if (!evaluator.ok()) {
    const std::string nothing = "nothing can be planned: " + evaluator.status().message();
    Log(LogLevel::kWarning, nothing);
    trouble += (trouble.empty() ? "" : "; ") + nothing;
  }
  // Builds go into the folder of the store: on its file system, and closed to others.
  const std::string work = catalogue.store().path() + "/work";
  {
    Jobs jobs(catalogue, evaluator.ok() ? *evaluator : std::string("hiera-evaluator"), work);
    const int idle =
        options.idle_seconds > 0 ? options.idle_seconds : GetEnvironment().planner_idle_s;
    Server(*listener, catalogue, jobs, stop_fd, idle > 0 ? idle : kDefaultIdleSeconds, trouble)
        .Run();
  }
  catalogue.PublishIfDue(true);
  std::error_code ignored;
  std::filesystem::remove_all(work, ignored);
  return 0;
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) {
  CLI::App app{"Plans faster variants for HIERA's clients. Started by the library; needs no care."};
  hiera::Options options;
  app.add_option("--store", options.store, "The store's folder (default: as the library's)");
  app.add_option("--evaluator", options.evaluator, "The hiera-evaluator program");
  app.add_option("--idle-seconds", options.idle_seconds, "End after so long without clients");
  CLI11_PARSE(app, argc, argv);
  return hiera::Run(options);
}
