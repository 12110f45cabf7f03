#include "runtime/ipc/index.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/ipc/sample_messages.h"
#include "tests/temporary_folder.h"

namespace hiera {
namespace {

Variant VariantOf(const Hash128& key) {
  Variant v = SampleVariant();
  v.key = key;
  v.name = "for " + key.ToHex();
  v.time_ns = static_cast<double>(key.low % 1000);
  return v;
}

IndexContents RandomContents(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  IndexContents contents;
  contents.generation = 17;
  for (size_t i = 0; i < count; ++i) contents.variants.push_back(VariantOf({random(), random()}));
  return contents;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// As another file would appear: never in place, because mappings of it may be held.
void ReplaceFile(const std::string& path, const std::string& bytes) {
  unlink(path.c_str());
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(Index, FindsEveryVariantAndNothingElse) {
  const TemporaryFolder folder;
  const IndexContents contents = RandomContents(1000, 1);
  ASSERT_TRUE(WriteIndex(folder / "index", contents).ok());
  const auto index = PublishedIndex::Open(folder / "index");
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ((*index)->size(), 1000u);
  EXPECT_EQ((*index)->generation(), 17u);
  EXPECT_FALSE((*index)->switched_off());
  for (const Variant& variant : contents.variants) {
    const std::optional<Variant> found = (*index)->Find(variant.key);
    ASSERT_TRUE(found.has_value()) << variant.key.ToHex();
    EXPECT_EQ(*found, variant);
    const Hash128 near{variant.key.high, variant.key.low ^ 1};
    EXPECT_FALSE((*index)->Find(near).has_value());
  }
  EXPECT_FALSE((*index)->Find({0, 0}).has_value());
  EXPECT_FALSE((*index)->Find({~uint64_t{0}, ~uint64_t{0}}).has_value());
}

TEST(Index, KeysThatDifferInOneWordOnlyAreDifferent) {
  const TemporaryFolder folder;
  IndexContents contents;
  for (const Hash128& key : {Hash128{1, 2}, Hash128{2, 1}, Hash128{1, 1}, Hash128{2, 2}}) {
    contents.variants.push_back(VariantOf(key));
  }
  ASSERT_TRUE(WriteIndex(folder / "index", contents).ok());
  const auto index = PublishedIndex::Open(folder / "index");
  ASSERT_TRUE(index.ok());
  for (const Variant& variant : contents.variants) EXPECT_EQ((*index)->Find(variant.key), variant);
}

TEST(Index, MayBeEmptyAndSwitchedOff) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteIndex(folder / "index", {.generation = 3, .switched_off = true}).ok());
  const auto index = PublishedIndex::Open(folder / "index");
  ASSERT_TRUE(index.ok()) << index.status().message();
  EXPECT_EQ((*index)->size(), 0u);
  EXPECT_TRUE((*index)->switched_off());
  EXPECT_FALSE((*index)->Find({1, 2}).has_value());
}

TEST(Index, RefusesTwoVariantsOfOneKey) {
  const TemporaryFolder folder;
  IndexContents contents;
  contents.variants = {VariantOf({1, 2}), VariantOf({1, 2})};
  EXPECT_EQ(WriteIndex(folder / "index", contents).code(), Code::kInvalidArgument);
  EXPECT_EQ(PublishedIndex::Open(folder / "index").status().code(), Code::kUnavailable);
}

// Every single byte of the file, each bit pattern that a fault may leave.
TEST(Index, AFlippedByteIsAnErrorOrAMissNeverAWrongVariant) {
  const TemporaryFolder folder;
  const IndexContents contents = RandomContents(7, 2);
  ASSERT_TRUE(WriteIndex(folder / "index", contents).ok());
  const std::string good = ReadFile(folder / "index");
  size_t opened = 0, lost = 0;
  for (size_t i = 0; i < good.size(); ++i) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ mask);
      ReplaceFile(folder / "index", bad);
      const auto index = PublishedIndex::Open(folder / "index");
      if (!index.ok()) {
        EXPECT_EQ(index.status().code(), Code::kInvalidArgument);
        continue;
      }
      ++opened;
      for (const Variant& variant : contents.variants) {
        const std::optional<Variant> found = (*index)->Find(variant.key);
        if (found.has_value()) {
          ASSERT_EQ(*found, variant) << "byte " << i;
        } else {
          ++lost;
        }
      }
    }
  }
  // Behind the header each flip opens, and costs at least the variant it hit.
  EXPECT_EQ(opened, 3 * (good.size() - 56));
  EXPECT_GE(lost, opened);
}

TEST(Index, ATruncatedOrExtendedFileIsAnError) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteIndex(folder / "index", RandomContents(3, 3)).ok());
  const std::string good = ReadFile(folder / "index");
  for (size_t size = 0; size < good.size(); ++size) {
    ReplaceFile(folder / "index", good.substr(0, size));
    EXPECT_EQ(PublishedIndex::Open(folder / "index").status().code(), Code::kInvalidArgument)
        << size;
  }
  ReplaceFile(folder / "index", good + "x");
  EXPECT_EQ(PublishedIndex::Open(folder / "index").status().code(), Code::kInvalidArgument);
}

