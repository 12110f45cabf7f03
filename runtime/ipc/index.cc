#include "runtime/ipc/index.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "runtime/base/bytes.h"
#include "runtime/base/durable.h"
#include "runtime/base/folder.h"

namespace hiera {
namespace {

// docs/index-format.md. A change of anything here is another version.
constexpr std::string_view kMagic = "HIERAIDX";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kSwitchedOff = 1;  // flags
constexpr uint64_t kHeaderBytes = 56;
constexpr uint64_t kEntryBytes = 40;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 32;

struct Entry {
  Hash128 key;
  uint64_t offset = 0;  // of the record, from the file's start
  uint64_t size = 0;
  uint64_t checksum = 0;  // of the record
};

std::string EncodeHeader(const IndexContents& contents, uint64_t file_bytes) {
  ByteWriter w;
  for (const char c : kMagic) w.U8(static_cast<uint8_t>(c));
  w.U32(kVersion);
  w.U32(contents.switched_off ? kSwitchedOff : 0);
  w.U64(contents.generation);
  w.U64(contents.variants.size());
  w.U64(file_bytes);
  w.U64(0);  // reserved
  w.U64(Checksum64(w.bytes()));
  return std::move(w).bytes();
}

Status Failed(const char* what, const std::string& path) {
  const std::string text = std::string(what) + " " + path + ": " + std::strerror(errno);
  return errno == ENOMEM ? OutOfMemory(text) : Unavailable(text);
}

Result<std::string> EncodeIndex(const IndexContents& contents) {
  std::vector<const Variant*> sorted;
  for (const Variant& variant : contents.variants) sorted.push_back(&variant);
  std::sort(sorted.begin(), sorted.end(),
            [](const Variant* a, const Variant* b) { return a->key < b->key; });
  ByteWriter entries;
  std::string records;
  const uint64_t records_begin = kHeaderBytes + kEntryBytes * sorted.size();
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (i > 0 && sorted[i - 1]->key == sorted[i]->key) {
      return InvalidArgument("two variants of key " + sorted[i]->key.ToHex() + " in one index");
    }
    const std::string record = EncodeVariant(*sorted[i]);
    entries.U64(sorted[i]->key.high);
    entries.U64(sorted[i]->key.low);
    entries.U64(records_begin + records.size());
    entries.U64(record.size());
    entries.U64(Checksum64(record));
    records += record;
  }
  const uint64_t file_bytes = records_begin + records.size();
  if (file_bytes > kMaxFileBytes) {
    return InvalidArgument("an index of " + std::to_string(file_bytes) + " bytes is too large");
  }
  return EncodeHeader(contents, file_bytes) + entries.bytes() + records;
}

}  // namespace

Status WriteIndex(const std::string& path, const IndexContents& contents) {
  const Result<std::string> bytes = EncodeIndex(contents);
  if (!bytes.ok()) return bytes.status();
  return ReplaceFile(path, *bytes, 0600);
}

struct PublishedIndex::Mapping {
  std::string path;
  const char* data = nullptr;
  size_t bytes = 0;
  // What the path led to.
  dev_t device = 0;
  ino_t inode = 0;
  timespec changed{};

  uint64_t generation = 0;
  uint64_t count = 0;
  bool switched_off = false;

  ~Mapping() {
    if (data != nullptr) munmap(const_cast<char*>(data), bytes);
  }

  std::string_view View() const { return {data, bytes}; }

  Hash128 KeyAt(uint64_t i) const {
    ByteReader r(View().substr(kHeaderBytes + i * kEntryBytes, 16));
    const uint64_t high = r.U64();
    return {high, r.U64()};
  }

  Entry EntryAt(uint64_t i) const {
    ByteReader r(View().substr(kHeaderBytes + i * kEntryBytes, kEntryBytes));
    Entry entry;
    entry.key.high = r.U64();
    entry.key.low = r.U64();
    entry.offset = r.U64();
    entry.size = r.U64();
    entry.checksum = r.U64();
    return entry;
  }

