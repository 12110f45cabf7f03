#include "policies/library/cuda_library_policy.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "policies/library/lt_model.h"
#include "runtime/task/cublas_call.h"
#include "runtime/task/cudnn_graph.h"
#include "runtime/task/lt_algorithm.h"

namespace hiera {
namespace {

constexpr int kRankedFirst = 6;    // of a library's own ranking, in the first round
constexpr size_t kBestTrials = 3;  // whose neighbours are looked at

std::optional<std::string_view> After(const LaunchPlan& plan, std::string_view mark) {
  const size_t at = plan.text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  return std::string_view(plan.text).substr(at + 1);
}

std::optional<LtAlgorithm> AlgorithmOf(const LaunchPlan& plan) {
  const auto text = After(plan, " algo=");
  if (!text) return std::nullopt;
  Result<LtAlgorithm> algorithm = ParseLtAlgorithm(*text);
  if (!algorithm.ok()) return std::nullopt;
  return *algorithm;
}

std::optional<CudnnEngine> EngineOf(const LaunchPlan& plan) {
  const auto text = After(plan, " engine=");
  if (!text) return std::nullopt;
  Result<CudnnEngine> engine = ParseCudnnEngine(*text);
  if (!engine.ok()) return std::nullopt;
  return *engine;
}

// The call that the plan says, of those that the task can be said as.
const CublasCall* CallOf(const std::vector<CublasCall>& calls,
                         const std::vector<std::string>& texts, const LaunchPlan& plan) {
  for (size_t i = 0; i < calls.size(); ++i) {
    if (plan.text.compare(0, texts[i].size(), texts[i]) == 0) return &calls[i];
  }
  return nullptr;
}

// How many steps lie between two choices; empty where they are of different kinds.
std::optional<int> Distance(const LaunchPlan& a, const LaunchPlan& b) {
  const auto lt_a = AlgorithmOf(a);
  const auto lt_b = AlgorithmOf(b);
  if (lt_a && lt_b) {
    return (lt_a->id != lt_b->id) * 3 + (lt_a->tile != lt_b->tile) +
           (lt_a->stages != lt_b->stages) + (lt_a->split_k != lt_b->split_k) +
           (lt_a->reduction != lt_b->reduction && lt_a->split_k == lt_b->split_k) +
           (lt_a->swizzle != lt_b->swizzle) + (lt_a->custom != lt_b->custom) +
           (lt_a->inner_shape != lt_b->inner_shape) + (lt_a->cluster != lt_b->cluster);
  }
  const auto dnn_a = EngineOf(a);
  const auto dnn_b = EngineOf(b);
  if (!dnn_a || !dnn_b) return std::nullopt;
  std::vector<std::pair<int64_t, int64_t>> apart;
  std::set_symmetric_difference(dnn_a->knobs.begin(), dnn_a->knobs.end(), dnn_b->knobs.begin(),
                                dnn_b->knobs.end(), std::back_inserter(apart));
  return (dnn_a->id != dnn_b->id) * 3 + static_cast<int>(apart.size());
}

Candidate CandidateOf(const LibraryOffer& offer, const LibraryChoice& choice, double predicted_ns,
                      std::string reason) {
  Candidate c;
  c.space = Space::kLibrary;
  c.family = offer.family;
  c.name = choice.name;
  c.reason = std::move(reason);
  c.plan = choice.plan;
  c.requirements = offer.requirements;
  c.predicted_ns = predicted_ns;
  return c;
}

std::string ReasonOf(const LibraryOffer& offer, const OrderedChoice& ordered) {
  if (ordered.choice->rank >= 0) {
    return "number " + std::to_string(ordered.choice->rank + 1) + " of " + offer.family +
           "'s own ranking";
  }
  if (ordered.predicted_ns > 0) return "the best of its kind by prediction";
  return "an engine that the library does not rank";
}

std::string Refusals(const Evidence& evidence) {
  if (!evidence.offers_refusal.empty()) return evidence.offers_refusal;
  std::string text;
  for (const LibraryOffer& offer : evidence.offers) {
    text += (text.empty() ? "" : "; ") + offer.family + ": " + offer.refusal;
  }
  return text.empty() ? "no library was asked" : text;
}

}  // namespace

std::vector<OrderedChoice> OrderOffer(const Task& task, const MachineFacts& machine,
                                      double floor_ns, const LibraryOffer& offer) {
  std::vector<CublasCall> calls;
  std::vector<std::string> texts;
  if (auto found = CublasCallsOf(task, CublasCall::Routine::kLt); found.ok()) {
    calls = *std::move(found);
    for (const CublasCall& call : calls) texts.push_back("library " + call.Text() + " ");
  }
  std::vector<OrderedChoice> ranked, rest;
  using Kind = std::tuple<const CublasCall*, int, uint32_t, int>;
  std::map<const LibraryChoice*, Kind> kinds;
  for (const LibraryChoice& choice : offer.choices) {
    double predicted = 0;
    const CublasCall* call = CallOf(calls, texts, choice.plan);
    const auto algorithm = AlgorithmOf(choice.plan);
    if (call != nullptr && algorithm) {
      predicted = LtModel{*call, machine.threads, floor_ns, machine.copy_gbps}.Predict(
          *algorithm, choice.waves);
      kinds[&choice] = {call, algorithm->id, algorithm->tile, algorithm->split_k};
    }
    (choice.rank >= 0 ? ranked : rest).push_back({&choice, predicted});
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.choice->rank < b.choice->rank; });
  std::stable_sort(rest.begin(), rest.end(),
                   [](const auto& a, const auto& b) { return a.predicted_ns < b.predicted_ns; });
  // The best of each kind before the second of any.
  std::map<Kind, int> taken;
  std::vector<std::pair<int, OrderedChoice>> turns;
  for (const OrderedChoice& ordered : rest) {
    const auto kind = kinds.find(ordered.choice);
    turns.emplace_back(kind == kinds.end() ? 0 : taken[kind->second]++, ordered);
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [turn, ordered] : turns) ranked.push_back(ordered);
  return ranked;
}

