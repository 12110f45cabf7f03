// The `hiera` command.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "runtime/tools/ask.h"
#include "runtime/tools/tune.h"

namespace hiera {
namespace {

int Print(const Result<std::string>& text) {
  if (!text.ok()) {
    std::fprintf(stderr, "hiera: %s\n", text.status().message().c_str());
    return 1;
  }
  std::fputs(text->c_str(), stdout);
  return 0;
}

int PrintStatus(const std::string& store) {
  Result<std::string> answer = Ask(store, "status", "", Start::kNo);
  return Print(answer.ok() ? answer : DescribeIndex(store));
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) {
  using hiera::Ask;
  using hiera::Print;
  using hiera::Start;
  CLI::App app{"Looks after HIERA's store: what is known, why, and what should be planned ahead."};
  app.require_subcommand(1);
  std::string store;
  app.fallthrough();  // --store may also follow the verb
  app.add_option("--store", store, "The store's folder (default: HIERA_STORE, else your cache)");

  std::string key;
  CLI::App* status = app.add_subcommand("status", "Planner, store and what is being done");
  CLI::App* ls = app.add_subcommand("ls", "Every known task, its baseline and its best variant");
  CLI::App* show = app.add_subcommand("show", "One task with all of its variants");
  show->add_option("key", key, "The task's key, or its first digits")->required();
  CLI::App* explain = app.add_subcommand("explain", "Why a task runs as it does");
  explain->add_option("key", key, "The task's key, or its first digits")->required();
  CLI::App* clear = app.add_subcommand("clear", "Forget everything");
  CLI::App* stop = app.add_subcommand("stop", "End the planner; the next miss starts another");

  hiera::TuneOptions tuning;
  CLI::App* tune = app.add_subcommand("tune", "Plan every shape of a file ahead of its use");
  tune->add_option("file", tuning.file, "CSV of GEMM or convolution shapes, or formulas")
      ->required();
  tune->add_option("--device", tuning.device,
                   "Device to plan for: host, cuda, cuda:N, cuda:GPU-UUID")
      ->capture_default_str();
  tune->add_option("--dtype", tuning.dtype, "Element type where the file names none")
      ->capture_default_str();
  tune->add_flag("--column-major", tuning.column_major, "GEMM shapes are column-major");
  tune->add_flag("--again", tuning.again, "Plan even what has been planned before");
  tune->add_option("--max-gflop", tuning.max_gflop, "Leave out shapes with more work a run");
  tune->add_option("--seconds", tuning.seconds, "Budget per shape (default: the planner's)");
  tune->add_option("--threads", tuning.threads, "Threads a run may use (default: all cores)");
  CLI11_PARSE(app, argc, argv);

  if (*status) return hiera::PrintStatus(store);
  if (*ls) return Print(Ask(store, "ls", "", Start::kYes));
  if (*show) return Print(Ask(store, "show", key, Start::kYes));
  if (*explain) return Print(Ask(store, "explain", key, Start::kYes));
  if (*clear) return Print(Ask(store, "clear", "", Start::kYes));
  if (*stop) return Print(Ask(store, "stop", "", Start::kNo));
  if (*tune) {
    tuning.store = store;
    const hiera::Status done = hiera::Tune(tuning);
    if (done.ok()) return 0;
    std::fprintf(stderr, "hiera: %s\n", done.message().c_str());
    return 1;
  }
  return 1;
}
