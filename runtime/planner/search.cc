#include "runtime/planner/search.h"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/task/roofline.h"

namespace hiera {
namespace {

constexpr double kBuildSeconds = 20;
constexpr double kLeastJudgeSeconds = 1;  // what is begun at the last moment may end
constexpr double kFirstMeasureSeconds = 0.1;
constexpr double kScreenMeasureSeconds = 0.06;
constexpr double kFinalMeasureSeconds = 0.3;
constexpr size_t kFirstBatch = 3;
constexpr size_t kBatch = 4;
constexpr int kProposalsPerPolicy = 16;
constexpr int kRefinementRounds = 3;
constexpr int kRefinementsPerPolicy = 6;
constexpr size_t kFinalists = 3;
// What a library's choice may take beside the application. All of a variant's workspaces are
// allocated ahead: one of this size, or eight of a thirty-second of a gigabyte.
constexpr int64_t kOfferWorkspace = int64_t{256} << 20;
constexpr double kMargin = 1.02;      // a win must exceed the noise by this
constexpr double kBelowBelief = 0.9;  // below this share of the floor the floor is not believed
constexpr double kAtTheFloor = 1.03;  // closer to the roofline than this: nothing left to gain

std::string Format(const char* format, double a, double b = 0, double c = 0) {
  char text[160];
  std::snprintf(text, sizeof text, format, a, b, c);
  return text;
}

std::string FullName(const Candidate& c) {
  return std::string(SpaceName(c.space)) + "/" + c.family + " " + c.name;
}

class Searcher {
 public:
  Searcher(const SearchInput& input, const std::vector<const Policy*>& policies,
           Evaluation& evaluation, const SearchHooks& hooks)
      : input_(input),
        policies_(policies),
        evaluation_(evaluation),
        hooks_(hooks),
        start_ns_(MonotonicNs()),
        best_(input.current),
        best_path_(input.current_artifact_path) {
    evidence_.machine = input.machine;
    evidence_.baseline_name = input.baseline_name;
    evidence_.baseline_ns = hooks.baseline_ns();
    evidence_.floor_ns = RooflineFloorNs(input.task, input.machine);
  }

  std::string Run() {
    hooks_.journal("plan", Format("floor %.0f ns, baseline ", evidence_.floor_ns) +
                               input_.baseline_name +
                               Format(" at %.0f ns (0: not measured yet), budget %.0f s",
                                      evidence_.baseline_ns, input_.seconds));
    AskForOffers();
    std::vector<Candidate> proposals = FirstProposals();
    if (proposals.empty()) return "nothing to try: every policy refused";
    total_ = static_cast<uint32_t>(proposals.size());
    const size_t first = std::min(kFirstBatch, proposals.size());
    JudgeAgainstBest({proposals.begin(), proposals.begin() + first}, kFirstMeasureSeconds);
    Screen({proposals.begin() + first, proposals.end()});
    RefineRounds();
    Finals();
    return Outcome();
  }

 private:
  double SecondsLeft() const {
    return input_.seconds - static_cast<double>(MonotonicNs() - start_ns_) * 1e-9;
  }
  bool Over() const { return SecondsLeft() <= 0 || hooks_.cancelled() || AtTheFloor(); }
  // A time far below the floor says that the floor is wrong (rates measured in a busy moment), not
  // that nothing is left to gain.
  bool AtTheFloor() const {
    if (!best_ || evidence_.floor_ns <= 0) return false;
    const double share = best_->time_ns / evidence_.floor_ns;
    return share >= kBelowBelief && share <= kAtTheFloor;
  }

  Budget BudgetFor(int candidates) const { return {candidates, std::max(0.0, SecondsLeft())}; }

