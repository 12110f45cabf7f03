// Damage on the disk: what is left is kept, nothing wrong is returned, nothing crashes.
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cache/records.h"
#include "cache/seal.h"
#include "cache/store.h"
#include "runtime/base/log.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cache/sample_records.h"

extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1 "; }

namespace hiera {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kTasks = 60;

std::string ReadFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void WriteFile(const fs::path& path, const std::string& bytes) {
  fs::remove(path);  // tables may be linked elsewhere
  std::ofstream(path, std::ios::binary) << bytes;
}

// A store with records in tables and, by the last `in_log`, in the log.
void MakeStore(const std::string& path, uint64_t in_log) {
  for (const auto& [from, to] :
       {std::pair<uint64_t, uint64_t>{0, kTasks - in_log}, {kTasks - in_log, kTasks}}) {
    auto store = OpenStore(path);
    ASSERT_TRUE(store.ok()) << store.status().message();
    for (uint64_t n = from; n < to; ++n) {
      ASSERT_TRUE((*store)->PutTask(SampleTask(n)).ok());
      ASSERT_TRUE((*store)->PutVariant(SampleVariant(SampleKey(n), 1)).ok());
      ASSERT_TRUE((*store)->AppendJournal(SampleKey(n), {1, "win", std::to_string(n)}).ok());
    }
    ASSERT_TRUE((*store)->Quarantine({SampleKey(0), {from, 2}, "bad", "crashed", 9}).ok());
  }
}

struct Found {
  uint64_t tasks = 0, variants = 0, journals = 0;
  bool wrong = false;
};

Found LookAt(Store& store) {
  Found found;
  for (uint64_t n = 0; n < kTasks; ++n) {
    if (const auto task = store.GetTask(SampleKey(n)); task.has_value()) {
      ++found.tasks;
      found.wrong |= !(*task == SampleTask(n));
    }
    for (const Variant& variant : store.Variants(SampleKey(n))) {
      ++found.variants;
      found.wrong |= !(variant == SampleVariant(SampleKey(n), 1));
    }
    for (const JournalEntry& entry : store.Journal(SampleKey(n))) {
      ++found.journals;
      found.wrong |= !(entry == JournalEntry{1, "win", std::to_string(n)});
    }
  }
  return found;
}

// This program with arguments, as a fresh process: RocksDB's threads do not survive a fork.
int RunSelf(std::vector<std::string> arguments) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<char*> words;
    arguments.insert(arguments.begin(), "damage_test");
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    execv("/proc/self/exe", words.data());
    _exit(99);
  }
  int status = -1;
  waitpid(pid, &status, 0);
  return status;
}

// What such a process does: opens the store, looks at it, writes to it. Its exit status is the
// number of tasks it found, or one of these.
enum : int { kNotOpened = 100, kWrongData, kNotWritten };

int LookInProcess(const std::string& path) {
  auto store = OpenStore(path);
  if (!store.ok()) return kNotOpened;
  const Found found = LookAt(**store);
  if (found.wrong) return kWrongData;
  if (!(*store)->PutTask(SampleTask(1)).ok()) return kNotWritten;
  return static_cast<int>(found.tasks);
}

class Damage : public testing::TestWithParam<uint64_t> {
 protected:
  Damage() : path_(folder_ / "s"), db_(path_ + "/db") { MakeStore(path_, GetParam()); }