TEST(Index, AnotherVersionIsRefusedByName) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteIndex(folder / "index", RandomContents(1, 4)).ok());
  std::string other = ReadFile(folder / "index");
  other[8] = 2;
  const uint64_t checksum = Checksum64(std::string_view(other).substr(0, 48));
  other.replace(48, 8, reinterpret_cast<const char*>(&checksum), 8);
  ReplaceFile(folder / "index", other);
  const auto index = PublishedIndex::Open(folder / "index");
  ASSERT_FALSE(index.ok());
  EXPECT_NE(index.status().message().find("version 2"), std::string::npos);
}

TEST(Index, AReplacedFileIsNoticedAndTheOldOneStaysReadable) {
  const TemporaryFolder folder;
  const IndexContents first = RandomContents(5, 5), second = RandomContents(5, 6);
  ASSERT_TRUE(WriteIndex(folder / "index", first).ok());
  const auto old = PublishedIndex::Open(folder / "index");
  ASSERT_TRUE(old.ok());
  EXPECT_FALSE((*old)->Superseded());
  ASSERT_TRUE(WriteIndex(folder / "index", second).ok());
  EXPECT_TRUE((*old)->Superseded());
  for (const Variant& variant : first.variants) EXPECT_EQ((*old)->Find(variant.key), variant);
  const auto fresh = PublishedIndex::Open(folder / "index");
  ASSERT_TRUE(fresh.ok());
  EXPECT_FALSE((*fresh)->Superseded());
  EXPECT_FALSE((*fresh)->Find(first.variants[0].key).has_value());
  EXPECT_NE((*fresh)->digest(), (*old)->digest());
  unlink((folder / "index").c_str());
  EXPECT_TRUE((*fresh)->Superseded());
}

TEST(Index, TheDigestIsOfTheContents) {
  const TemporaryFolder folder;
  IndexContents contents = RandomContents(9, 7);
  ASSERT_TRUE(WriteIndex(folder / "a", contents).ok());
  // The order in which variants are given does not matter.
  std::reverse(contents.variants.begin(), contents.variants.end());
  ASSERT_TRUE(WriteIndex(folder / "b", contents).ok());
  const auto a = PublishedIndex::Open(folder / "a"), b = PublishedIndex::Open(folder / "b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ((*a)->digest(), (*b)->digest());
}

// cudf #4857: a cache that others can write runs the code of others.
TEST(Index, OneThatOthersCanWriteIsRefused) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteIndex(folder / "index", RandomContents(1, 8)).ok());
  struct stat file;
  ASSERT_EQ(stat((folder / "index").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600u);
  for (const mode_t mode : {0620, 0602, 0666}) {
    ASSERT_EQ(chmod((folder / "index").c_str(), mode), 0);
    EXPECT_EQ(PublishedIndex::Open(folder / "index").status().code(), Code::kInvalidArgument);
  }
  ASSERT_EQ(chmod((folder / "index").c_str(), 0644), 0);
  EXPECT_TRUE(PublishedIndex::Open(folder / "index").ok());
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_EQ(PublishedIndex::Open(folder / "index").status().code(), Code::kInvalidArgument);
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  EXPECT_TRUE(PublishedIndex::Open(folder / "index").ok());
  if (geteuid() == 0) {
    ASSERT_EQ(chown((folder / "index").c_str(), 12345, 12345), 0);
    EXPECT_EQ(PublishedIndex::Open(folder / "index").status().code(), Code::kInvalidArgument);
  }
}

TEST(Index, WhatIsNotAFileIsRefused) {
  const TemporaryFolder folder;
  ASSERT_EQ(mkdir((folder / "index").c_str(), 0700), 0);
  EXPECT_EQ(PublishedIndex::Open(folder / "index").status().code(), Code::kInvalidArgument);
  ASSERT_EQ(mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(PublishedIndex::Open(folder / "fifo").status().code(), Code::kInvalidArgument);
  EXPECT_EQ(PublishedIndex::Open(folder / "none/index").status().code(), Code::kUnavailable);
}

TEST(Index, AWriterThatWasKilledLeavesNothingInTheWay) {
  const TemporaryFolder folder;
  std::ofstream(folder / "index.new") << "half a file";
  ASSERT_TRUE(WriteIndex(folder / "index", RandomContents(2, 9)).ok());
  EXPECT_TRUE(PublishedIndex::Open(folder / "index").ok());
  EXPECT_FALSE(std::filesystem::exists(folder / "index.new"));
}

TEST(Index, AFullOrMissingFolderIsAStatus) {
  const TemporaryFolder folder;
  EXPECT_EQ(WriteIndex(folder / "none/index", {}).code(), Code::kUnavailable);
}

// An open index holds a mapping and no descriptor, so that closefrom() can't hurt it.
TEST(Index, HoldsNoDescriptor) {
  const TemporaryFolder folder;
  ASSERT_TRUE(WriteIndex(folder / "index", RandomContents(2, 10)).ok());
  const auto count = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = count();
  const auto index = PublishedIndex::Open(folder / "index");
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(count(), before);
}

}  // namespace
}  // namespace hiera
