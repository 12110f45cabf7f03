#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/host/cpu.h"
#include "runtime/device/host/workspace_blocks.h"

namespace hiera {
namespace {

// The first value of a field of /proc/cpuinfo.
std::string CpuInfo(const std::string& field) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, field.size(), field) != 0) continue;
    if (line.find_first_not_of(" \t", field.size()) != colon) continue;
    return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
  }
  return "";
}

TEST(CpuTest, AgreesWithTheKernel) {
  const Cpu cpu = ReadCpu();
  EXPECT_EQ(cpu.vendor, CpuInfo("vendor_id"));
  EXPECT_EQ(std::to_string(cpu.family), CpuInfo("cpu family"));
  EXPECT_EQ(std::to_string(cpu.model), CpuInfo("model"));
  EXPECT_EQ(std::to_string(cpu.stepping), CpuInfo("stepping"));
  std::istringstream flags(CpuInfo("flags"));
  std::vector<std::string> kernel;
  for (std::string flag; flags >> flag;) kernel.push_back(flag);
  const std::pair<const char*, const char*> names[] = {
      {"avx", "avx"},         {"avx2", "avx2"},     {"fma", "fma"},          {"bmi2", "bmi2"},
      {"f16c", "f16c"},       {"sse4.2", "sse4_2"}, {"popcnt", "popcnt"},    {"movbe", "movbe"},
      {"avx512f", "avx512f"}, {"sahf", "lahf_lm"},  {"sha", "sha_ni"},       {"lzcnt", "abm"},
      {"vaes", "vaes"},       {"cx16", "cx16"},     {"avx512bw", "avx512bw"}};
  for (const auto& [ours, theirs] : names) {
    const bool kernel_has = std::find(kernel.begin(), kernel.end(), theirs) != kernel.end();
    EXPECT_EQ(cpu.Has(ours), kernel_has) << ours;
  }
}