  void AskForOffers() {
    const bool wanted = std::any_of(policies_.begin(), policies_.end(),
                                    [](const Policy* policy) { return policy->NeedsOffers(); });
    if (!wanted) return;
    EnumerateRequest request;
    request.id = ++request_id_;
    request.canonical = input_.canonical;
    request.workspace_bytes = std::min(input_.task.contract.workspace_bytes, kOfferWorkspace);
    Result<EnumerateReport> report = evaluation_.Enumerate(request);
    evidence_.offers_refusal = report.ok() ? report->refusal : report.status().message();
    if (report.ok()) evidence_.offers = std::move(report->offers);
    if (!evidence_.offers_refusal.empty()) {
      hooks_.journal("refusal", "libraries: " + evidence_.offers_refusal);
    }
    for (const LibraryOffer& offer : evidence_.offers) {
      hooks_.journal(
          "offer", offer.family + ": " +
                       (offer.choices.empty() ? offer.refusal
                                              : std::to_string(offer.choices.size()) + " choices"));
    }
  }

  // Every policy's proposals: the best of each first, then round robin, so that a short budget
  // still sees every space.
  std::vector<Candidate> FirstProposals() {
    std::vector<std::vector<Candidate>> lists;
    for (const Policy* policy : policies_) {
      Proposal proposal = policy->Propose(input_.task, evidence_, BudgetFor(kProposalsPerPolicy));
      if (proposal.candidates.empty()) {
        hooks_.journal("refusal", std::string(policy->name()) + ": " + proposal.refusal);
      } else {
        lists.push_back(std::move(proposal.candidates));
      }
    }
    // Custom code first: where a policy of that space accepts the task at all it is the likeliest
    // win. Plain loops come last of all where a library already answers.
    std::stable_sort(lists.begin(), lists.end(), [](const auto& a, const auto& b) {
      return a.front().space > b.front().space;
    });
    if (IsLibraryBaseline()) {
      const auto loops = std::stable_partition(lists.begin(), lists.end(), [](const auto& list) {
        return list.front().space != Space::kFramework;
      });
      std::vector<std::vector<Candidate>> last(std::make_move_iterator(loops),
                                               std::make_move_iterator(lists.end()));
      lists.erase(loops, lists.end());
      std::vector<Candidate> all = Interleave(std::move(lists));
      for (Candidate& candidate : Interleave(std::move(last))) all.push_back(std::move(candidate));
      return all;
    }
    return Interleave(std::move(lists));
  }

  std::vector<Candidate> Interleave(std::vector<std::vector<Candidate>> lists) {
    std::vector<Candidate> result;
    for (size_t rank = 0;; ++rank) {
      bool any = false;
      for (auto& list : lists) {
        if (rank >= list.size()) continue;
        any = true;
        if (!names_.insert(FullName(list[rank])).second) continue;
        if (list[rank].plan.text == input_.baseline_name) continue;  // the baseline itself
        result.push_back(std::move(list[rank]));
      }
      if (!any) return result;
    }
  }

  bool IsLibraryBaseline() const { return input_.baseline_name.rfind("library ", 0) == 0; }

  Incumbent BaselineIncumbent() const {
    Incumbent incumbent;
    incumbent.name = input_.baseline_name;
    if (input_.caller_baseline) {
      incumbent.kind = Incumbent::Kind::kNone;
    } else if (IsLibraryBaseline()) {
      incumbent.kind = Incumbent::Kind::kVariant;
      incumbent.plan.text = input_.baseline_name;
    } else {
      incumbent.kind = Incumbent::Kind::kInterpreter;
    }
    return incumbent;
  }

  Incumbent BestIncumbent() const {
    if (!best_) return BaselineIncumbent();
    return {Incumbent::Kind::kVariant, best_->plan, best_path_, best_->family + " " + best_->name};
  }

  JudgeRequest Request(const std::vector<Candidate>& candidates, const Incumbent& incumbent,
                       double measure_seconds, bool full) {
    JudgeRequest request;
    request.id = ++request_id_;
    request.canonical = input_.canonical;
    request.incumbent = incumbent;
    request.candidates = candidates;
    request.build_seconds = std::clamp(SecondsLeft(), kLeastJudgeSeconds, kBuildSeconds);
    request.measure_seconds = measure_seconds;
    request.full = full;
    request.graph = input_.graph;
    request.give_up_ns = best_ ? best_->time_ns : hooks_.baseline_ns();
    request.seconds = std::max(SecondsLeft(), kLeastJudgeSeconds);
    return request;
  }

