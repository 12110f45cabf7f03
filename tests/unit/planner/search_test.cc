// The search against a fictional evaluator and fictional policies: no process, no compiler, no
// clock that matters.
#include "runtime/planner/search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

// Knows the true time of every candidate by name. Answers as a perfect instrument would.
class FictionalEvaluation : public Evaluation {
 public:
  std::map<std::string, double> time_ns;  // by candidate name
  std::map<std::string, Verdict> broken;  // instead of a time
  double baseline_ns = 1000;
  int judged = 0;
  std::vector<JudgeRequest> requests;
  std::map<std::string, int> full_judgements;  // by candidate name

  Result<MachineReport> Machine() override { return MachineReport{}; }

  EnumerateReport offered;
  std::vector<EnumerateRequest> asked;
  Result<EnumerateReport> Enumerate(const EnumerateRequest& request) override {
    asked.push_back(request);
    return offered;
  }

  std::vector<JudgeReport> Judge(const JudgeRequest& request,
                                 const std::function<bool(const JudgeReport&)>& seen) override {
    std::vector<JudgeReport> reports;
    requests.push_back(request);
    for (uint32_t i = 0; i < request.candidates.size(); ++i) {
      const std::string& name = request.candidates[i].name;
      ++judged;
      JudgeReport report;
      report.id = request.id;
      report.candidate = i;
      if (broken.count(name)) {
        report.verdict = broken[name];
      } else {
        const bool alone = request.incumbent.kind == Incumbent::Kind::kNone;
        report.time_ns = time_ns.at(name);
        if (!alone) {
          report.baseline_ns = IncumbentNs(request.incumbent);
          report.ratio = report.baseline_ns / report.time_ns;
          report.ratio_low = report.ratio * 0.99;
        }
        report.verified = request.full;
        report.verdict = report.ratio_low > 1.02 ? Verdict::kFaster : Verdict::kNotFaster;
        report.artifact_sha256 = "sha of " + name;
        report.artifact_path = "/built/" + name;
      }
      if (request.full) ++full_judgements[name];
      reports.push_back(report);
      if (!seen(report)) break;
    }
    return reports;
  }

 private:
  // A variant is known by where its code was kept, which the tests name after the candidate.
  double IncumbentNs(const Incumbent& incumbent) {
    if (incumbent.kind != Incumbent::Kind::kVariant) return baseline_ns;
    if (incumbent.artifact_path.empty()) return baseline_ns;
    return time_ns.at(incumbent.artifact_path.substr(std::string("/kept/").size()));
  }
};

class FictionalPolicy : public Policy {
 public:
  FictionalPolicy(std::string name, Space space, std::vector<std::string> first,
                  std::vector<std::string> later = {})
      : name_(std::move(name)), space_(space), first_(std::move(first)), later_(std::move(later)) {}
  std::string_view name() const override { return name_; }
  Space space() const override { return space_; }
  Proposal Propose(const Task&, const Evidence&, const Budget&) const override {
    return Of(first_, "not my kind of task");
  }
  Proposal Refine(const Task&, const Evidence&, const Budget&) const override {
    return Of(later_, "nothing to refine");
  }

 private:
  Proposal Of(const std::vector<std::string>& names, const char* refusal) const {
    Proposal proposal;
    for (const std::string& name : names) {
      Candidate candidate;
      candidate.space = space_;
      candidate.family = name_;
      candidate.name = name;
      candidate.reason = "the test says so";
      proposal.candidates.push_back(candidate);
    }
    if (names.empty()) proposal.refusal = refusal;
    return proposal;
  }
  std::string name_;
  Space space_;
  std::vector<std::string> first_, later_;
};

class SearchTest : public testing::Test {
 protected:
  SearchTest() {
    const char* text = "tensor x: f32[1000]\ntensor y: f32[1000]\ny[i] = 2 * x[i]";
    input_.task = *ParseTask(text);
    input_.canonical = CanonicalText(input_.task);
    input_.baseline_name = "interpreter";
    hooks_.win = [this](const Variant& variant, const std::string& file) {
      wins_.push_back(variant);
      return "/kept/" + file.substr(std::string("/built/").size());
    };
    hooks_.journal = [this](std::string_view kind, const std::string& line) {
      journal_ += std::string(kind) + ": " + line + "\n";
    };
    hooks_.progress = [this](uint32_t done, uint32_t total, const std::string&) {
      EXPECT_LE(done, total);
    };
    hooks_.quarantined = [](const Hash128&) { return false; };
    hooks_.baseline_ns = [this] { return application_baseline_ns_; };
    hooks_.cancelled = [this] { return cancel_after_ >= 0 && evaluation_.judged >= cancel_after_; };
  }

