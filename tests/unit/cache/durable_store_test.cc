// The durable store across processes: locks, owners, kills, limits, newer versions.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/store.h"
#include "runtime/base/bytes.h"
#include "runtime/base/log.h"
#include "tests/eventually.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cache/sample_records.h"

extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

namespace hiera {
namespace {

namespace fs = std::filesystem;

// Collects what is logged while it lives.
class LogCapture {
 public:
  LogCapture() {
    SetLogSink(
        [](void* user, uint32_t level, const char* text) {
          if (level >= HIERA_LOG_WARNING) {
            static_cast<std::vector<std::string>*>(user)->emplace_back(text);
          }
        },
        &warnings_);
  }
  ~LogCapture() { SetLogSink(nullptr, nullptr); }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::vector<std::string> warnings_;
};

std::unique_ptr<Store> MustOpen(const std::string& path, const StoreOptions& options = {}) {
  auto store = OpenStore(path, options);
  EXPECT_TRUE(store.ok()) << store.status().message();
  return store.ok() ? *std::move(store) : nullptr;
}

// This program with arguments, as a fresh process: RocksDB's threads do not survive a fork. What
// it writes to standard output goes to `output`.
pid_t StartSelf(std::vector<std::string> arguments, int output) {
  const pid_t pid = fork();
  if (pid == 0) {
    std::vector<char*> words;
    arguments.insert(arguments.begin(), "durable_store_test");
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    dup2(output, STDOUT_FILENO);
    execv("/proc/self/exe", words.data());
    _exit(99);
  }
  return pid;
}

int ExitStatus(pid_t pid) {
  int status = -1;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(DurableStore, SurvivesReopening) {
  const TemporaryFolder folder;
  std::ofstream(folder / "code") << "code 1";
  {
    const auto store = MustOpen(folder / "s");
    ASSERT_TRUE(store->PutTask(SampleTask(1)).ok());
    ASSERT_TRUE(store->PutVariant(SampleVariant(SampleKey(1), 1)).ok());
    ASSERT_TRUE(store->AppendJournal(SampleKey(1), {5, "win", "gemm"}).ok());
    ASSERT_TRUE(store->Quarantine({SampleKey(1), {1, 2}, "bad", "crashed", 9}).ok());
    ASSERT_TRUE(store->PutKnowledge("machine", "fast").ok());
    ASSERT_TRUE(store->PutArtifact(Sha256("code 1"), folder / "code").ok());
  }
  const LogCapture log;
  for (int i = 0; i < 3; ++i) {
    const auto store = MustOpen(folder / "s");
    EXPECT_EQ(*store->GetTask(SampleKey(1)), SampleTask(1));
    EXPECT_EQ(store->Variants(SampleKey(1)).size(), 1u);
    EXPECT_EQ(store->Journal(SampleKey(1)).size(), 1u);
    EXPECT_TRUE(store->IsQuarantined(SampleKey(1), {1, 2}));
    EXPECT_EQ(store->GetKnowledge("machine"), "fast");
    EXPECT_TRUE(store->VerifyArtifact(Sha256("code 1")));
  }
  EXPECT_TRUE(log.warnings().empty()) << log.warnings()[0];
}

TEST(DurableStore, IsPrivate) {
  const TemporaryFolder folder;
  const mode_t before = umask(0);
  const auto store = MustOpen(folder / "a/b");
  umask(before);
  for (const char* name : {"a", "a/b"}) {
    struct stat file;
    ASSERT_EQ(stat((folder / name).c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0700u) << name;
  }
}

TEST(DurableStore, ASecondOpenerIsTurnedAway) {
  const TemporaryFolder folder;
  auto store = MustOpen(folder / "s");
  EXPECT_EQ(OpenStore(folder / "s").status().code(), Code::kUnavailable);
  EXPECT_EQ(ExitStatus(StartSelf({"--open", folder / "s"}, STDERR_FILENO)),
            static_cast<int>(Code::kUnavailable));
  ASSERT_TRUE(store->PutTask(SampleTask(1)).ok());  // the first is unharmed
  store.reset();
  EXPECT_TRUE(MustOpen(folder / "s")->GetTask(SampleKey(1)).has_value());
}

// A lock that programs started meanwhile inherit would outlive the planner.
TEST(DurableStore, HoldsNoDescriptorAcrossExec) {
  const TemporaryFolder folder;
  const auto store = MustOpen(folder / "s");
  int in_store = 0;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    const std::string target = fs::read_symlink(entry.path(), error);
    if (!target.starts_with(folder.path())) continue;
    ++in_store;
    const int fd = std::stoi(entry.path().filename());
    EXPECT_NE(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << target;
  }
  EXPECT_GE(in_store, 2);  // the lock and RocksDB's log at least
}

// cudf #4857: a folder that others can write would let them choose what runs.
TEST(DurableStore, FoldersOpenToOthersAreRefused) {
  const TemporaryFolder folder;
  { ASSERT_TRUE(MustOpen(folder / "s")->PutTask(SampleTask(1)).ok()); }
  for (const mode_t mode : {0777, 0720, 0702}) {
    ASSERT_EQ(chmod((folder / "s").c_str(), mode), 0);
    const auto refused = OpenStore(folder / "s");
    EXPECT_EQ(refused.status().code(), Code::kInvalidArgument);
    EXPECT_NE(refused.status().message().find("chmod go-w"), std::string::npos);
  }
  if (geteuid() == 0) {
    ASSERT_EQ(chmod((folder / "s").c_str(), 0700), 0);
    ASSERT_EQ(chown((folder / "s").c_str(), 12345, 12345), 0);
    EXPECT_EQ(OpenStore(folder / "s").status().code(), Code::kInvalidArgument);
    ASSERT_EQ(chown((folder / "s").c_str(), 0, 0), 0);
  }
  ASSERT_EQ(chmod((folder / "s").c_str(), 0755), 0);
  EXPECT_TRUE(MustOpen(folder / "s")->GetTask(SampleKey(1)).has_value());
}

// MIOpen #2214: a store that can't be used costs one warning, not the program.
TEST(DurableStore, WhereItCantBeUsedMemoryServes) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "in the way";
  const LogCapture log;
  const std::unique_ptr<Store> store = OpenStoreOrMemory(folder / "file/s");
  EXPECT_FALSE(store->durable());
  ASSERT_TRUE(store->PutTask(SampleTask(1)).ok());
  EXPECT_TRUE(store->GetTask(SampleKey(1)).has_value());
  ASSERT_EQ(log.warnings().size(), 1u);
  EXPECT_NE(log.warnings()[0].find(folder / "file"), std::string::npos);
}

std::set<std::string> FilesOf(const std::string& path) {
  std::set<std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    const auto hash = Sha256OfFile(entry.path());
    files.insert(entry.path().string() + " " + (hash.ok() ? *hash : "unreadable"));
  }
  return files;
}

TEST(DurableStore, ANewerVersionsFamilyIsLeftUntouched) {
  const TemporaryFolder folder;
  { ASSERT_TRUE(MustOpen(folder / "s")->PutTask(SampleTask(1)).ok()); }
  {
    std::vector<std::string> names;
    ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, folder / "s/db", &names).ok());
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const auto& name : names) descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions());
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(rocksdb::DB::Open({}, folder / "s/db", descriptors, &handles, &db).ok());
    rocksdb::ColumnFamilyHandle* extra = nullptr;
    ASSERT_TRUE(db->CreateColumnFamily({}, "tomorrow", &extra).ok());
    handles.push_back(extra);
    for (auto* handle : handles) db->DestroyColumnFamilyHandle(handle);
    delete db;
  }
  const auto before = FilesOf(folder / "s");
  const auto refused = OpenStore(folder / "s");
  EXPECT_EQ(refused.status().code(), Code::kUnsupported);
  EXPECT_NE(refused.status().message().find("tomorrow"), std::string::npos);
  EXPECT_FALSE(OpenStoreOrMemory(folder / "s")->durable());
  EXPECT_EQ(FilesOf(folder / "s"), before);
}