  void Record(const Candidate& candidate, const JudgeReport& report, bool screening) {
    Trial trial{candidate,          report.verdict, report.detail,   report.time_ns,
                report.baseline_ns, report.ratio,   report.ratio_low};
    std::string text = FullName(candidate) + ": " + std::string(VerdictName(report.verdict));
    if (IsCorrect(report.verdict)) {
      text += Format(", %.4g ns, %.3f x the incumbent (at least %.3f)", report.time_ns,
                     report.ratio, report.ratio_low);
    }
    if (!report.detail.empty()) text += " (" + report.detail + ")";
    if (!candidate.reason.empty() && screening) text += "; tried because " + candidate.reason;
    hooks_.journal("trial", text);
    ++done_;
    hooks_.progress(done_, std::max(total_, done_), FullName(candidate));
    evidence_.trials.push_back(std::move(trial));
  }

  // Whether a candidate that was judged in full beats what there is.
  bool Beats(const JudgeReport& report, const Incumbent& incumbent) const {
    if (!report.verified || !IsCorrect(report.verdict)) return false;
    if (incumbent.kind != Incumbent::Kind::kNone) return report.verdict == Verdict::kFaster;
    const double baseline_ns = hooks_.baseline_ns();
    return baseline_ns <= 0 || report.time_ns * kMargin < baseline_ns;
  }

  void Win(const Candidate& candidate, const JudgeReport& report, const Incumbent& incumbent) {
    Variant variant;
    variant.key = input_.key;
    variant.space = candidate.space;
    variant.family = candidate.family;
    variant.name = candidate.name;
    variant.plan = candidate.plan;
    variant.artifact = report.artifact_sha256;
    variant.requirements = candidate.requirements;
    variant.time_ns = report.time_ns;
    variant.floor_ns = evidence_.floor_ns;
    variant.provisional = report.provisional;
    variant.measured_unix_s = UnixSeconds();
    variant.baseline_name = input_.baseline_name;
    if (incumbent.kind == Incumbent::Kind::kNone) {
      variant.baseline_ns = hooks_.baseline_ns();
      variant.ratio = variant.baseline_ns > 0 ? variant.baseline_ns / report.time_ns : 1;
      variant.ratio_low = variant.ratio;
    } else if (best_) {  // measured against the previous winner: the baseline is one ratio further
      variant.ratio = report.ratio * best_->ratio;
      variant.ratio_low = report.ratio_low * best_->ratio_low;
      variant.baseline_ns = report.time_ns * variant.ratio;
    } else {
      variant.baseline_ns = report.baseline_ns;
      variant.ratio = report.ratio;
      variant.ratio_low = report.ratio_low;
    }
    if (hooks_.quarantined(variant.Identity())) {
      hooks_.journal("trial", FullName(candidate) + ": in quarantine, not published");
      return;
    }
    best_path_ = hooks_.win(variant, report.artifact_path);
    best_ = variant;
    hooks_.journal("win",
                   FullName(candidate) + Format(": %.4g ns, %.3f x the baseline (at least %.3f)",
                                                variant.time_ns, variant.ratio, variant.ratio_low));
  }

  // Full verification, one after the other, each against the best so far.
  void JudgeAgainstBest(const std::vector<Candidate>& candidates, double measure_seconds) {
    for (const Candidate& candidate : candidates) {
      if (Over()) return;
      const Incumbent incumbent = BestIncumbent();
      evaluation_.Judge(Request({candidate}, incumbent, measure_seconds, true),
                        [&](const JudgeReport& report) {
                          Record(candidate, report, true);
                          if (Beats(report, incumbent)) Win(candidate, report, incumbent);
                          return true;
                        });
    }
  }

