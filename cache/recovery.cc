#include "cache/recovery.h"

#include <fcntl.h>
#include <stdio.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cache/inspect.h"
#include "cache/records.h"
#include "cache/rocks_handle.h"
#include "runtime/base/clock.h"
#include "runtime/base/durable.h"
#include "runtime/base/log.h"

namespace hiera {
namespace {

namespace fs = std::filesystem;

uint64_t Count(const Pairs& pairs) {
  uint64_t count = 0;
  for (const auto& family : pairs) count += family.size();
  return count;
}

Status CheckNotNewer(const std::string& folder, const Result<std::optional<Seal>>& seal) {
  if (!seal.ok()) return seal.status();
  const Result<std::vector<std::string>> unknown = RocksHandle::UnknownFamilies(folder);
  // Where they can't be listed there is damage, which is dealt with later.
  if (unknown.ok() && !unknown->empty()) {
    return Unsupported(folder + " has the family '" + unknown->front() +
                       "', which this build does not know");
  }
  return {};
}

// A copy of the damaged folder, for whoever looks into it. Tables never change, so they are linked.
// Only the latest copy is kept.
void KeepEvidence(const std::string& folder) {
  const std::string prefix = fs::path(folder).filename().string() + ".broken-";
  std::error_code error;
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(FolderOf(folder), error)) {
    if (entry.path().filename().string().starts_with(prefix)) old.push_back(entry.path());
  }
  for (const fs::path& path : old) fs::remove_all(path, error);

  const fs::path copy = FolderOf(folder) + "/" + prefix + std::to_string(UnixSeconds());
  fs::create_directory(copy, error);
  fs::permissions(copy, fs::perms::owner_all, error);
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (!entry.is_regular_file(ignored)) continue;
    const fs::path target = copy / entry.path().filename();
    if (entry.path().extension() == ".sst") {
      fs::create_hard_link(entry.path(), target, ignored);
    } else {
      fs::copy_file(entry.path(), target, ignored);
    }
  }
}

// The pairs whose envelope is whole, or of a newer schema, which is not ours to judge.
Pairs OnlyWhole(Pairs pairs) {
  for (size_t i = 0; i < kFamilyCount; ++i) {
    std::erase_if(pairs[i], [i](const auto& pair) {
      const auto opened = OpenRecord(static_cast<Family>(i), pair.first, pair.second);
      return opened.status().code() == Code::kInvalidArgument;
    });
  }
  return pairs;
}

// A new database with these pairs, put in the folder's place in one step.
Status Rebuild(const std::string& folder, const Pairs& pairs) {
  const std::string fresh = folder + ".new";
  std::error_code error;
  fs::remove_all(fresh, error);
  {
    const Result<RocksHandle> handle = RocksHandle::OpenForWriting(fresh);
    if (!handle.ok()) return handle.status();
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < kFamilyCount; ++i) {
      for (const auto& [key, value] : pairs[i]) {
        batch.Put(handle->family(static_cast<Family>(i)), key, value);
      }
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    HIERA_RETURN_IF_ERROR(FromRocks(handle->db()->Write(options, &batch), "write to " + fresh));
  }
  if (renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, folder.c_str(), RENAME_EXCHANGE) != 0) {
    // Not every file system exchanges.
    fs::remove_all(folder, error);
    fs::rename(fresh, folder, error);
    if (error) return Unavailable("rename " + fresh + ": " + error.message());
  }
  fs::remove_all(fresh, error);
  return SyncFolder(FolderOf(folder));
}

bool Reads(const Result<Inspection>& inspection) {
  return inspection.ok() && inspection->damaged_places == 0;
}

// Everything that can be read of a damaged database, in a new one.
Status Recover(const std::string& folder, const std::string& why, bool only_blocks) {
  KeepEvidence(folder);
  Pairs rescued;
  if (only_blocks) {
    Result<Inspection> inspection = Inspect(folder, InspectTo::kRescue);
    if (inspection.ok()) rescued = std::move(inspection->pairs);
  } else {
    rescued = ReadFiles(folder);
  }
  rescued = OnlyWhole(std::move(rescued));
  HIERA_RETURN_IF_ERROR(Rebuild(folder, rescued));
  Log(LogLevel::kWarning, "the store was damaged (" + why + "): " + std::to_string(Count(rescued)) +
                              " records were carried over into a new database");
  return {};
}

}  // namespace

Result<std::array<FamilySize, kFamilyCount>> MakeSound(const std::string& folder,
                                                       const SealFile& seal_file) {
  const Result<std::optional<Seal>> seal = seal_file.Read();
  HIERA_RETURN_IF_ERROR(CheckNotNewer(folder, seal));
  std::error_code error;
  if (!fs::exists(folder, error) || fs::is_empty(folder, error)) {
    if (seal->has_value() && (*seal)->sequence > 0) {
      Log(LogLevel::kWarning, "the store's records are gone: " + folder + " was deleted");
    }
    return std::array<FamilySize, kFamilyCount>{};
  }
  const Result<Inspection> inspection = Inspect(folder, InspectTo::kCount);
  std::string contradiction;
  if (inspection.ok() && seal->has_value()) {
    contradiction = Contradiction(**seal, inspection->sequence, inspection->sizes);
  }
  if (Reads(inspection) && contradiction.empty()) return inspection->sizes;

  // Records in damaged blocks are missing from the counts: then only the sequence can tell.
  const bool only_blocks = inspection.ok() && inspection->damaged_places > 0 &&
                           !(seal->has_value() && inspection->sequence < (*seal)->sequence);
  const std::string why = !inspection.ok()        ? inspection.status().message()
                          : only_blocks           ? inspection->damage
                          : contradiction.empty() ? inspection->damage
                                                  : contradiction;
  if (const Status status = Recover(folder, why, only_blocks); !status.ok()) {
    return Internal("the store is damaged (" + why +
                    ") and can't be replaced: " + status.message());
  }
  const Result<Inspection> after = Inspect(folder, InspectTo::kCount);
  if (!Reads(after)) {
    return Internal("the store is damaged (" + why + ") and could not be repaired");
  }
  return after->sizes;
}

}  // namespace hiera