TEST(CpuTest, Levels) {
  std::vector<std::string> f = {"sse3", "ssse3"};
  EXPECT_EQ(LevelOf(f), 1);
  const auto add = [&](std::vector<std::string> more) {
    f.insert(f.end(), more.begin(), more.end());
    std::sort(f.begin(), f.end());
  };
  add({"cx16", "sahf", "popcnt", "sse4.1", "sse4.2"});
  EXPECT_EQ(LevelOf(f), 2);
  add({"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "movbe"});
  EXPECT_EQ(LevelOf(f), 2);  // lzcnt is missing
  add({"lzcnt"});
  EXPECT_EQ(LevelOf(f), 3);
  add({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"});
  EXPECT_EQ(LevelOf(f), 4);
}

TEST(CpuTest, EveryFieldOfTheFingerprintCounts) {
  Cpu cpu;
  cpu.vendor = "V";
  cpu.brand = "B";
  cpu.features = {"avx", "fma"};
  const std::string base = HostFingerprint(cpu, 4).Text();
  EXPECT_EQ(base.substr(0, 12), "device=host\n");
  EXPECT_NE(base.find("features=avx fma\n"), std::string::npos);
  EXPECT_NE(HostFingerprint(cpu, 5).Text(), base);
  const auto changed = [&](auto change) {
    Cpu other = cpu;
    change(other);
    return HostFingerprint(other, 4).Text() != base;
  };
  EXPECT_TRUE(changed([](Cpu& c) { c.vendor = "W"; }));
  EXPECT_TRUE(changed([](Cpu& c) { c.brand = "C"; }));
  EXPECT_TRUE(changed([](Cpu& c) { c.family = 1; }));
  EXPECT_TRUE(changed([](Cpu& c) { c.model = 1; }));
  EXPECT_TRUE(changed([](Cpu& c) { c.stepping = 1; }));
  EXPECT_TRUE(changed([](Cpu& c) { c.level = 2; }));
  EXPECT_TRUE(changed([](Cpu& c) { c.features.pop_back(); }));
}

TEST(HostDeviceTest, NamesItselfAndItsThreads) {
  const auto device = MakeHostDevice(3);
  EXPECT_EQ(device->name(), "host");
  EXPECT_EQ(device->parallelism(), 3);
  EXPECT_NE(device->fingerprint().Text().find("cores=3\n"), std::string::npos);
  EXPECT_EQ(device->fingerprint(), MakeHostDevice(3)->fingerprint());
  EXPECT_GE(MakeHostDevice(0)->parallelism(), 1);
  EXPECT_TRUE(device->Synchronise(nullptr).ok());
}

TEST(HostDeviceTest, TimerKnowsAnIntervalOnlyAtItsEnd) {
  const auto device = MakeHostDevice(1);
  const auto timer = device->MakeTimer();
  EXPECT_LT(timer->ElapsedNs(), 0);
  timer->Begin(nullptr);
  timer->End(nullptr);
  EXPECT_GE(timer->ElapsedNs(), 0);
}

struct Buffers {
  Buffers() : x(1000), y(1002, -1), pointers{x.data(), y.data(), gate} {
    for (int i = 0; i < 1000; ++i) x[i] = static_cast<float>(i);
  }
  std::vector<float> x, y;
  int gate[2] = {0, 0};
  void* pointers[3];
};

TEST(HostDeviceTest, LoadsAndRunsAVariant) {
  const auto device = MakeHostDevice(3);
  for (const int threads : {0, 1, 2, 9}) {
    auto loaded = device->Load({}, {"object", 64, threads}, SAMPLE_VARIANT);
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    Buffers b;
    const double scalar = 2.5;
    ASSERT_EQ((*loaded)->Run({b.pointers, &scalar, nullptr}), HIERA_OK);
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(b.y[i], 2.5f * i);
    EXPECT_EQ(b.y[1000], threads == 0 || threads == 9 ? 3 : threads);
    EXPECT_EQ(b.y[1001], 0) << "workspace is aligned to 64 bytes";
  }
}

TEST(HostDeviceTest, NoWorkspaceAskedForNoneGiven) {
  const auto device = MakeHostDevice(2);
  auto loaded = device->Load({}, {"object", 0, 0}, SAMPLE_VARIANT);
  ASSERT_TRUE(loaded.ok());
  Buffers b;
  const double scalar = 1;
  ASSERT_EQ((*loaded)->Run({b.pointers, &scalar, nullptr}), HIERA_OK);
  EXPECT_EQ(b.y[1000], -1);
}

TEST(HostDeviceTest, RefusesABusyWorkspaceAndWritesNothing) {
  const auto device = MakeHostDevice(1);
  auto loaded = device->Load({}, {"object", 4096, 0}, SAMPLE_VARIANT);
  ASSERT_TRUE(loaded.ok());
  const double hold = -1;
  int gate[2] = {0, 0};
  Buffers held[WorkspaceBlocks::kBlocks];
  std::vector<std::thread> runs;
  for (Buffers& b : held) {
    b.pointers[2] = gate;
    runs.emplace_back([&] { (*loaded)->Run({b.pointers, &hold, nullptr}); });
  }
  while (__atomic_load_n(&gate[1], __ATOMIC_SEQ_CST) < WorkspaceBlocks::kBlocks) {
    std::this_thread::yield();
  }
  Buffers late;
  const double scalar = 1;
  EXPECT_EQ((*loaded)->Run({late.pointers, &scalar, nullptr}), HIERA_UNAVAILABLE);
  EXPECT_EQ(late.y[0], -1);
  EXPECT_EQ(late.y[1000], -1);
  __atomic_store_n(&gate[0], 1, __ATOMIC_SEQ_CST);
  for (std::thread& run : runs) run.join();
  EXPECT_EQ((*loaded)->Run({late.pointers, &scalar, nullptr}), HIERA_OK);
  EXPECT_EQ(late.y[999], 999);
}

TEST(HostDeviceTest, SaysWhyItDoesNotLoad) {
  const auto device = MakeHostDevice(1);
  const auto why = [&](const LaunchPlan& plan, const std::string& path) {
    const auto loaded = device->Load({}, plan, path);
    return loaded.ok() ? std::string("loaded") : loaded.status().message();
  };
  EXPECT_NE(why({"library cblas", 0, 0}, SAMPLE_VARIANT).find("\"object\""), std::string::npos);
  EXPECT_NE(why({"object", -1, 0}, SAMPLE_VARIANT).find("negative"), std::string::npos);
  EXPECT_NE(why({"object", 0, 0}, "/nowhere/at/all.so").find("/nowhere/at/all.so"),
            std::string::npos);
  EXPECT_NE(why({"object", 0, 0}, SAMPLE_NOT_A_VARIANT).find("hiera_variant"), std::string::npos);
  EXPECT_NE(why({"object", 0, 0}, "/proc/self/fd/3").find("/proc"), std::string::npos);
  EXPECT_NE(why({"object", 0, 0}, "relative.so").find("absolute"), std::string::npos);
  EXPECT_NE(why({"object", INT64_MAX, 0}, SAMPLE_VARIANT).find("workspace"), std::string::npos);
}

TEST(WorkspaceBlocksTest, BlocksAreDistinctAndReused) {
  auto made = WorkspaceBlocks::Make(5000);
  ASSERT_TRUE(made.ok());
  WorkspaceBlocks& blocks = **made;
  std::vector<char*> taken;
  for (int i = 0; i < WorkspaceBlocks::kBlocks; ++i) {
    taken.push_back(static_cast<char*>(blocks.Acquire()));
    ASSERT_NE(taken.back(), nullptr);
    std::fill_n(taken.back(), 5000, static_cast<char>(i));
  }
  EXPECT_EQ(blocks.Acquire(), nullptr);
  for (int i = 0; i < WorkspaceBlocks::kBlocks; ++i) EXPECT_EQ(taken[i][4999], i);
  blocks.Release(taken[2]);
  EXPECT_EQ(blocks.Acquire(), taken[2]);
}

TEST(WorkspaceBlocksTest, ThreadsNeverShareABlock) {
  auto made = WorkspaceBlocks::Make(64);
  ASSERT_TRUE(made.ok());
  WorkspaceBlocks& blocks = **made;
  std::atomic<int> wrong{0}, got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5'000; ++i) {
        int* block = static_cast<int*>(blocks.Acquire());
        if (block == nullptr) continue;
        ++got;
        *block = t;
        std::this_thread::yield();
        if (*block != t) ++wrong;
        blocks.Release(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_GT(got.load(), 0);
}

}  // namespace
}  // namespace hiera
