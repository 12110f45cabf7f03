// The three real processes, from the first miss to the next day: swap, warm start, frozen, races,
// deaths. Each test has a store of its own.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "session.h"

namespace {

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

void ExpectRight(const Outcome& outcome) {
  ASSERT_EQ(outcome.exit_code, 0) << outcome.output << outcome.errors;
  ASSERT_NE(outcome["error_max"], "");
  EXPECT_LT(std::atof(outcome["error_max"].c_str()), 1e-4) << outcome.output;
}

class LifeTest : public testing::TestWithParam<const char*> {
 protected:
  Session session_;
};

TEST_P(LifeTest, ColdSwapsAndWarmStartsWithTheVariant) {
  const Outcome cold = session_.App({GetParam(), "settle"});
  ExpectRight(cold);
  EXPECT_EQ(cold["settle"], "ok") << cold.output << session_.Hiera({"status"}).output;
  EXPECT_EQ(cold["first_generation"], "0");
  EXPECT_GE(std::atoi(cold["generation"].c_str()), 1)
      << session_.Hiera({"explain", cold["key"]}).output;
  EXPECT_GT(std::atof(cold["speedup"].c_str()), 1.02);
  EXPECT_EQ(cold["load_failures"], "0");

  const Outcome warm = session_.App({GetParam()});
  ExpectRight(warm);
  EXPECT_EQ(warm["first_generation"], "1") << "the first run must use the stored variant";
  EXPECT_EQ(warm["index_hits"], "1");
}

INSTANTIATE_TEST_SUITE_P(Tasks, LifeTest, testing::Values("blur", "gemm", "norm"));

class Life : public testing::Test {
 protected:
  Session session_;
};

TEST_F(Life, TheApplicationNeverSeesAChild) {
  const Outcome outcome = session_.App({"norm", "settle"});
  ExpectRight(outcome);
  EXPECT_EQ(outcome["sigchld"], "0");
  EXPECT_EQ(outcome["waitpid"], "-1");
  EXPECT_EQ(outcome["connected"], "1");
}

TEST_F(Life, FrozenNeedsTheIndexAlone) {
  ExpectRight(session_.App({"norm", "settle"}));
  session_.Hiera({"stop"});
  ASSERT_TRUE(Eventually([&] { return session_.PlannerPid() == 0; }));
  std::filesystem::remove_all(session_.store() + "/db");
  session_.Set("HIERA_MODE", "frozen");
  const Outcome frozen = session_.App({"norm", "settle"});
  ExpectRight(frozen);
  EXPECT_EQ(frozen["first_generation"], "1");
  EXPECT_EQ(frozen["settle"], "unavailable");
  EXPECT_EQ(session_.PlannerPid(), 0) << "frozen must not start a planner";
  EXPECT_FALSE(std::filesystem::exists(session_.store() + "/db")) << "frozen must not write";
}

TEST_F(Life, OffRunsTheBaseline) {
  session_.Set("HIERA_MODE", "off");
  const Outcome off = session_.App({"norm", "settle"});
  ExpectRight(off);
  EXPECT_EQ(off["generation"], "0");
  EXPECT_EQ(off["settle"], "unavailable");
  EXPECT_EQ(session_.PlannerPid(), 0);
  EXPECT_FALSE(std::filesystem::exists(session_.store())) << "off must not touch the disk";
}

TEST_F(Life, EightProcessesPlanATaskOnceWithOnePlanner) {
  std::vector<Running> apps;
  for (int i = 0; i < 8; ++i) {
    apps.push_back(session_.Start({HIERA_BINARIES "/end_to_end_app", "norm", "settle"}));
  }
  std::string key;
  for (Running& app : apps) {
    const Outcome outcome = app.Wait();
    ExpectRight(outcome);
    EXPECT_EQ(outcome["settle"], "ok");
    EXPECT_GE(std::atoi(outcome["generation"].c_str()), 1);
    key = outcome["key"];
  }
  const std::string explained = session_.Hiera({"explain", key}).output;
  const std::string journal = explained.substr(explained.find("\njournal\n"));
  EXPECT_EQ(Count(journal, "  plan "), 1) << journal;
  EXPECT_EQ(Count(journal, "  settled "), 1) << journal;
}

TEST_F(Life, AKilledPlannerIsReplacedAndTheProgramNeverNotices) {
  const std::string go = session_.Path("go");
  Running app =
      session_.Start({HIERA_BINARIES "/end_to_end_app", "blur", "settle", "wait-for=" + go});
  pid_t first = 0;
  ASSERT_TRUE(Eventually([&] { return (first = session_.PlannerPid()) != 0; }));
  kill(first, SIGKILL);
  std::ofstream(go) << "now";
  const Outcome outcome = app.Wait();
  ExpectRight(outcome);
  EXPECT_EQ(outcome["settle"], "ok");
  const pid_t second = session_.PlannerPid();
  EXPECT_NE(second, 0);
  EXPECT_NE(second, first);
}

TEST_F(Life, WithoutAPlannerTheBaselineServes) {
  session_.Set("HIERA_PLANNER", "/nonexistent/hiera-planner");
  const Outcome outcome = session_.App({"norm", "settle"});
  ExpectRight(outcome);
  EXPECT_EQ(outcome["settle"], "unavailable");
  EXPECT_EQ(outcome["generation"], "0");
}

TEST_F(Life, AStoreThatCannotBeUsedIsSaidAndDoneWithout) {
  session_.Set("HIERA_STORE", session_.Path("file"));
  std::ofstream(session_.Path("file")) << "not a folder";
  session_.Set("HIERA_VERBOSE", "1");
  const Outcome outcome = session_.App({"norm", "settle"});
  ExpectRight(outcome);
  EXPECT_EQ(outcome["load_failures"], "0") << outcome.errors;
  EXPECT_GE(std::atoi(outcome["generation"].c_str()), 1) << outcome.errors;
  EXPECT_EQ(Count(outcome.errors, "the store can't be used"), 1) << outcome.errors;
  session_.Hiera({"stop"});
}

TEST_F(Life, WhatACompilerWasMissingForIsPlannedWhenThereIsOne) {
  session_.Set("HIERA_GCC", "/bin/false");
  session_.Set("HIERA_CLANG", "/bin/false");
  session_.Set("HIERA_VERBOSE", "1");
  const Outcome without = session_.App({"norm", "settle"});
  ExpectRight(without);
  EXPECT_EQ(without["generation"], "0");
  EXPECT_EQ(Count(without.errors, "no C++ compiler runs"), 1) << without.errors;
  session_.Hiera({"stop"});
  ASSERT_TRUE(Eventually([&] { return session_.PlannerPid() == 0; }));

  session_.Unset("HIERA_GCC");
  session_.Unset("HIERA_CLANG");
  const Outcome with = session_.App({"norm", "settle"});
  ExpectRight(with);
  EXPECT_GE(std::atoi(with["generation"].c_str()), 1) << with.errors;
}

TEST_F(Life, ADeletedStoreIsMadeAnew) {
  const Outcome before = session_.App({"norm", "settle"});
  ExpectRight(before);
  std::filesystem::remove_all(session_.store());
  const Outcome after = session_.App({"norm", "settle"});
  ExpectRight(after);
  EXPECT_EQ(after["first_generation"], "0");
  EXPECT_GE(std::atoi(after["generation"].c_str()), 1) << after.errors;
  EXPECT_EQ(after["load_failures"], "0");
}

TEST_F(Life, TheChildOfAForkKeepsWorking) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "gcc's thread sanitizer ends a forked child that starts a thread";
#endif
  const Outcome outcome = session_.App({"blur", "settle", "fork"});
  ExpectRight(outcome);
  EXPECT_EQ(outcome["child"], "7") << outcome.output << outcome.errors;
}

TEST_F(Life, AnIdlePlannerEnds) {
  session_.Set("HIERA_PLANNER_IDLE_S", "1");
  ExpectRight(session_.App({"norm", "settle"}));
  // Asking keeps it awake, so look at its process instead.
  std::string log_path = session_.store() + "/planner.log";
  EXPECT_TRUE(Eventually([&] {
    std::ifstream log(log_path);
    const std::string text((std::istreambuf_iterator<char>(log)), std::istreambuf_iterator<char>());
    return text.find("idle, ending") != text.npos;
  }));
}

TEST_F(Life, APipelineEndsWithItsProgram) {
  // The planner outlives the program, and must not hold the pipe open.
  const Outcome outcome =
      session_.Run({"/bin/sh", "-c", HIERA_BINARIES "/end_to_end_app norm settle | cat"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome["settle"], "ok");
  EXPECT_NE(session_.PlannerPid(), 0);
}

}  // namespace
