// The `hiera` command against real processes.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "session.h"

namespace {

class Command : public testing::Test {
 protected:
  Session session_;
};

TEST_F(Command, TellsTheStoryOfATask) {
  EXPECT_NE(session_.Hiera({"status"}).output.find("none is running"), std::string::npos);
  const Outcome app = session_.App({"gemm", "settle"});
  ASSERT_EQ(app["settle"], "ok") << app.output;
  const std::string key = app["key"];

  const std::string status = session_.Hiera({"status"}).output;
  EXPECT_NE(status.find("1 known, 1 settled"), std::string::npos) << status;
  const std::string list = session_.Hiera({"ls"}).output;
  EXPECT_TRUE(std::regex_search(list, std::regex(key.substr(0, 12) + " +gemm "))) << list;
  const std::string show = session_.Hiera({"show", key.substr(0, 10)}).output;
  EXPECT_NE(show.find("key " + key), std::string::npos) << show;
  EXPECT_NE(show.find("roofline floor"), std::string::npos) << show;
  const std::string explain = session_.Hiera({"explain", key}).output;
  EXPECT_NE(explain.find("settled: "), std::string::npos) << explain;
  EXPECT_NE(explain.find("  trial "), std::string::npos) << explain;
  EXPECT_NE(explain.find("  win "), std::string::npos) << explain;
  EXPECT_NE(explain.find("  refusal "), std::string::npos) << explain;
}

TEST_F(Command, TunesAFileAndTheApplicationStartsWarm) {
  const std::string file = session_.Path("shapes.csv");
  std::ofstream(file) << "m,n,k\n24,24,24\n2000,2000,2000\n";
  const Outcome tune = session_.Hiera({"tune", "--max-gflop", "1", "--seconds", "5", file});
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_NE(tune.output.find("gemm f32 2000x2000x2000"), std::string::npos) << tune.output;
  EXPECT_NE(tune.output.find("left out: 16.00 GFLOP"), std::string::npos) << tune.output;
  EXPECT_TRUE(std::regex_search(
      tune.output, std::regex("tune: 1 of 1 GEMM shapes faster \\(geomean [0-9.]+ x\\)\n$")))
      << tune.output;
  const Outcome app = session_.App({"gemm"});
  EXPECT_EQ(app["first_generation"], "1") << app.output;
}

TEST_F(Command, TunesFormulas) {
  const std::string file = session_.Path("formulas.txt");
  std::ofstream(file) << "tensor x: f32[64,2048]; tensor y: f32[64,2048]; y[i,j] = exp(x[i,j])\n";
  // More than it takes: sanitizers and a busy machine slow compilers and measurements down.
  const Outcome tune = session_.Hiera({"tune", "--seconds", "30", file});
  ASSERT_EQ(tune.exit_code, 0) << tune.errors;
  EXPECT_NE(tune.output.find("tune: 1 of 1 formula shapes faster"), std::string::npos)
      << tune.output;
}

TEST_F(Command, ClearForgets) {
  const Outcome app = session_.App({"norm", "settle"});
  ASSERT_EQ(app["settle"], "ok");
  EXPECT_EQ(session_.Hiera({"clear"}).output, "the store is empty\n");
  EXPECT_NE(session_.Hiera({"status"}).output.find("0 known"), std::string::npos);
  EXPECT_EQ(session_.App({"norm"})["first_generation"], "0");
}

TEST_F(Command, ErrorsSayWhatToDo) {
  EXPECT_EQ(session_.Hiera({"explain", "abc"}).errors,
            "hiera: no task has the key abc; `hiera ls` lists them\n");
  EXPECT_NE(session_.Hiera({"tune", session_.Path("missing")}).errors.find("can't be read"),
            std::string::npos);
  const std::string file = session_.Path("bad.csv");
  std::ofstream(file) << "m,n,k\n24,x,24\n";
  const Outcome bad = session_.Hiera({"tune", file});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.errors.find("line 2: column n"), std::string::npos) << bad.errors;
  std::ofstream(file) << "y[i] = \n";
  EXPECT_NE(session_.Hiera({"tune", file}).errors.find("line 1"), std::string::npos);
}

}  // namespace
