// What every store promises, asked of both kinds.
#include "cache/store.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "tests/temporary_folder.h"
#include "tests/unit/cache/sample_records.h"

// RocksDB is not instrumented.
extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

namespace hiera {
namespace {

namespace fs = std::filesystem;

class BothStores : public testing::TestWithParam<bool> {
 protected:
  BothStores() {
    if (GetParam()) {
      auto opened = OpenStore(folder_ / "store");
      EXPECT_TRUE(opened.ok()) << opened.status().message();
      if (opened.ok()) store_ = *std::move(opened);
    } else {
      store_ = MakeMemoryStore();
    }
  }

  std::string WriteFile(const std::string& content) {
    const std::string path = folder_ / "file";
    fs::remove(path);
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  // Of the content that SampleVariant(key, n) names.
  std::string PutCode(int n) {
    const std::string content = "code " + std::to_string(n), hash = Sha256(content);
    EXPECT_TRUE(store_->PutArtifact(hash, WriteFile(content)).ok());
    return hash;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<Store> store_;
};
INSTANTIATE_TEST_SUITE_P(Store, BothStores, testing::Bool(),
                         [](const auto& info) { return info.param ? "Durable" : "Memory"; });

TEST_P(BothStores, SaysWhetherItIsDurable) { EXPECT_EQ(store_->durable(), GetParam()); }

TEST_P(BothStores, ReturnsTheTasksThatWerePut) {
  EXPECT_FALSE(store_->GetTask(SampleKey(1)).has_value());
  for (uint64_t n = 0; n < 20; ++n) ASSERT_TRUE(store_->PutTask(SampleTask(n)).ok());
  for (uint64_t n = 0; n < 20; ++n) {
    const auto task = store_->GetTask(SampleKey(n));
    ASSERT_TRUE(task.has_value());
    EXPECT_EQ(*task, SampleTask(n));
  }
  TaskRecord changed = SampleTask(3);
  changed.outcome = "gemm wins";
  changed.baseline_ns = 0.25;
  ASSERT_TRUE(store_->PutTask(changed).ok());
  EXPECT_EQ(*store_->GetTask(SampleKey(3)), changed);

  const std::vector<TaskRecord> all = store_->Tasks();
  ASSERT_EQ(all.size(), 20u);
  for (size_t i = 1; i < all.size(); ++i) EXPECT_LT(all[i - 1].key, all[i].key);
}

TEST_P(BothStores, ReturnsVariantsOfTheBestRatioFirst) {
  const Hash128 key = SampleKey(1);
  Variant untimed = SampleVariant(key, 9);
  untimed.time_ns = 0;
  ASSERT_TRUE(store_->PutVariant(untimed).ok());
  for (const int n : {3, 1, 2}) ASSERT_TRUE(store_->PutVariant(SampleVariant(key, n)).ok());
  ASSERT_TRUE(store_->PutVariant(SampleVariant(SampleKey(2), 4)).ok());
  EXPECT_EQ(store_->Variants(key),
            (std::vector<Variant>{SampleVariant(key, 1), SampleVariant(key, 2),
                                  SampleVariant(key, 3), untimed}));
  // The same variant, measured again, replaces itself.
  Variant again = SampleVariant(key, 3);
  again.ratio = 1000;
  ASSERT_TRUE(store_->PutVariant(again).ok());
  ASSERT_EQ(store_->Variants(key).size(), 4u);
  EXPECT_EQ(store_->Variants(key)[0], again);
  EXPECT_TRUE(store_->Variants(SampleKey(3)).empty());
}

TEST_P(BothStores, HidesQuarantinedVariantsOfThatTaskOnly) {
  const Hash128 key = SampleKey(1), other = SampleKey(2);
  for (const Hash128& k : {key, other}) {
    for (const int n : {1, 2}) ASSERT_TRUE(store_->PutVariant(SampleVariant(k, n)).ok());
  }
  const Hash128 identity = SampleVariant(key, 1).Identity();
  EXPECT_FALSE(store_->IsQuarantined(key, identity));
  ASSERT_TRUE(store_->Quarantine({key, identity, "tile 1", "element 3 differs", 77}).ok());
  EXPECT_TRUE(store_->IsQuarantined(key, identity));
  EXPECT_FALSE(store_->IsQuarantined(other, identity));
  EXPECT_EQ(store_->Variants(key), std::vector<Variant>{SampleVariant(key, 2)});
  EXPECT_EQ(store_->Variants(other).size(), 2u);
  // Putting it again does not bring it back.
  ASSERT_TRUE(store_->PutVariant(SampleVariant(key, 1)).ok());
  EXPECT_EQ(store_->Variants(key).size(), 1u);

  const auto all = store_->Quarantined();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].key, key);
  EXPECT_EQ(all[0].identity, identity);
  EXPECT_EQ(all[0].variant_name, "tile 1");
  EXPECT_EQ(all[0].reason, "element 3 differs");
  EXPECT_EQ(all[0].unix_s, 77);
}

TEST_P(BothStores, KeepsJournalsApartAndInOrder) {
  std::vector<JournalEntry> expected;
  for (int i = 0; i < 300; ++i) {
    expected.push_back({i, "trial", "number " + std::to_string(i)});
    ASSERT_TRUE(store_->AppendJournal(SampleKey(1), expected.back()).ok());
    if (i % 100 == 0) {
      ASSERT_TRUE(store_->AppendJournal(SampleKey(2), {i, "plan", "other"}).ok());
    }
  }
  EXPECT_TRUE(store_->Journal(SampleKey(1)) == expected);
  EXPECT_EQ(store_->Journal(SampleKey(2)).size(), 3u);
  EXPECT_TRUE(store_->Journal(SampleKey(3)).empty());
}

TEST_P(BothStores, KeepsKnowledgeByName) {
  EXPECT_FALSE(store_->GetKnowledge("machine").has_value());
  const std::string binary("a\0b\xff", 4);
  ASSERT_TRUE(store_->PutKnowledge("machine", binary).ok());
  ASSERT_TRUE(store_->PutKnowledge("", "nameless").ok());
  ASSERT_TRUE(store_->PutKnowledge("machine2", "").ok());
  EXPECT_EQ(store_->GetKnowledge("machine"), binary);
  EXPECT_EQ(store_->GetKnowledge(""), "nameless");
  EXPECT_EQ(store_->GetKnowledge("machine2"), "");
}

TEST_P(BothStores, TakesArtifactsByTheirHashOnly) {
  const std::string content(300'000, 'x'), hash = Sha256(content);
  EXPECT_FALSE(store_->VerifyArtifact(hash));
  ASSERT_TRUE(store_->PutArtifact(hash, WriteFile(content)).ok());
  EXPECT_TRUE(store_->VerifyArtifact(hash));
  EXPECT_EQ(*Sha256OfFile(store_->ArtifactPath(hash)), hash);
  // The source may change or go afterwards.
  WriteFile("other");
  EXPECT_TRUE(store_->VerifyArtifact(hash));

  EXPECT_EQ(store_->PutArtifact(Sha256("a"), WriteFile("b")).code(), Code::kInvalidArgument);
  EXPECT_FALSE(fs::exists(store_->ArtifactPath(Sha256("a"))));
  for (const char* name : {"", "ab", "../../../../tmp/x"}) {
    EXPECT_EQ(store_->PutArtifact(name, WriteFile("b")).code(), Code::kInvalidArgument) << name;
    EXPECT_FALSE(store_->VerifyArtifact(name));
  }
  EXPECT_EQ(store_->PutArtifact(Sha256("c"), folder_ / "missing").code(), Code::kUnavailable);
}

// cudf #4857: what is loaded must be what was stored.
TEST_P(BothStores, NoticesArtifactsThatWereChanged) {
  const std::string hash = PutCode(1), path = store_->ArtifactPath(hash);
  struct stat file;
  ASSERT_EQ(stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0400u);
  ASSERT_EQ(chmod(path.c_str(), 0602), 0);
  EXPECT_FALSE(store_->VerifyArtifact(hash));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_TRUE(store_->VerifyArtifact(hash));
  std::ofstream(path, std::ios::app) << 'x';
  EXPECT_FALSE(store_->VerifyArtifact(hash));
  // Putting it again heals it.
  EXPECT_EQ(PutCode(1), hash);
  EXPECT_TRUE(store_->VerifyArtifact(hash));
}

TEST_P(BothStores, CollectsArtifactsThatNoVariantNames) {
  for (const int n : {1, 2, 3, 4}) PutCode(n);
  const Hash128 key = SampleKey(1);
  for (const int n : {1, 2, 3}) ASSERT_TRUE(store_->PutVariant(SampleVariant(key, n)).ok());
  ASSERT_TRUE(store_->Quarantine({key, SampleVariant(key, 2).Identity(), "", "wrong", 1}).ok());
  EXPECT_EQ(store_->CollectGarbage(), 2);
  EXPECT_TRUE(store_->VerifyArtifact(Sha256("code 1")));
  EXPECT_FALSE(store_->VerifyArtifact(Sha256("code 2")));  // quarantined
  EXPECT_TRUE(store_->VerifyArtifact(Sha256("code 3")));
  EXPECT_FALSE(store_->VerifyArtifact(Sha256("code 4")));  // nobody's
  EXPECT_EQ(store_->CollectGarbage(), 0);
}

TEST_P(BothStores, ClearsEverything) {
  PutCode(1);
  ASSERT_TRUE(store_->PutTask(SampleTask(1)).ok());
  ASSERT_TRUE(store_->PutVariant(SampleVariant(SampleKey(1), 1)).ok());
  ASSERT_TRUE(store_->AppendJournal(SampleKey(1), {1, "plan", "x"}).ok());
  ASSERT_TRUE(store_->Quarantine({SampleKey(1), {1, 2}, "", "", 0}).ok());
  ASSERT_TRUE(store_->PutKnowledge("machine", "fast").ok());
  std::ofstream(store_->path() + "/index") << "an index";
  ASSERT_TRUE(store_->Clear().ok());
  EXPECT_TRUE(store_->Tasks().empty());
  EXPECT_TRUE(store_->Variants(SampleKey(1)).empty());
  EXPECT_TRUE(store_->Journal(SampleKey(1)).empty());
  EXPECT_TRUE(store_->Quarantined().empty());
  EXPECT_FALSE(store_->GetKnowledge("machine").has_value());
  EXPECT_FALSE(store_->VerifyArtifact(Sha256("code 1")));
  EXPECT_FALSE(fs::exists(store_->path() + "/index"));
  // And goes on.
  ASSERT_TRUE(store_->PutTask(SampleTask(2)).ok());
  EXPECT_EQ(store_->Tasks().size(), 1u);
}

TEST(MemoryStore, TakesItsFolderWithIt) {
  std::unique_ptr<Store> store = MakeMemoryStore();
  const std::string path = store->path();
  EXPECT_TRUE(fs::is_directory(path));
  store.reset();
  EXPECT_FALSE(fs::exists(path));
}

// A planner that was killed can't remove its folder.
TEST(MemoryStore, RemovesWhatOthersAbandonedAndNothingInUse) {
  const std::unique_ptr<Store> first = MakeMemoryStore();
  const std::string abandoned = "/tmp/hiera-store-" + Sha256(first->path()).substr(0, 12);
  fs::create_directory(abandoned);
  fs::permissions(abandoned, fs::perms::owner_all);
  std::ofstream(abandoned + "/lock").flush();
  const std::unique_ptr<Store> second = MakeMemoryStore();
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_TRUE(fs::is_directory(first->path()));
  EXPECT_NE(first->path(), second->path());
}

// FIPS 180-2, appendix B.
TEST(Sha256, AgreesWithTheStandard) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  const TemporaryFolder folder;
  std::ofstream(folder / "million") << std::string(1'000'000, 'a');
  EXPECT_EQ(*Sha256OfFile(folder / "million"),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_FALSE(Sha256OfFile(folder / "missing").ok());
  EXPECT_FALSE(Sha256OfFile(folder.path()).ok());
}

}  // namespace
}  // namespace hiera
