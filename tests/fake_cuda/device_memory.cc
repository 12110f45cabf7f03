#include "tests/fake_cuda/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace hiera::fake_cuda {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kAlignment = 256;
constexpr unsigned char kFresh = 0xff, kWatched = 0xa5;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

bool IsUntouched(const char* begin, const char* end) {
  return std::all_of(begin, end, [](char c) { return static_cast<unsigned char>(c) == kWatched; });
}

}  // namespace

uintptr_t DeviceMemory::Allocate(size_t bytes, const void* owner, size_t capacity_bytes) {
  const size_t rounded = RoundUp(bytes, kAlignment);
  if (bytes > capacity_bytes || used_bytes_ + rounded > capacity_bytes) return 0;
  const size_t page_bytes = RoundUp(rounded, kPage);
  // A page without access on either side.
  void* mapped = mmap(nullptr, page_bytes + 2 * kPage, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  char* const pages = static_cast<char*>(mapped) + kPage;
  if (mprotect(pages, page_bytes, PROT_READ | PROT_WRITE) != 0) std::abort();
  char* const begin = pages + page_bytes - rounded;
  std::memset(pages, kWatched, begin - pages);
  std::memset(begin, kFresh, bytes);
  std::memset(begin + bytes, kWatched, rounded - bytes);
  const auto address = reinterpret_cast<uintptr_t>(begin);
  blocks_[address] = {pages, page_bytes, bytes, owner};
  used_bytes_ += rounded;
  if (open_ == 0) mprotect(pages, page_bytes, PROT_NONE);
  return address;
}

void DeviceMemory::Release(std::map<uintptr_t, Block>::iterator at) {
  const Block& block = at->second;
  used_bytes_ -= RoundUp(block.bytes, kAlignment);
  munmap(block.pages - kPage, block.page_bytes + 2 * kPage);
  blocks_.erase(at);
}

bool DeviceMemory::Free(uintptr_t address, bool* overrun) {
  const auto at = blocks_.find(address);
  if (at == blocks_.end()) return false;
  const Block& block = at->second;
  const DeviceAccess access(this);
  const char* const begin = reinterpret_cast<const char*>(address);
  *overrun = !IsUntouched(block.pages, begin) ||
             !IsUntouched(begin + block.bytes, block.pages + block.page_bytes);
  Release(at);
  return true;
}

void DeviceMemory::FreeAllOf(const void* owner) {
  for (auto at = blocks_.begin(); at != blocks_.end();) {
    const auto next = std::next(at);
    if (at->second.owner == owner) Release(at);
    at = next;
  }
}

bool DeviceMemory::Has(uintptr_t address, size_t bytes) const {
  auto at = blocks_.upper_bound(address);
  if (at == blocks_.begin()) return false;
  --at;
  const size_t offset = address - at->first;
  return offset <= at->second.bytes && bytes <= at->second.bytes - offset;
}

void DeviceMemory::SetAccess(bool open) {
  for (const auto& [address, block] : blocks_) {
    mprotect(block.pages, block.page_bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
  }
}

}  // namespace hiera::fake_cuda
