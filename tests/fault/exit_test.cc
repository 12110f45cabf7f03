// A program that uses HIERA ends as it would without: with its own exit code, whatever state the
// engine and its client thread are in.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

namespace hiera {
namespace {

class ExitTest : public testing::TestWithParam<const char*> {};

TEST_P(ExitTest, TheExitCodeIsTheProgramsOwn) {
  char store[] = "/tmp/hiera-exit-XXXXXX";
  ASSERT_NE(mkdtemp(store), nullptr);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(30);
      execl(HIERA_EXIT_PROGRAM, HIERA_EXIT_PROGRAM, GetParam(), store, nullptr);
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 42);
  }
  std::filesystem::remove_all(store);
}

INSTANTIATE_TEST_SUITE_P(Ways, ExitTest,
                         testing::Values("no-operator", "return", "settled", "destroyed",
                                         "engine-first", "exit-in-thread", "quick-exit",
                                         "exit-in-atexit", "while-creating"));

}  // namespace
}  // namespace hiera