  std::vector<fs::path> Files(const std::string& start) const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(db_)) {
      if (entry.path().filename().string().starts_with(start)) files.push_back(entry.path());
    }
    return files;
  }
  size_t Broken() const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path_)) {
      count += entry.path().filename().string().starts_with("db.broken-");
    }
    return count;
  }
  Found Reopen() {
    auto store = OpenStore(path_);
    EXPECT_TRUE(store.ok()) << store.status().message();
    if (!store.ok()) return {};
    const Found found = LookAt(**store);
    EXPECT_FALSE(found.wrong);
    // It takes new records.
    EXPECT_TRUE((*store)->PutKnowledge("after", "damage").ok());
    EXPECT_EQ((*store)->GetKnowledge("after"), "damage");
    return found;
  }
  void ExpectAll(const Found& found) {
    EXPECT_EQ(found.tasks, kTasks);
    EXPECT_EQ(found.variants, kTasks);
    EXPECT_EQ(found.journals, kTasks);
  }

  const TemporaryFolder folder_;
  const std::string path_, db_;
};
// All in the log; some in the log; the larger part in tables.
INSTANTIATE_TEST_SUITE_P(Store, Damage, testing::Values(kTasks, 30, 1));

TEST_P(Damage, NoDamageIsNotRepaired) {
  ExpectAll(Reopen());
  EXPECT_EQ(Broken(), 0u);
}

// RocksDB opens this as an empty database and deletes the tables.
TEST_P(Damage, ATruncatedManifestIsRepaired) {
  for (const fs::path& manifest : Files("MANIFEST")) fs::resize_file(manifest, 0);
  ExpectAll(Reopen());
  EXPECT_EQ(Broken(), 1u);
  ExpectAll(Reopen());  // once and for all
}

TEST_P(Damage, AManifestCutAnywhereIsRepaired) {
  const fs::path manifest = Files("MANIFEST").at(0);
  const auto size = fs::file_size(manifest);
  fs::copy(path_, folder_ / "good", fs::copy_options::recursive);
  for (const auto kept : {size / 4, size / 2, size - 20, size - 1}) {
    fs::remove_all(path_);
    fs::copy(folder_ / "good", path_, fs::copy_options::recursive);
    fs::permissions(path_, fs::perms::owner_all);
    fs::resize_file(manifest, kept);
    SCOPED_TRACE(kept);
    ExpectAll(Reopen());
  }
}

TEST_P(Damage, MissingBookkeepingIsRepaired) {
  fs::copy(path_, folder_ / "good", fs::copy_options::recursive);
  for (const char* start : {"CURRENT", "MANIFEST", "OPTIONS", "IDENTITY"}) {
    fs::remove_all(path_);
    fs::copy(folder_ / "good", path_, fs::copy_options::recursive);
    fs::permissions(path_, fs::perms::owner_all);
    for (const fs::path& file : Files(start)) fs::remove(file);
    SCOPED_TRACE(start);
    ExpectAll(Reopen());
  }
}

TEST_P(Damage, ADeletedDatabaseStartsEmpty) {
  fs::remove_all(db_);
  EXPECT_EQ(Reopen().tasks, 0u);
}

TEST_P(Damage, ADatabaseOfNothingButRubbishIsSetAside) {
  for (const auto& entry : fs::directory_iterator(db_)) WriteFile(entry.path(), "rubbish");
  EXPECT_EQ(Reopen().tasks, 0u);
  EXPECT_EQ(Broken(), 1u);
}

TEST_P(Damage, ASealThatIsMissingOrRubbishChangesNothing) {
  fs::remove(path_ + "/db.seal");
  ExpectAll(Reopen());
  WriteFile(path_ + "/db.seal", std::string(1024, 'x'));
  ExpectAll(Reopen());
  EXPECT_EQ(Broken(), 0u);
}