TEST(DurableStore, ANewerSchemaIsLeftUntouched) {
  const TemporaryFolder folder;
  { ASSERT_TRUE(MustOpen(folder / "s")->PutTask(SampleTask(1)).ok()); }
  // A seal as the next version may write it, with a family more.
  ByteWriter w;
  for (const char c : std::string("HIERASEA")) w.U8(static_cast<uint8_t>(c));
  w.U32(2);
  w.U64(1000);
  w.U64(7);
  w.U32(6);
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    w.String(name);
    w.U64(0);
  }
  w.U64(Checksum64(w.bytes()));
  std::ofstream(folder / "s/db.seal", std::ios::binary) << w.bytes();
  const auto before = FilesOf(folder / "s");
  EXPECT_EQ(OpenStore(folder / "s").status().code(), Code::kUnsupported);
  EXPECT_EQ(FilesOf(folder / "s"), before);
}

// As a process: opens the store; exits with the status.
int OpenInProcess(const std::string& path) {
  return static_cast<int>(OpenStore(path).status().code());
}

// As a process: writes for ever, and tells each acknowledged write on standard output.
int WriteInProcess(const std::string& path, uint64_t from) {
  auto store = OpenStore(path);
  if (!store.ok()) return 1;
  for (uint64_t n = from;; ++n) {
    if (!(*store)->PutTask(SampleTask(n)).ok()) return 2;
    if (write(STDOUT_FILENO, "t", 1) != 1) return 3;
    if (!(*store)->PutVariant(SampleVariant(SampleKey(n), 1)).ok()) return 2;
    if (!(*store)->AppendJournal(SampleKey(0), {1, "win", std::to_string(n)}).ok()) return 2;
    if (write(STDOUT_FILENO, "j", 1) != 1) return 3;
  }
}

