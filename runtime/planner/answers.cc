#include "runtime/planner/answers.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <iterator>

#include "runtime/task/classify.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr size_t kShownKeyDigits = 12;

std::string Time(int64_t unix_s) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(unix_s)));
}

// 1.23 us, and so on.
std::string Duration(double ns) {
  if (ns <= 0) return "-";
  if (ns < 1e3) return fmt::format("{:.0f} ns", ns);
  if (ns < 1e6) return fmt::format("{:.2f} us", ns * 1e-3);
  if (ns < 1e9) return fmt::format("{:.2f} ms", ns * 1e-6);
  return fmt::format("{:.2f} s", ns * 1e-9);
}

std::string ClassOf(const std::string& canonical) {
  const Result<Task> task = ParseTask(canonical);
  return task.ok() ? std::string(TaskClassName(Classify(*task))) : "unreadable";
}

Result<TaskRecord> Find(Store& store, const std::string& prefix) {
  if (prefix.empty()) return InvalidArgument("a key is needed; `hiera ls` lists them");
  std::vector<TaskRecord> found;
  for (TaskRecord& task : store.Tasks()) {
    if (task.key.ToHex().rfind(prefix, 0) == 0) found.push_back(std::move(task));
  }
  if (found.empty()) {
    return InvalidArgument(fmt::format("no task has the key {}; `hiera ls` lists them", prefix));
  }
  if (found.size() > 1) {
    return InvalidArgument(
        fmt::format("{} tasks begin with {}; give more digits", found.size(), prefix));
  }
  return std::move(found.front());
}

std::string DescribeStatus(Catalogue& catalogue, const std::string& activity) {
  Store& store = catalogue.store();
  const std::vector<TaskRecord> tasks = store.Tasks();
  size_t settled = 0, faster = 0;
  for (const TaskRecord& task : tasks) {
    settled += task.settled;
    faster += catalogue.Best(task.key).has_value();
  }
  return fmt::format(
      "planner     {}\nstore       {}{}\ntasks       {} known, {} settled, {} with a faster "
      "variant\nquarantine  {}\n",
      activity, store.path(), store.durable() ? "" : " (in memory: nothing will be kept)",
      tasks.size(), settled, faster, store.Quarantined().size());
}

std::string DescribeAll(Catalogue& catalogue) {
  std::string text = fmt::format("{:<14}{:<14}{:>12}{:>12}{:>9}  {}\n", "key", "class", "baseline",
                                 "variant", "speedup", "what");
  for (const TaskRecord& task : catalogue.store().Tasks()) {
    const auto best = catalogue.Best(task.key);
    const std::string what =
        best ? fmt::format("{}/{} {}", SpaceName(best->space), best->family, best->name)
             : (task.settled ? "baseline stays" : "being planned");
    text += fmt::format("{:<14}{:<14}{:>12}{:>12}{:>9}  {}\n",
                        task.key.ToHex().substr(0, kShownKeyDigits), ClassOf(task.canonical),
                        Duration(best ? best->baseline_ns : task.baseline_ns),
                        Duration(best ? best->time_ns : 0),
                        best ? fmt::format("{:.2f} x", best->ratio) : "-", what);
  }
  return text;
}

std::string Evidence(const Variant& v) {
  std::string text = fmt::format(
      "  {}/{} {}\n    {} against {} of {}: {:.3f} x, at least {:.3f} x{}\n", SpaceName(v.space),
      v.family, v.name, Duration(v.time_ns), Duration(v.baseline_ns), v.baseline_name, v.ratio,
      v.ratio_low, v.provisional ? " (provisional: a noisy moment)" : "");
  if (v.floor_ns > 0) {
    text += fmt::format("    roofline floor {}: {:.0f} % of it reached\n", Duration(v.floor_ns),
                        100 * v.floor_ns / v.time_ns);
  }
  text += fmt::format("    plan {}, workspace {} bytes, measured {}\n", v.plan.text,
                      v.plan.workspace_bytes, Time(v.measured_unix_s));
  if (!v.artifact.empty()) text += fmt::format("    code {}\n", v.artifact);
  for (const Requirement& r : v.requirements) {
    text += fmt::format("    requires {} {}\n", r.what, r.identity);
  }
  return text;
}

std::string Show(Catalogue& catalogue, const TaskRecord& task) {
  std::string text = fmt::format("key {}\nclass {}\n\ntask\n{}\ndevice\n{}\n", task.key.ToHex(),
                                 ClassOf(task.canonical), task.canonical, task.fingerprint);
  text += fmt::format("baseline {}, {}\n", task.baseline_name, Duration(task.baseline_ns));
  text += fmt::format("first asked for {}, last {}\n\n", Time(task.first_unix_s),
                      Time(task.last_unix_s));
  const std::vector<Variant> variants = catalogue.store().Variants(task.key);
  text += variants.empty() ? "no variants\n" : "variants, fastest first\n";
  for (const Variant& variant : variants) text += Evidence(variant);
  return text;
}

std::string Explain(Catalogue& catalogue, const TaskRecord& task) {
  std::string text =
      fmt::format("{} {}\n{}\n\n", ClassOf(task.canonical), task.key.ToHex(),
                  task.settled ? "settled: " + task.outcome : "not settled yet. " + task.outcome);
  if (const auto best = catalogue.Best(task.key)) {
    text += "runs as\n" + Evidence(*best);
  } else {
    text += fmt::format("runs as the baseline, {}\n", task.baseline_name);
  }
  text += "\njournal\n";
  for (const JournalEntry& entry : catalogue.store().Journal(task.key)) {
    text += fmt::format("  {}  {:<8} {}\n", Time(entry.unix_s), entry.kind, entry.text);
  }
  return text;
}

}  // namespace

Reply Answer(const Query& query, Catalogue& catalogue, const std::string& activity) {
  if (query.verb == "status") return {true, DescribeStatus(catalogue, activity)};
  if (query.verb == "ls") return {true, DescribeAll(catalogue)};
  if (query.verb != "show" && query.verb != "explain") {
    return {false, fmt::format("the planner does not know the verb {}", query.verb)};
  }
  const Result<TaskRecord> task = Find(catalogue.store(), query.argument);
  if (!task.ok()) return {false, task.status().message()};
  return {true, query.verb == "show" ? Show(catalogue, *task) : Explain(catalogue, *task)};
}

}  // namespace hiera