  // Everything that later look-ups rely on. Records are checked when they are read.
  Status ReadHeader() {
    const auto damaged = [this](const char* how) {
      return InvalidArgument("the index " + path + " is damaged: " + how);
    };
    if (bytes < kHeaderBytes) return damaged("it is shorter than its header");
    if (View().substr(0, kMagic.size()) != kMagic) {
      return InvalidArgument(path + " is not an index");
    }
    ByteReader r(View().substr(kMagic.size(), kHeaderBytes - kMagic.size()));
    const uint32_t version = r.U32();
    const uint32_t flags = r.U32();
    generation = r.U64();
    count = r.U64();
    const uint64_t file_bytes = r.U64();
    r.U64();
    if (r.U64() != Checksum64(View().substr(0, kHeaderBytes - 8))) {
      return damaged("its header's checksum does not match");
    }
    if (version != kVersion) {
      return InvalidArgument("the index " + path + " is of version " + std::to_string(version) +
                             ", this build reads " + std::to_string(kVersion));
    }
    if (file_bytes != bytes) return damaged("its length is not what its header says");
    if (count > (bytes - kHeaderBytes) / kEntryBytes) return damaged("its table does not fit");
    switched_off = (flags & kSwitchedOff) != 0;
    return {};
  }
};

PublishedIndex::~PublishedIndex() = default;

Result<std::shared_ptr<const PublishedIndex>> PublishedIndex::Open(const std::string& path) {
  const std::string folder = FolderOf(path);
  struct stat file;
  if (stat(folder.c_str(), &file) != 0) return Failed("find", folder);
  HIERA_RETURN_IF_ERROR(CheckTrusted(file, folder));
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failed("open", path);
  auto mapping = std::make_unique<Mapping>();
  mapping->path = path;
  Status status;
  if (fstat(fd, &file) != 0) {
    status = Failed("look at", path);
  } else if (!S_ISREG(file.st_mode)) {
    status = InvalidArgument(path + " is not a file");
  } else {
    status = CheckTrusted(file, path);
  }
  if (status.ok() && file.st_size > 0) {
    mapping->bytes = static_cast<size_t>(file.st_size);
    void* data = mmap(nullptr, mapping->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      status = Failed("map", path);
    } else {
      mapping->data = static_cast<const char*>(data);
    }
  }
  close(fd);
  if (!status.ok()) return status;
  mapping->device = file.st_dev;
  mapping->inode = file.st_ino;
  mapping->changed = file.st_mtim;
  HIERA_RETURN_IF_ERROR(mapping->ReadHeader());
  std::shared_ptr<PublishedIndex> index(new PublishedIndex);
  index->mapping_ = std::move(mapping);
  return std::shared_ptr<const PublishedIndex>(std::move(index));
}

std::optional<Variant> PublishedIndex::Find(const Hash128& key) const {
  const Mapping& m = *mapping_;
  uint64_t begin = 0, end = m.count;
  while (begin < end) {
    const uint64_t middle = begin + (end - begin) / 2;
    if (m.KeyAt(middle) < key) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  if (begin == m.count) return std::nullopt;
  const Entry entry = m.EntryAt(begin);
  if (entry.key != key || entry.size > m.bytes || entry.offset > m.bytes - entry.size) {
    return std::nullopt;
  }
  const std::string_view record = m.View().substr(entry.offset, entry.size);
  if (Checksum64(record) != entry.checksum) return std::nullopt;
  Result<Variant> variant = DecodeVariant(record);
  // A damaged table may lead to another key's record.
  if (!variant.ok() || variant->key != key) return std::nullopt;
  return *std::move(variant);
}

uint64_t PublishedIndex::generation() const { return mapping_->generation; }
bool PublishedIndex::switched_off() const { return mapping_->switched_off; }
size_t PublishedIndex::size() const { return mapping_->count; }
Hash128 PublishedIndex::digest() const { return HashBytes(mapping_->View()); }

bool PublishedIndex::Superseded() const {
  struct stat file;
  if (stat(mapping_->path.c_str(), &file) != 0) return true;
  return file.st_dev != mapping_->device || file.st_ino != mapping_->inode ||
         file.st_mtim.tv_sec != mapping_->changed.tv_sec ||
         file.st_mtim.tv_nsec != mapping_->changed.tv_nsec;
}

}  // namespace hiera
