// Random sequences of operations on the durable store, reopened now and then, against plain maps.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/store.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cache/sample_records.h"

extern "C" const char* __tsan_default_options() { return "ignore_noninstrumented_modules=1"; }

namespace hiera {
namespace {

constexpr uint64_t kKeys = 6;
constexpr int kVariants = 4;

struct Model {
  std::map<Hash128, TaskRecord> tasks;
  std::map<std::pair<Hash128, int>, Variant> variants;  // by task and number
  std::map<Hash128, std::vector<JournalEntry>> journals;
  std::set<std::pair<Hash128, int>> quarantine;
  std::map<std::string, std::string> knowledge;
  std::set<int> artifacts;  // by number
};

class StoreProperty : public testing::TestWithParam<int> {
 protected:
  StoreProperty() : seed_(std::random_device()()), random_(seed_) { Open(); }

  void Open() {
    store_.reset();
    auto opened = OpenStore(folder_ / "s");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = *std::move(opened);
  }
  int Pick(int count) { return std::uniform_int_distribution<int>(0, count - 1)(random_); }

  void Step() {
    const Hash128 key = SampleKey(static_cast<uint64_t>(Pick(kKeys)));
    const int n = Pick(kVariants);
    switch (Pick(40)) {
      case 0:
        return Open();
      case 1:
        if (Pick(8) != 0) return;
        ASSERT_TRUE(store_->Clear().ok());
        model_ = {};
        return;
      case 2:
        return CollectGarbage();
      case 3:
      case 4:
        ASSERT_TRUE(store_->Quarantine({key, SampleVariant(key, n).Identity(), "", "x", 1}).ok());
        model_.quarantine.emplace(key, n);
        return;
      case 5:
      case 6:
      case 7:
        return PutArtifact(n);
      default:
        return PutRecord(key, n);
    }
  }

  void PutRecord(const Hash128& key, int n) {
    const int value = Pick(1000);
    switch (Pick(4)) {
      case 0: {
        TaskRecord task = SampleTask(static_cast<uint64_t>(value));
        task.key = key;
        ASSERT_TRUE(store_->PutTask(task).ok());
        model_.tasks[key] = task;
        return;
      }
      case 1: {
        Variant variant = SampleVariant(key, n);
        variant.ratio = 1 + value;
        ASSERT_TRUE(store_->PutVariant(variant).ok());
        model_.variants[{key, n}] = variant;
        return;
      }
      case 2: {
        const JournalEntry entry{value, "trial", std::string(static_cast<size_t>(value), 'j')};
        ASSERT_TRUE(store_->AppendJournal(key, entry).ok());
        model_.journals[key].push_back(entry);
        return;
      }
      default: {
        const std::string name = "name " + std::to_string(n);
        ASSERT_TRUE(store_->PutKnowledge(name, std::to_string(value)).ok());
        model_.knowledge[name] = std::to_string(value);
      }
    }
  }

  void PutArtifact(int n) {
    const std::string code = "code " + std::to_string(n);
    std::filesystem::remove(folder_ / "code");
    std::ofstream(folder_ / "code") << code;
    ASSERT_TRUE(store_->PutArtifact(Sha256(code), folder_ / "code").ok());
    model_.artifacts.insert(n);
  }

  void CollectGarbage() {
    std::set<int> named;
    for (const auto& [id, variant] : model_.variants) {
      if (!model_.quarantine.contains(id)) named.insert(id.second);
    }
    int64_t expected = 0;
    for (auto it = model_.artifacts.begin(); it != model_.artifacts.end();) {
      if (named.contains(*it)) {
        ++it;
      } else {
        it = model_.artifacts.erase(it);
        ++expected;
      }
    }
    ASSERT_EQ(store_->CollectGarbage(), expected);
  }

  void Compare() {
    ASSERT_EQ(store_->Tasks().size(), model_.tasks.size());
    for (uint64_t k = 0; k < kKeys; ++k) {
      const Hash128 key = SampleKey(k);
      const auto task = store_->GetTask(key);
      ASSERT_EQ(task.has_value(), model_.tasks.contains(key));
      if (task.has_value()) {
        ASSERT_EQ(*task, model_.tasks[key]);
      }
      ASSERT_TRUE(store_->Journal(key) == model_.journals[key]);
      std::set<std::string> expected, found;
      double last_ratio = 1e300;
      for (const auto& [id, variant] : model_.variants) {
        if (id.first == key && !model_.quarantine.contains(id)) {
          expected.insert(EncodeVariant(variant));
        }
      }
      for (const Variant& variant : store_->Variants(key)) {
        found.insert(EncodeVariant(variant));
        ASSERT_GE(last_ratio, variant.ratio);
        last_ratio = variant.ratio;
      }
      ASSERT_EQ(found, expected);
      for (int n = 0; n < kVariants; ++n) {
        ASSERT_EQ(store_->IsQuarantined(key, SampleVariant(key, n).Identity()),
                  model_.quarantine.contains({key, n}));
      }
    }
    ASSERT_EQ(store_->Quarantined().size(), model_.quarantine.size());
    for (int n = 0; n < kVariants; ++n) {
      const auto known = model_.knowledge.find("name " + std::to_string(n));
      const auto value = store_->GetKnowledge("name " + std::to_string(n));
      ASSERT_EQ(value.has_value(), known != model_.knowledge.end());
      if (value.has_value()) {
        ASSERT_EQ(*value, known->second);
      }
      ASSERT_EQ(store_->VerifyArtifact(Sha256("code " + std::to_string(n))),
                model_.artifacts.contains(n));
    }
  }

  const TemporaryFolder folder_;
  const unsigned seed_;
  std::mt19937 random_;
  std::unique_ptr<Store> store_;
  Model model_;
};
INSTANTIATE_TEST_SUITE_P(Seeds, StoreProperty, testing::Range(0, 3));

TEST_P(StoreProperty, AgreesWithAModel) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  std::cout << "seed " << seed_ << "\n";
  for (int step = 0; step < 400; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Step();
    if (HasFatalFailure()) return;
    if (step % 20 == 19) Compare();
    if (HasFatalFailure()) return;
  }
  Open();
  Compare();
}

}  // namespace
}  // namespace hiera