  std::string Run(std::vector<FictionalPolicy> policies) {
    std::vector<const Policy*> pointers;
    for (const FictionalPolicy& policy : policies) pointers.push_back(&policy);
    return Search(input_, pointers, evaluation_, hooks_);
  }

  SearchInput input_;
  SearchHooks hooks_;
  FictionalEvaluation evaluation_;
  std::vector<Variant> wins_;
  std::string journal_;
  double application_baseline_ns_ = 0;
  int cancel_after_ = -1;
};

TEST_F(SearchTest, TheFastestOfManyWins) {
  std::vector<std::string> names;
  for (int i = 0; i < 14; ++i) {
    names.push_back("c" + std::to_string(i));
    evaluation_.time_ns[names.back()] = 900 - 50 * ((i * 5) % 14);  // the best is the 12th: 250
  }
  Run({FictionalPolicy("f", Space::kKernel, names)});
  ASSERT_FALSE(wins_.empty());
  const auto best =
      std::min_element(evaluation_.time_ns.begin(), evaluation_.time_ns.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  EXPECT_EQ(wins_.back().name, best->first);
  EXPECT_DOUBLE_EQ(wins_.back().time_ns, 250);
  // Chained through earlier winners, the ratio is still the one to the baseline.
  EXPECT_NEAR(wins_.back().ratio, 4, 1e-9);
  EXPECT_NEAR(wins_.back().baseline_ns, 1000, 1e-6);
}

TEST_F(SearchTest, OnlyFewAreJudgedInFull) {
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) {
    names.push_back("c" + std::to_string(i));
    evaluation_.time_ns[names.back()] = 500 + i;
  }
  Run({FictionalPolicy("f", Space::kKernel, names)});
  EXPECT_LE(evaluation_.full_judgements.size(), 6u);  // a first batch of 3, and 3 finalists
  EXPECT_EQ(wins_.size(), 1u) << "differences below the noise must not swap again";
}

TEST_F(SearchTest, TheFirstWinComesBeforeTheRestIsScreened) {
  evaluation_.time_ns = {{"good", 400}, {"x", 800}, {"y", 800}, {"z", 800}, {"late", 800}};
  int judged_at_win = -1;
  hooks_.win = [&](const Variant&, const std::string& file) {
    if (judged_at_win < 0) judged_at_win = evaluation_.judged;
    return "/kept/" + file.substr(std::string("/built/").size());
  };
  Run({FictionalPolicy("f", Space::kKernel, {"good", "x", "y", "z", "late"})});
  EXPECT_EQ(judged_at_win, 1);
}

TEST_F(SearchTest, NothingFasterKeepsTheBaseline) {
  evaluation_.time_ns = {{"a", 1010}, {"b", 1000}, {"c", 985}};
  const std::string outcome = Run({FictionalPolicy("f", Space::kKernel, {"a", "b", "c"})});
  EXPECT_TRUE(wins_.empty());
  EXPECT_EQ(outcome.rfind("the baseline stays", 0), 0u) << outcome;
}

TEST_F(SearchTest, BrokenCandidatesNeverWinAndAreToldOf) {
  evaluation_.broken = {{"wrong", Verdict::kWrong}, {"crash", Verdict::kCrashed}};
  evaluation_.time_ns = {{"honest", 700}};
  Run({FictionalPolicy("f", Space::kKernel, {"wrong", "crash", "honest"})});
  ASSERT_EQ(wins_.size(), 1u);
  EXPECT_EQ(wins_[0].name, "honest");
  EXPECT_NE(journal_.find("kernel/f wrong: wrong"), std::string::npos) << journal_;
  EXPECT_NE(journal_.find("kernel/f crash: crashed"), std::string::npos) << journal_;
}

