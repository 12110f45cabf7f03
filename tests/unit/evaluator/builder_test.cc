#include "runtime/evaluator/builder.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "runtime/evaluator/digest.h"

namespace hiera {
namespace {

class BuilderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/hiera-builder-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    auto builder = Builder::Make(folder_, GetEnvironment());
    ASSERT_TRUE(builder.ok()) << builder.status().message();
    builder_ = *std::move(builder);
    if (builder_->compilers().gcc.path.empty()) GTEST_SKIP() << "no g++ on this machine";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  BuildResult Build(const std::string& source, double seconds = 60,
                    std::vector<std::string> flags = {}) {
    Candidate candidate;
    candidate.source = source;
    candidate.flags = std::move(flags);
    return builder_->Take(builder_->Start(candidate, Arithmetic::kReassociate, seconds, 0));
  }

  static constexpr const char* kEmpty =
      "extern \"C\" void hiera_variant(const hiera_host_call*) {}\n";
  std::string folder_;
  std::optional<Builder> builder_;
};

TEST_F(BuilderTest, TheObjectIsNamedByItsContent) {
  const BuildResult built = Build(kEmpty);
  ASSERT_TRUE(built.ok) << built.detail;
  EXPECT_EQ(*DigestOfFile(built.path), built.sha256);
  EXPECT_NE(built.path.find(built.sha256), std::string::npos);
  EXPECT_EQ(built.sha256.size(), 64u);
  EXPECT_GT(built.seconds, 0);
}

TEST_F(BuilderTest, TheSameSourceIsNotBuiltTwice) {
  const BuildResult first = Build(kEmpty), again = Build(kEmpty);
  ASSERT_TRUE(again.ok) << again.detail;
  EXPECT_EQ(again.path, first.path);
  EXPECT_EQ(again.seconds, 0);
  // Other flags make another build.
  EXPECT_GT(Build(kEmpty, 60, {"-O2"}).seconds, 0);
}

TEST_F(BuilderTest, ADamagedObjectIsBuiltAgain) {
  const BuildResult first = Build(kEmpty);
  ASSERT_TRUE(first.ok);
  ASSERT_TRUE(WriteFile(first.path, "not an object").ok());
  const BuildResult again = Build(kEmpty);
  EXPECT_TRUE(again.ok);
  EXPECT_GT(again.seconds, 0);
  EXPECT_EQ(*DigestOfFile(again.path), first.sha256);
}

TEST_F(BuilderTest, ACompilerErrorIsToldWithItsLine) {
  const BuildResult built = Build("\nint broken = undeclared_name;\n");
  EXPECT_FALSE(built.ok);
  EXPECT_NE(built.detail.find("candidate:2"), std::string::npos) << built.detail;
  EXPECT_NE(built.detail.find("undeclared_name"), std::string::npos) << built.detail;
}

TEST_F(BuilderTest, AnUnresolvedSymbolOfTheCppRuntimeIsFoundAtTheLatestWhenLoading) {
  // Links (a shared object may), but carries no C++ run time into the application.
  const BuildResult built = Build(
      "struct S { S(); }; S* f() { return new S; }"
      "extern \"C\" void hiera_variant(const hiera_host_call*) {}\n");
  EXPECT_TRUE(built.ok) << built.detail;
}

// A template bomb must not outlive its budget.
TEST_F(BuilderTest, AnEndlessBuildIsKilledAtItsDeadline) {
  const BuildResult built = Build(
      "template <int N, int M> struct B { static constexpr long v = B<N - 1, M>::v + "
      "B<N - 1, M + (1 << N)>::v; };"
      "template <int M> struct B<0, M> { static constexpr long v = M; };"
      "long x = B<22, 0>::v;",
      1);
  EXPECT_FALSE(built.ok);
  EXPECT_LT(built.seconds, 30);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/build"));
}

TEST_F(BuilderTest, QueuedBuildsAllEnd) {
  std::vector<int> tickets;
  for (int i = 0; i < 5; ++i) {
    Candidate candidate;
    candidate.source = kEmpty + ("int version_" + std::to_string(i) + ";\n");
    tickets.push_back(builder_->Start(candidate, Arithmetic::kReassociate, 60, 0));
  }
  builder_->Pause();
  builder_->Resume();
  for (size_t i = tickets.size(); i-- > 0;) {
    const BuildResult built = builder_->Take(tickets[i]);
    EXPECT_TRUE(built.ok) << built.detail;
  }
}

TEST_F(BuilderTest, AMissingCompilerIsNamedWithTheRemedy) {
  Environment environment = GetEnvironment();
  environment.clang = "/nonexistent/clang++";
  auto builder = Builder::Make(folder_ + "/other", environment);
  ASSERT_TRUE(builder.ok()) << builder.status().message();
  Candidate candidate;
  candidate.compiler = Candidate::Compiler::kClang;
  candidate.source = kEmpty;
  const BuildResult built = builder->Take(builder->Start(candidate, Arithmetic::kExact, 5, 0));
  EXPECT_FALSE(built.ok);
  EXPECT_NE(built.detail.find("HIERA_CLANG"), std::string::npos);
}

TEST(BuildArguments, RefusesWhatWouldChangeMeaningOrReachOutside) {
  for (const char* flag : {"-ffast-math", "-Ofast", "-ffinite-math-only", "-o/tmp/x", "-I/etc",
                           "@/etc/passwd", "-fplugin=x.so", "-Wl,-rpath,/tmp", "-include", "-B.",
                           "-D", "-march=foo", "-funsafe-math-optimizations"}) {
    auto arguments = BuildArguments({flag}, Arithmetic::kReassociate);
    ASSERT_FALSE(arguments.ok()) << flag;
    EXPECT_NE(arguments.status().message().find(flag), std::string::npos);
  }
}

TEST(BuildArguments, ContractionFollowsTheContract) {
  const auto has = [](const std::vector<std::string>& list, const char* flag) {
    return std::find(list.begin(), list.end(), flag) != list.end();
  };
  EXPECT_TRUE(has(*BuildArguments({}, Arithmetic::kExact), "-ffp-contract=off"));
  EXPECT_TRUE(has(*BuildArguments({}, Arithmetic::kReassociate), "-ffp-contract=fast"));
  EXPECT_FALSE(BuildArguments({"-fassociative-math"}, Arithmetic::kExact).ok());
  EXPECT_FALSE(BuildArguments({"-ffp-contract=fast"}, Arithmetic::kExact).ok());
  EXPECT_TRUE(
      has(*BuildArguments({"-fassociative-math"}, Arithmetic::kReassociate), "-fassociative-math"));
}

}  // namespace
}  // namespace hiera
