// Search: plans one task. Asks every policy for candidates, lets the evaluator judge them within a
// budget (a first batch in full so that something better is there soon, then screening, refinement
// and successive halving), and reports wins as they come.
//
// The search holds no state between tasks and touches nothing but its Evaluation and hooks.
#ifndef HIERA_RUNTIME_PLANNER_SEARCH_H_
#define HIERA_RUNTIME_PLANNER_SEARCH_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "policies/policy.h"
#include "runtime/planner/evaluation.h"

namespace hiera {

struct SearchInput {
  Hash128 key;
  std::string canonical;
  Task task;
  MachineFacts machine;
  std::string baseline_name;
  bool caller_baseline = false;
  bool graph = false;              // the application runs it in captured graphs
  double seconds = 30;             // wall time, compilation included
  std::optional<Variant> current;  // what is published already, with its artifact's path
  std::string current_artifact_path;
};

struct SearchHooks {
  // A verified variant that beats what there was; the file holds its code, or is empty. Returns
  // where the code now lies for good.
  std::function<std::string(const Variant&, const std::string& artifact_file)> win;
  std::function<void(std::string_view kind, const std::string& text)> journal;
  std::function<void(uint32_t done, uint32_t total, const std::string& text)> progress;
  std::function<bool(const Hash128& identity)> quarantined;
  // The application's time of its own baseline as far as it is known by now; 0 where not.
  std::function<double()> baseline_ns;
  std::function<bool()> cancelled;
};

// Returns the outcome in one line: what won and by how much, or why nothing did.
std::string Search(const SearchInput& input, const std::vector<const Policy*>& policies,
                   Evaluation& evaluation, const SearchHooks& hooks);

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_SEARCH_H_