TEST_F(SearchTest, EverySpaceIsSeenEarlyAndRefusalsAreKept) {
  evaluation_.time_ns = {{"k1", 990}, {"k2", 990}, {"k3", 990}, {"k4", 990}, {"l1", 600}};
  Run({FictionalPolicy("loops", Space::kFramework, {"l1"}),
       FictionalPolicy("gemm", Space::kKernel, {}),
       FictionalPolicy("stencil", Space::kKernel, {"k1", "k2", "k3", "k4"})});
  EXPECT_EQ(evaluation_.full_judgements.count("l1"), 1u);
  EXPECT_EQ(wins_.at(0).space, Space::kFramework);
  EXPECT_NE(journal_.find("refusal: gemm: not my kind of task"), std::string::npos) << journal_;
}

TEST_F(SearchTest, WhereALibraryAnswersLoopsComeLast) {
  input_.baseline_name = "library call";
  evaluation_.time_ns = {{"k1", 990}, {"k2", 990}, {"k3", 990}, {"k4", 990}, {"l1", 600}};
  cancel_after_ = 4;
  Run({FictionalPolicy("loops", Space::kFramework, {"l1"}),
       FictionalPolicy("gemm", Space::kKernel, {"k1", "k2", "k3", "k4"})});
  EXPECT_EQ(journal_.find("l1"), std::string::npos) << journal_;
}

TEST_F(SearchTest, RefinementIsFollowed) {
  evaluation_.time_ns = {{"seed", 800}, {"refined", 300}};
  Run({FictionalPolicy("f", Space::kKernel, {"seed"}, {"refined"})});
  ASSERT_FALSE(wins_.empty());
  EXPECT_EQ(wins_.back().name, "refined");
}

TEST_F(SearchTest, ACallersBaselineIsBeatenByTimeAlone) {
  input_.caller_baseline = true;
  input_.baseline_name = "caller";
  application_baseline_ns_ = 500;
  evaluation_.time_ns = {{"slower", 600}, {"faster", 250}};
  Run({FictionalPolicy("f", Space::kKernel, {"slower", "faster"})});
  ASSERT_EQ(wins_.size(), 1u);
  EXPECT_EQ(wins_[0].name, "faster");
  EXPECT_DOUBLE_EQ(wins_[0].ratio, 2);
}

TEST_F(SearchTest, TheEvaluatorIsToldWhatIsKnownOfTheTimeToBeat) {
  evaluation_.time_ns = {{"a", 400}, {"b", 900}};
  Run({FictionalPolicy("f", Space::kKernel, {"a", "b"})});
  ASSERT_GE(evaluation_.requests.size(), 2u);
  EXPECT_EQ(evaluation_.requests[0].give_up_ns, 0);  // nobody has measured anything
  EXPECT_EQ(evaluation_.requests[1].give_up_ns, 400);

  evaluation_.requests.clear();
  application_baseline_ns_ = 750;
  Run({FictionalPolicy("f", Space::kKernel, {"a"})});
  EXPECT_EQ(evaluation_.requests[0].give_up_ns, 750);
}

TEST_F(SearchTest, ARequestMayTakeWhatIsLeftOfTheBudget) {
  input_.seconds = 7;
  evaluation_.time_ns = {{"a", 400}};
  Run({FictionalPolicy("f", Space::kKernel, {"a"})});
  EXPECT_LE(evaluation_.requests.at(0).seconds, 7);
  EXPECT_GT(evaluation_.requests.at(0).seconds, 1);
}

TEST_F(SearchTest, CancellingStopsBetweenCandidates) {
  std::vector<std::string> names;
  for (int i = 0; i < 16; ++i) {
    names.push_back("c" + std::to_string(i));
    evaluation_.time_ns[names.back()] = 999;
  }
  cancel_after_ = 5;
  Run({FictionalPolicy("f", Space::kKernel, names)});
  EXPECT_EQ(evaluation_.judged, 5);
}

TEST_F(SearchTest, TheFloorEndsTheSearchUnlessItIsNotBelievable) {
  // 8,000 bytes at 16 GB/s are 500 ns, in a machine with no cache to speak of.
  input_.machine.copy_gbps = 16;
  input_.machine.l3_bytes = 0;
  evaluation_.time_ns = {{"at the floor", 505}, {"b", 800}, {"c", 800}};
  Run({FictionalPolicy("f", Space::kKernel, {"at the floor", "b", "c"})});
  EXPECT_EQ(evaluation_.judged, 1);
  evaluation_.judged = 0;
  evaluation_.time_ns = {{"far below", 250}, {"b", 200}, {"c", 800}};
  Run({FictionalPolicy("f", Space::kKernel, {"far below", "b", "c"})});
  EXPECT_EQ(wins_.back().name, "b");
}