struct Counts {
  uint64_t tasks = 0, journal = 0;
};

// As a process: checks that what was acknowledged is there, in a store that needed no repair, and
// writes the counts to standard output.
int CheckInProcess(const std::string& path, const Counts& acknowledged) {
  const LogCapture log;
  auto store = OpenStore(path);
  if (!store.ok()) return 1;
  if (!log.warnings().empty()) return 2;
  for (uint64_t n = 0; n < acknowledged.tasks; ++n) {
    const auto task = (*store)->GetTask(SampleKey(n));
    if (!task.has_value() || !(*task == SampleTask(n))) return 3;
  }
  const Counts found{(*store)->Tasks().size(), (*store)->Journal(SampleKey(0)).size()};
  if (found.journal < acknowledged.journal) return 4;
  return write(STDOUT_FILENO, &found, sizeof found) == sizeof found ? 0 : 5;
}

// Runs a writer from task `from` on, and kills it after so many acknowledgements.
Counts KillWriter(const std::string& path, uint64_t from, int after) {
  int output[2];
  EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
  const pid_t pid = StartSelf({"--write", path, std::to_string(from)}, output[1]);
  close(output[1]);
  Counts acknowledged;
  char kind;
  for (int i = 1; read(output[0], &kind, 1) == 1; ++i) {
    ++(kind == 't' ? acknowledged.tasks : acknowledged.journal);
    if (i == after) kill(pid, SIGKILL);
  }
  close(output[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  return acknowledged;
}

// TensorRT-LLM #14441: a killed writer leaves a broken file.
TEST(DurableStore, AKilledWriterLosesNothingAcknowledged) {
  const TemporaryFolder folder;
  const std::string path = folder / "s";
  Counts sure;
  for (int round = 0; round < 20; ++round) {
    const Counts written = KillWriter(path, sure.tasks, 1 + round * 7 % 60);
    ASSERT_GT(written.tasks, 0u);
    sure = {sure.tasks + written.tasks, sure.journal + written.journal};
    int output[2];
    ASSERT_EQ(pipe2(output, O_CLOEXEC), 0);
    const pid_t pid = StartSelf(
        {"--check", path, std::to_string(sure.tasks), std::to_string(sure.journal)}, output[1]);
    close(output[1]);
    Counts found;
    const bool told = read(output[0], &found, sizeof found) == sizeof found;
    close(output[0]);
    ASSERT_EQ(ExitStatus(pid), 0) << "round " << round;
    ASSERT_TRUE(told);
    // One write may have become durable and not been acknowledged.
    ASSERT_LE(found.tasks, sure.tasks + 1);
    ASSERT_LE(found.journal, sure.journal + 1);
    sure = found;
  }
}

// As a process: a disk that fills up, as a limit on the size of files, and gets room again.
int FillInProcess(const std::string& path) {
  signal(SIGXFSZ, SIG_IGN);
  auto store = OpenStore(path);
  if (!store.ok() || !(*store)->PutTask(SampleTask(1)).ok()) return 1;
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tiny{0, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tiny);
  for (uint64_t n = 2; n < 5; ++n) {
    if ((*store)->PutTask(SampleTask(n)).ok()) return 2;  // acknowledged, and nowhere
    const auto task = (*store)->GetTask(SampleKey(1));
    if (!task.has_value() || !(*task == SampleTask(1))) return 3;  // reading goes on
  }
  setrlimit(RLIMIT_FSIZE, &before);
  if (!Eventually([&] { return (*store)->PutTask(SampleTask(9)).ok(); })) return 4;
  return 0;
}

TEST(DurableStore, AFullDiskEndsWritingUntilThereIsRoomAgain) {
  const TemporaryFolder folder;
  ASSERT_EQ(ExitStatus(StartSelf({"--fill", folder / "s"}, STDERR_FILENO)), 0);
  const auto store = MustOpen(folder / "s");
  EXPECT_EQ(*store->GetTask(SampleKey(1)), SampleTask(1));
  EXPECT_EQ(*store->GetTask(SampleKey(9)), SampleTask(9));
}

TEST(DurableStore, EvictsWhatWasAskedForLongestAgo) {
  const TemporaryFolder folder;
  const auto store = MustOpen(folder / "s", {.max_bytes = 100'000});
  const auto put = [&](uint64_t n) {
    const std::string code = std::string(9'000, 'x') + std::to_string(n);
    std::ofstream(folder / "code", std::ios::trunc) << code;
    ASSERT_TRUE(store->PutArtifact(Sha256(code), folder / "code").ok());
    Variant variant = SampleVariant(SampleKey(n), 1);
    variant.artifact = Sha256(code);
    ASSERT_TRUE(store->PutVariant(variant).ok());
    ASSERT_TRUE(store->AppendJournal(SampleKey(n), {1, "win", "x"}).ok());
    ASSERT_TRUE(store->PutTask(SampleTask(n)).ok());
  };
  for (uint64_t n = 0; n < 9; ++n) put(n);
  EXPECT_EQ(store->Tasks().size(), 9u);
  // Asked for again: now the youngest.
  TaskRecord asked = SampleTask(0);
  asked.last_unix_s = 100'000;
  ASSERT_TRUE(store->PutTask(asked).ok());
  for (uint64_t n = 9; n < 12; ++n) put(n);

  EXPECT_TRUE(store->GetTask(SampleKey(0)).has_value());
  EXPECT_TRUE(store->GetTask(SampleKey(11)).has_value());
  for (const uint64_t gone : {1, 2}) {
    EXPECT_FALSE(store->GetTask(SampleKey(gone)).has_value()) << gone;
    EXPECT_TRUE(store->Variants(SampleKey(gone)).empty());
    EXPECT_TRUE(store->Journal(SampleKey(gone)).empty());
    EXPECT_FALSE(store->VerifyArtifact(Sha256(std::string(9'000, 'x') + std::to_string(gone))));
  }
  int64_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder / "s/artifacts")) {
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  }
  EXPECT_LE(bytes, 100'000);
  EXPECT_GE(bytes, 60'000);  // no more than needed went
  for (const TaskRecord& task : store->Tasks()) {
    for (const Variant& v : store->Variants(task.key))
      EXPECT_TRUE(store->VerifyArtifact(v.artifact));
  }
}

// Artifacts that nobody names must not push out tasks; one that was just put is about to be named.
TEST(DurableStore, EvictionTakesUnnamedArtifactsBeforeTasks) {
  const TemporaryFolder folder;
  const auto put = [&](Store& store, const std::string& code) {
    std::ofstream(folder / "code", std::ios::trunc) << code;
    ASSERT_TRUE(store.PutArtifact(Sha256(code), folder / "code").ok());
  };
  const std::string orphan(50'000, 'o'), awaited(20'000, 'a');
  { put(*MustOpen(folder / "s"), orphan); }
  const auto store = MustOpen(folder / "s", {.max_bytes = 60'000});
  put(*store, awaited);
  for (uint64_t n = 0; n < 5; ++n) ASSERT_TRUE(store->PutTask(SampleTask(n)).ok());
  EXPECT_EQ(store->Tasks().size(), 5u);
  EXPECT_FALSE(store->VerifyArtifact(Sha256(orphan)));
  EXPECT_TRUE(store->VerifyArtifact(Sha256(awaited)));
}

TEST(DurableStore, EvictionKeepsArtifactsThatOthersName) {
  const TemporaryFolder folder;
  const auto store = MustOpen(folder / "s", {.max_bytes = 60'000});
  const std::string shared(30'000, 's'), own(29'000, 'o');
  for (const std::string& code : {shared, own}) {
    std::ofstream(folder / "code", std::ios::trunc) << code;
    ASSERT_TRUE(store->PutArtifact(Sha256(code), folder / "code").ok());
  }
  const auto put = [&](uint64_t n, const std::string& code) {
    Variant variant = SampleVariant(SampleKey(n), 1);
    variant.artifact = Sha256(code);
    ASSERT_TRUE(store->PutTask(SampleTask(n)).ok());
    ASSERT_TRUE(store->PutVariant(variant).ok());
  };
  put(1, shared);
  put(2, shared);
  put(3, own);
  // Pushes the total over the limit: task 1 goes, then 2 with the artifact, 3 is the youngest.
  ASSERT_TRUE(store->PutKnowledge("ballast", std::string(2'000, 'k')).ok());
  ASSERT_TRUE(store->PutTask(SampleTask(3)).ok());
  EXPECT_FALSE(store->GetTask(SampleKey(1)).has_value());
  EXPECT_EQ(store->GetTask(SampleKey(2)).has_value(), store->VerifyArtifact(Sha256(shared)));
  EXPECT_TRUE(store->VerifyArtifact(Sha256(own)));
}

TEST(DurableStore, AJournalForgetsItsOldestEntries) {
  const TemporaryFolder folder;
  const auto store = MakeMemoryStore();
  for (int i = 0; i < 2100; ++i) {
    ASSERT_TRUE(store->AppendJournal(SampleKey(1), {i, "trial", ""}).ok());
  }
  const auto entries = store->Journal(SampleKey(1));
  ASSERT_EQ(entries.size(), 2048u);
  EXPECT_EQ(entries.front().unix_s, 52);
  EXPECT_EQ(entries.back().unix_s, 2099);
}

}  // namespace

int DurableStoreTestMain(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  if (argc == 3 && words[1] == "--open") return OpenInProcess(words[2]);
  if (argc == 3 && words[1] == "--fill") return FillInProcess(words[2]);
  if (argc == 4 && words[1] == "--write") return WriteInProcess(words[2], std::stoul(words[3]));
  if (argc == 5 && words[1] == "--check") {
    return CheckInProcess(words[2], {std::stoul(words[3]), std::stoul(words[4])});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

}  // namespace hiera

int main(int argc, char** argv) { return hiera::DurableStoreTestMain(argc, argv); }