Proposal CudaLibraryPolicy::Propose(const Task& task, const Evidence& evidence,
                                    const Budget& budget) const {
  Proposal proposal;
  for (const LibraryOffer& offer : evidence.offers) {
    int ranked = 0;
    std::vector<OrderedChoice> later;
    for (const OrderedChoice& ordered :
         OrderOffer(task, evidence.machine, evidence.floor_ns, offer)) {
      if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
      if (ordered.choice->rank >= 0 && ranked++ >= kRankedFirst) {
        later.push_back(ordered);
        continue;
      }
      proposal.candidates.push_back(
          CandidateOf(offer, *ordered.choice, ordered.predicted_ns, ReasonOf(offer, ordered)));
    }
    for (const OrderedChoice& ordered : later) {
      if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
      proposal.candidates.push_back(
          CandidateOf(offer, *ordered.choice, ordered.predicted_ns, ReasonOf(offer, ordered)));
    }
  }
  if (proposal.candidates.empty()) proposal.refusal = Refusals(evidence);
  return proposal;
}

Proposal CudaLibraryPolicy::Refine(const Task& task, const Evidence& evidence,
                                   const Budget& budget) const {
  std::set<std::pair<std::string, std::string>> tried;
  std::vector<const Trial*> best;
  for (const Trial& trial : evidence.trials) {
    tried.insert({trial.candidate.family, trial.candidate.name});
    if (IsCorrect(trial.verdict) && trial.time_ns > 0) best.push_back(&trial);
  }
  std::stable_sort(best.begin(), best.end(),
                   [](const Trial* a, const Trial* b) { return a->time_ns < b->time_ns; });
  std::erase_if(best, [](const Trial* trial) {
    return !AlgorithmOf(trial->candidate.plan) && !EngineOf(trial->candidate.plan);
  });
  if (best.size() > kBestTrials) best.resize(kBestTrials);
  // Nearest first; among equals, those of the better trial, then by prediction.
  using Key = std::tuple<int, size_t, size_t>;
  std::vector<std::pair<Key, Candidate>> near;
  for (const LibraryOffer& offer : evidence.offers) {
    const auto order = OrderOffer(task, evidence.machine, evidence.floor_ns, offer);
    for (size_t place = 0; place < order.size(); ++place) {
      const LibraryChoice& choice = *order[place].choice;
      if (tried.count({offer.family, choice.name}) > 0) continue;
      std::optional<std::pair<Key, size_t>> closest;
      for (size_t i = 0; i < best.size(); ++i) {
        if (best[i]->candidate.family != offer.family) continue;
        const std::optional<int> apart = Distance(best[i]->candidate.plan, choice.plan);
        if (!apart) continue;
        const Key key{*apart, i, place};
        if (!closest || key < closest->first) closest = {key, i};
      }
      if (!closest) continue;
      near.emplace_back(closest->first,
                        CandidateOf(offer, choice, order[place].predicted_ns,
                                    "a neighbour of " + best[closest->second]->candidate.name));
    }
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Proposal proposal;
  for (auto& [key, candidate] : near) {
    if (static_cast<int>(proposal.candidates.size()) >= budget.candidates) break;
    proposal.candidates.push_back(std::move(candidate));
  }
  if (proposal.candidates.empty()) proposal.refusal = "no neighbour of what did well is left";
  return proposal;
}

}  // namespace hiera