  // A short look at many, all beside the same yardstick.
  void Screen(const std::vector<Candidate>& candidates) {
    const Incumbent incumbent = BestIncumbent();
    for (size_t i = 0; i < candidates.size() && !Over(); i += kBatch) {
      const std::vector<Candidate> batch(
          candidates.begin() + i, candidates.begin() + std::min(i + kBatch, candidates.size()));
      evaluation_.Judge(Request(batch, incumbent, kScreenMeasureSeconds, false),
                        [&](const JudgeReport& report) {
                          Record(batch[report.candidate], report, true);
                          screened_.push_back({batch[report.candidate], report});
                          return !Over();
                        });
    }
  }

  void RefineRounds() {
    for (int round = 0; round < kRefinementRounds && !Over(); ++round) {
      const size_t before = evidence_.trials.size();
      const double best_before = BestTrialNs(before);
      std::vector<std::vector<Candidate>> lists;
      for (const Policy* policy : policies_) {
        lists.push_back(
            policy->Refine(input_.task, evidence_, BudgetFor(kRefinementsPerPolicy)).candidates);
      }
      const std::vector<Candidate> candidates = Interleave(std::move(lists));
      if (candidates.empty()) return;
      total_ = done_ + static_cast<uint32_t>(candidates.size());
      Screen(candidates);
      if (BestTrialNs(evidence_.trials.size()) * kMargin > best_before) return;
    }
  }

  double BestTrialNs(size_t count) const {
    double best = 1e300;
    for (size_t i = 0; i < count; ++i) {
      const Trial& t = evidence_.trials[i];
      if (IsCorrect(t.verdict) && t.time_ns > 0) best = std::min(best, t.time_ns);
    }
    return best;
  }

  // The few best of the screening, again and longer, against the best so far.
  void Finals() {
    std::vector<std::pair<Candidate, JudgeReport>> alive;
    for (auto& entry : screened_) {
      if (IsCorrect(entry.second.verdict) && entry.second.ratio > 1) alive.push_back(entry);
      if (IsCorrect(entry.second.verdict) && entry.second.ratio == 0) alive.push_back(entry);
    }
    std::stable_sort(alive.begin(), alive.end(), [](const auto& a, const auto& b) {
      return a.second.time_ns < b.second.time_ns;
    });
    if (alive.size() > kFinalists) alive.resize(kFinalists);
    std::vector<Candidate> finalists;
    for (auto& entry : alive) finalists.push_back(std::move(entry.first));
    total_ = done_ + static_cast<uint32_t>(finalists.size());
    JudgeAgainstBest(finalists, kFinalMeasureSeconds);
  }

  std::string Outcome() const {
    std::string tried = std::to_string(evidence_.trials.size()) + " trials in " +
                        Format("%.1f s", input_.seconds - SecondsLeft());
    if (!best_) return "the baseline stays: nothing beat it beyond the noise, " + tried;
    std::string text = std::string(SpaceName(best_->space)) + "/" + best_->family + " " +
                       best_->name + Format(", %.2f x the baseline", best_->ratio);
    if (evidence_.floor_ns > 0) {
      text += Format(", %.0f %% of the roofline", 100 * evidence_.floor_ns / best_->time_ns);
    }
    return text + ", " + tried;
  }

  const SearchInput& input_;
  const std::vector<const Policy*>& policies_;
  Evaluation& evaluation_;
  const SearchHooks& hooks_;
  const int64_t start_ns_;
  Evidence evidence_;
  std::optional<Variant> best_;
  std::string best_path_;
  std::set<std::string> names_;  // tried or about to be
  std::vector<std::pair<Candidate, JudgeReport>> screened_;
  uint64_t request_id_ = 0;
  uint32_t done_ = 0, total_ = 0;
};

}  // namespace

std::string Search(const SearchInput& input, const std::vector<const Policy*>& policies,
                   Evaluation& evaluation, const SearchHooks& hooks) {
  return Searcher(input, policies, evaluation, hooks).Run();
}

}  // namespace hiera
