#include "runtime/device/host/usable_cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace hiera {
namespace {

namespace fs = std::filesystem;

class QuotaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::path(::testing::TempDir()) /
        (std::string("quota_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void Write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  int Quota(const std::string& proc_cgroup) { return QuotaCores(proc_cgroup, root_.string()); }

  fs::path root_;
};

TEST_F(QuotaTest, UnlimitedIsZero) {
  Write("job/cpu.max", "max 100000\n");
  EXPECT_EQ(Quota("0::/job\n"), 0);
  EXPECT_EQ(Quota(""), 0);
  EXPECT_EQ(Quota("nonsense"), 0);
}

TEST_F(QuotaTest, Version2RoundsUp) {
  Write("job/cpu.max", "250000 100000\n");
  EXPECT_EQ(Quota("0::/job\n"), 3);
  Write("job/cpu.max", "1000 100000\n");
  EXPECT_EQ(Quota("0::/job\n"), 1);
}

TEST_F(QuotaTest, TightestAncestorCounts) {
  Write("a/b/c/cpu.max", "800000 100000\n");
  Write("a/b/cpu.max", "200000 100000\n");
  Write("a/cpu.max", "400000 100000\n");
  EXPECT_EQ(Quota("0::/a/b/c\n"), 2);
}

TEST_F(QuotaTest, ContainerSeesItsGroupAsRoot) {
  Write("cpu.max", "400000 100000\n");
  EXPECT_EQ(Quota("0::/system.slice/docker-1.scope\n"), 4);
  EXPECT_EQ(Quota("0::/\n"), 4);
}

TEST_F(QuotaTest, Version1) {
  Write("cpu/job/cpu.cfs_quota_us", "600000\n");
  Write("cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Quota("5:memory:/other\n4:cpu,cpuacct:/job\n"), 6);
  Write("cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Quota("4:cpu,cpuacct:/job\n"), 0);
}

TEST(UsableCoresTest, FollowsTheAffinityMask) {
  EXPECT_GE(UsableCores(), 1);
  int pinned = 0;
  std::thread([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    pinned = UsableCores();
  }).join();
  EXPECT_EQ(pinned, 1);
}

}  // namespace
}  // namespace hiera