TEST_F(SearchTest, WhatIsInQuarantineIsNotPublished) {
  evaluation_.time_ns = {{"bad before", 100}};
  hooks_.quarantined = [](const Hash128&) { return true; };
  const std::string outcome = Run({FictionalPolicy("f", Space::kKernel, {"bad before"})});
  EXPECT_TRUE(wins_.empty());
  EXPECT_NE(journal_.find("in quarantine"), std::string::npos) << journal_;
}

TEST_F(SearchTest, AStoredVariantIsTheIncumbent) {
  Variant stored;
  stored.family = "f";
  stored.name = "stored";
  stored.time_ns = 400;
  stored.ratio = stored.ratio_low = 2.5;
  input_.current = stored;
  input_.current_artifact_path = "/kept/stored";
  evaluation_.time_ns = {{"stored", 400}, {"a", 450}, {"b", 200}};
  Run({FictionalPolicy("f", Space::kKernel, {"a", "b"})});
  ASSERT_EQ(wins_.size(), 1u);
  EXPECT_EQ(wins_[0].name, "b");
  EXPECT_NEAR(wins_[0].ratio, 5, 1e-9);
}

// Proposes whatever the libraries offer.
class OfferedPolicy : public Policy {
 public:
  std::string_view name() const override { return "offered"; }
  Space space() const override { return Space::kLibrary; }
  bool NeedsOffers() const override { return true; }
  Proposal Propose(const Task&, const Evidence& evidence, const Budget&) const override {
    Proposal proposal;
    for (const LibraryOffer& offer : evidence.offers) {
      for (const LibraryChoice& choice : offer.choices) {
        Candidate candidate;
        candidate.space = Space::kLibrary;
        candidate.family = offer.family;
        candidate.name = choice.name;
        candidate.plan = choice.plan;
        proposal.candidates.push_back(candidate);
      }
    }
    if (proposal.candidates.empty()) proposal.refusal = evidence.offers_refusal;
    return proposal;
  }
};

TEST_F(SearchTest, PoliciesThatWantToKnowAreToldWhatLibrariesOffer) {
  evaluation_.time_ns = {{"a", 900}, {"b", 400}};
  evaluation_.offered.offers = {
      {"cublaslt", {}, {{{"library a", 0, 0}, "a", 0, 0}, {{"library b", 0, 0}, "b", -1, 0}}, ""},
      {"cudnn", {}, {}, "not a convolution"}};
  input_.task.contract.workspace_bytes = 1 << 20;
  const OfferedPolicy policy;
  Search(input_, {&policy}, evaluation_, hooks_);
  ASSERT_EQ(evaluation_.asked.size(), 1U);
  EXPECT_EQ(evaluation_.asked[0].canonical, input_.canonical);
  EXPECT_EQ(evaluation_.asked[0].workspace_bytes, 1 << 20);
  ASSERT_FALSE(wins_.empty());
  EXPECT_EQ(wins_.back().plan.text, "library b");
  EXPECT_NE(journal_.find("offer: cublaslt: 2 choices"), std::string::npos) << journal_;
  EXPECT_NE(journal_.find("offer: cudnn: not a convolution"), std::string::npos) << journal_;
}

TEST_F(SearchTest, NobodyIsAskedForOffersThatNobodyWants) {
  evaluation_.time_ns = {{"x", 800}};
  Run({FictionalPolicy("f", Space::kKernel, {"x"})});
  EXPECT_TRUE(evaluation_.asked.empty());
}

TEST_F(SearchTest, ARefusedEnumerationIsARefusalOfThePolicy) {
  evaluation_.offered.refusal = "no GPU";
  const OfferedPolicy policy;
  EXPECT_EQ(Search(input_, {&policy}, evaluation_, hooks_),
            "nothing to try: every policy refused");
  EXPECT_NE(journal_.find("refusal: offered: no GPU"), std::string::npos) << journal_;
}

}  // namespace
}  // namespace hiera