// Every file, sampled; more in what holds the records. Each flip is looked at by a process of its
// own, so that a crash is one failure and not the end.
TEST_P(Damage, FlippedBytesNeverCrashAndNeverReturnWrongData) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  fs::rename(path_, folder_ / "good");
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "good")) {
    if (entry.is_regular_file() && entry.file_size() > 0) {
      files.push_back(fs::relative(entry.path(), folder_ / "good"));
    }
  }
  ASSERT_GE(files.size(), 4u);
  uint64_t kept = 0, trials = 0;
  for (const fs::path& file : files) {
    const int samples = file.extension() == ".sst" || file.extension() == ".log" ? 4 : 2;
    for (int i = 0; i < samples; ++i) {
      const std::string bytes = ReadFile(folder_ / "good" / file);
      const size_t at = std::uniform_int_distribution<size_t>(0, bytes.size() - 1)(random);
      fs::copy(folder_ / "good", path_, fs::copy_options::recursive);
      fs::permissions(path_, fs::perms::owner_all);
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
      WriteFile(fs::path(path_) / file, flipped);
      const int status = RunSelf({"--look", path_});
      fs::remove_all(path_);
      ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) <= int{kTasks})
          << file << " byte " << at << ", status " << status << ", seed " << seed;
      kept += static_cast<uint64_t>(WEXITSTATUS(status));
      ++trials;
    }
  }
  // One flip costs a block, a log record or, where a table's index is hit, a table: most stays.
  EXPECT_GT(kept, trials * kTasks * 3 / 4) << "seed " << seed;
}

// Blocks that go bad under an open store: its file is changed in place, behind RocksDB's back.
TEST(DamageAtRunTime, IsDealtWithWithoutStopping) {
  const TemporaryFolder folder;
  const std::string path = folder / "s";
  MakeStore(path, 1);
  auto opened = OpenStore(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  size_t flips = 0;
  for (const auto& entry : fs::directory_iterator(path + "/db")) {
    if (entry.path().extension() != ".sst") continue;
    // In the middle of the first block, which the table's bookkeeping at its end is far from.
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    char byte;
    file.seekg(200).get(byte);
    file.seekp(200).put(static_cast<char>(byte ^ 1));
    flips += file.good();
  }
  ASSERT_GE(flips, 3u);
  const Found found = LookAt(**opened);
  EXPECT_FALSE(found.wrong);
  EXPECT_GE(found.tasks + found.variants + found.journals, 3 * kTasks / 2);
  EXPECT_LT(found.tasks + found.variants + found.journals, 3 * kTasks);
  ASSERT_TRUE((*opened)->PutTask(SampleTask(1)).ok());
  EXPECT_EQ(*(*opened)->GetTask(SampleKey(1)), SampleTask(1));
}

// A record that RocksDB returns unharmed and that is not what was written.
TEST(DamagedRecord, IsAMissAndLeavesTheRestAlone) {
  const TemporaryFolder folder;
  const std::string path = folder / "s";
  MakeStore(path, 1);
  {
    std::vector<std::string> names;
    ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, path + "/db", &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const auto& name : names) descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, path + "/db", descriptors, &handles, &db).ok());
    for (auto* handle : handles) {
      const std::string first = TaskRecordKey(SampleKey(1)), second = TaskRecordKey(SampleKey(2));
      if (handle->GetName() == "tasks") {
        // One record under another's key, one with a flipped bit.
        std::string value;
        ASSERT_TRUE(db->Get({}, handle, second, &value).ok());
        ASSERT_TRUE(db->Put({}, handle, first, value).ok());
        value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 4);
        ASSERT_TRUE(db->Put({}, handle, second, value).ok());
      }
      if (handle->GetName() == "variants") {
        const Variant variant = SampleVariant(SampleKey(3), 1);
        ASSERT_TRUE(
            db->Put({}, handle, VariantRecordKey(variant.key, variant.Identity()), "short").ok());
      }
      db->DestroyColumnFamilyHandle(handle);
    }
    delete db;
  }
  auto opened = OpenStore(path);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Store& store = **opened;
  int warnings = 0;
  SetLogSink(
      [](void* user, uint32_t level, const char*) {
        if (level >= HIERA_LOG_WARNING) ++*static_cast<int*>(user);
      },
      &warnings);
  EXPECT_FALSE(store.GetTask(SampleKey(1)).has_value());
  EXPECT_FALSE(store.GetTask(SampleKey(2)).has_value());
  EXPECT_TRUE(store.Variants(SampleKey(3)).empty());
  EXPECT_EQ(warnings, 3);
  const Found found = LookAt(store);
  EXPECT_EQ(found.tasks, kTasks - 2);
  EXPECT_EQ(found.variants, kTasks - 1);
  EXPECT_EQ(found.journals, kTasks);
  EXPECT_EQ(warnings, 3);  // told once
  SetLogSink(nullptr, nullptr);
  // The place can be used again.
  ASSERT_TRUE(store.PutTask(SampleTask(1)).ok());
  EXPECT_EQ(*store.GetTask(SampleKey(1)), SampleTask(1));
}

