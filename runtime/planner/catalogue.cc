#include "runtime/planner/catalogue.h"

#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/ipc/index.h"

namespace hiera {
namespace {

constexpr int64_t kPublishIntervalNs = 1'000'000'000;

void Warn(const Status& status, const char* what) {
  if (!status.ok()) Log(LogLevel::kWarning, std::string(what) + ": " + status.message());
}

}  // namespace

Catalogue::Catalogue(std::unique_ptr<Store> store, std::string index_path)
    : store_(std::move(store)), index_path_(std::move(index_path)) {
  if (index_path_.empty()) return;
  if (const auto index = PublishedIndex::Open(index_path_); index.ok()) {
    generation_ = (*index)->generation();
  }
}

std::optional<Variant> Catalogue::Best(const Hash128& key) {
  for (const Variant& variant : store_->Variants(key)) {
    if (!variant.artifact.empty() && !store_->VerifyArtifact(variant.artifact)) continue;
    return variant;
  }
  return std::nullopt;
}

std::string Catalogue::Keep(const Variant& variant, const std::string& artifact_file) {
  std::string path = artifact_file;
  if (!variant.artifact.empty()) {
    const Status kept = store_->PutArtifact(variant.artifact, artifact_file);
    Warn(kept, "the code of a variant could not be kept");
    if (!kept.ok()) return path;
    path = store_->ArtifactPath(variant.artifact);
  }
  Warn(store_->PutVariant(variant), "a variant could not be kept");
  const std::lock_guard lock(mutex_);
  due_ = true;
  return path;
}

void Catalogue::Ban(const QuarantineRecord& record) {
  Warn(store_->Quarantine(record), "a variant could not be put into quarantine");
  const std::lock_guard lock(mutex_);
  due_ = true;
}

void Catalogue::Clear() {
  Warn(store_->Clear(), "the store could not be cleared");
  const std::lock_guard lock(mutex_);
  due_ = true;
}

void Catalogue::PublishIfDue(bool now) {
  const std::lock_guard lock(mutex_);
  if (!due_ || index_path_.empty()) return;
  if (!now && published_ns_ != 0 && MonotonicNs() - published_ns_ < kPublishIntervalNs) return;
  IndexContents contents;
  contents.generation = generation_ + 1;
  for (const TaskRecord& task : store_->Tasks()) {
    if (auto best = Best(task.key)) contents.variants.push_back(std::move(*best));
  }
  const Status written = WriteIndex(index_path_, contents);
  Warn(written, "the index could not be published");
  published_ns_ = MonotonicNs();
  if (!written.ok()) return;
  due_ = false;
  generation_ = contents.generation;
}

}  // namespace hiera
