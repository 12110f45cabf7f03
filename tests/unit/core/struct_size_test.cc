#include "runtime/core/struct_size.h"

#include <gtest/gtest.h>

namespace hiera {
namespace {

struct Later {
  hiera_config known;
  uint64_t unknown;
};

TEST(StructSize, AShorterStructsMissingFieldsAreZero) {
  hiera_config given = HIERA_CONFIG_INIT;
  given.mode = HIERA_MODE_OFF;
  given.device = "host";
  given.threads = 7;
  given.struct_size = offsetof(hiera_config, store_dir);
  hiera_config copy = HIERA_CONFIG_INIT;
  ASSERT_TRUE(CopyIn(&given, "hiera_config", &copy).ok());
  EXPECT_EQ(copy.mode, static_cast<uint32_t>(HIERA_MODE_OFF));
  EXPECT_STREQ(copy.device, "host");
  EXPECT_EQ(copy.threads, 0u) << "beyond what the caller's struct has";
}

TEST(StructSize, ALongerStructIsTakenWhereItsUnknownFieldsAreZero) {
  Later later{HIERA_CONFIG_INIT, 0};
  later.known.struct_size = sizeof later;
  later.known.threads = 3;
  hiera_config copy;
  ASSERT_TRUE(CopyIn(&later.known, "hiera_config", &copy).ok());
  EXPECT_EQ(copy.threads, 3u);
  later.unknown = 1;
  const Status status = CopyIn(&later.known, "hiera_config", &copy);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("hiera_config.struct_size is 48"), std::string::npos)
      << status.message();
}

TEST(StructSize, SizesThatNoInitMacroSetsAreRefused) {
  hiera_config copy;
  for (const uint32_t size : {0u, 4u, 13u, 41u, 5000u, 0xffffffffu}) {
    hiera_config given = HIERA_CONFIG_INIT;
    given.struct_size = size;
    const Status status = CopyIn(&given, "hiera_config", &copy);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << size;
    EXPECT_NE(status.message().find("_INIT macro"), std::string::npos) << status.message();
  }
  EXPECT_EQ(CopyIn<hiera_config>(nullptr, "hiera_config", &copy).code(), Code::kInvalidArgument);
}

TEST(StructSize, OutputsWriteWhatTheCallersStructHasAndNoMore) {
  hiera_stats from = HIERA_STATS_INIT;
  from.swaps = 5;
  from.index_hits = 6;
  struct {
    hiera_stats stats;
    uint64_t beyond;
  } given{HIERA_STATS_INIT, 77};
  given.stats.index_hits = 99;
  given.stats.struct_size = offsetof(hiera_stats, index_hits);
  ASSERT_TRUE(CopyOut(from, "hiera_stats", &given.stats).ok());
  EXPECT_EQ(given.stats.swaps, 5u);
  EXPECT_EQ(given.stats.index_hits, 99u) << "not part of the caller's struct";
  EXPECT_EQ(given.stats.struct_size, offsetof(hiera_stats, index_hits));

  given.stats.struct_size = sizeof given;
  ASSERT_TRUE(CopyOut(from, "hiera_stats", &given.stats).ok());
  EXPECT_EQ(given.stats.index_hits, 6u);
  EXPECT_EQ(given.beyond, 0u) << "a field we do not know reads as its default";
}

}  // namespace
}  // namespace hiera