TEST(RecordEnvelope, OpensOnlyWhereItWasSealed) {
  const std::string key = TaskRecordKey(SampleKey(1)), payload = EncodeTask(SampleTask(1));
  const std::string value = SealRecord(Family::kTasks, key, payload);
  ASSERT_TRUE(OpenRecord(Family::kTasks, key, value).ok());
  EXPECT_EQ(*OpenRecord(Family::kTasks, key, value), payload);
  EXPECT_FALSE(OpenRecord(Family::kVariants, key, value).ok());
  EXPECT_FALSE(OpenRecord(Family::kTasks, TaskRecordKey(SampleKey(2)), value).ok());
  for (size_t i = 0; i < value.size() * 8; ++i) {
    std::string flipped = value;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ (1 << (i % 8)));
    EXPECT_FALSE(OpenRecord(Family::kTasks, key, flipped).ok()) << "bit " << i;
  }
  for (size_t size = 0; size < value.size(); ++size) {
    EXPECT_FALSE(OpenRecord(Family::kTasks, key, std::string(value, 0, size)).ok());
  }
}

TEST(SealFile, IsALowerBound) {
  const Seal seal{1, 1, 100, {10, 5, 0, 0, 0}};
  const auto sizes = [](uint64_t tasks, uint64_t variants) {
    return std::array<FamilySize, kFamilyCount>{{{tasks, 0}, {variants, 0}, {}, {}, {}}};
  };
  EXPECT_EQ(Contradiction(seal, 100, sizes(10, 5)), "");
  EXPECT_EQ(Contradiction(seal, 103, sizes(13, 5)), "");
  EXPECT_EQ(Contradiction(seal, 103, sizes(7, 5)), "");
  EXPECT_NE(Contradiction(seal, 99, sizes(10, 5)), "");
  EXPECT_NE(Contradiction(seal, 100, sizes(9, 5)), "");
  EXPECT_NE(Contradiction(seal, 100, sizes(10, 6)), "");
  EXPECT_NE(Contradiction(seal, 103, sizes(6, 5)).find("tasks"), std::string::npos);
}

TEST(SealFile, ATornSlotLeavesTheOther) {
  const TemporaryFolder folder;
  const std::string path = folder / "seal";
  SealFile file(path);
  EXPECT_FALSE(file.Read()->has_value());
  for (const uint64_t sequence : {5, 6, 7}) ASSERT_TRUE(file.Write(sequence, {}).ok());
  EXPECT_EQ((*file.Read())->sequence, 7u);
  // The third write went to slot 1.
  std::string bytes = ReadFile(path);
  bytes[512 + 20] = static_cast<char>(bytes[512 + 20] ^ 1);
  WriteFile(path, bytes);
  ASSERT_TRUE(file.Read()->has_value());
  EXPECT_EQ((*file.Read())->sequence, 6u);
  // A writer that comes later goes on behind what is there.
  SealFile later(path);
  ASSERT_TRUE(later.Write(8, {}).ok());
  EXPECT_EQ((*later.Read())->sequence, 8u);
}

}  // namespace

int DamageTestMain(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--look") return LookInProcess(argv[2]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace hiera

int main(int argc, char** argv) { return hiera::DamageTestMain(argc, argv); }
