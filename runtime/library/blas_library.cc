#include "runtime/library/blas_library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/environment.h"

namespace hiera {
namespace {

constexpr char kDefaultFile[] = "libopenblas.so.0";

std::string BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// Paths of the loaded objects whose file name speaks of a BLAS.
std::vector<std::string> LoadedBlasFiles() {
  std::vector<std::string> files;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* context) {
        const std::string path = info->dlpi_name ? info->dlpi_name : "";
        if (BaseName(path).find("blas") != std::string::npos) {
          static_cast<std::vector<std::string>*>(context)->push_back(path);
        }
        return 0;
      },
      &files);
  return files;
}

template <typename F>
bool Find(void* handle, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(handle, name));
  return *function != nullptr;
}

// "" where `config` describes a library that can be called; otherwise why not.
std::string WhyNotUsable(const std::string& config) {
  if (config.find("OpenBLAS") == std::string::npos) return "is not OpenBLAS";
  if (config.find("USE64BITINT") != std::string::npos) return "has 64-bit integers";
  return "";
}

std::string HexOf(const unsigned char* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < size; ++i) {
    hex += kDigits[bytes[i] >> 4];
    hex += kDigits[bytes[i] & 15];
  }
  return hex;
}

// The build-id among the notes of one segment; "" where there is none.
std::string BuildIdIn(const char* notes, size_t size) {
  const auto padded = [](size_t n) { return (n + 3) & ~size_t{3}; };
  size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const size_t name = at + sizeof note;
    const size_t data = name + padded(note.n_namesz);
    const size_t next = data + padded(note.n_descsz);
    if (next > size || next <= at) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        std::memcmp(notes + name, "GNU", 4) == 0) {
      return HexOf(reinterpret_cast<const unsigned char*>(notes + data), note.n_descsz);
    }
    at = next;
  }
  return "";
}

struct Search {
  uintptr_t address;
  std::string build_id;
};

int FindBuildId(dl_phdr_info* info, size_t, void* context) {
  auto& search = *static_cast<Search*>(context);
  bool holds = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    holds |= segment.p_type == PT_LOAD && search.address - start < segment.p_memsz;
  }
  if (!holds) return 0;
  for (int i = 0; i < info->dlpi_phnum && search.build_id.empty(); ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* notes = reinterpret_cast<const char*>(info->dlpi_addr + segment.p_vaddr);
    search.build_id = BuildIdIn(notes, segment.p_memsz);
  }
  return 1;
}

}  // namespace

std::string BuildIdAt(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(FindBuildId, &search);
  return search.build_id;
}

Result<std::unique_ptr<const BlasLibrary>> BlasLibrary::OpenAt(const std::string& path) {
  struct Attempt {
    std::string path;
    int flags;
  };
  std::vector<Attempt> attempts;
  if (path.empty()) {
    // RTLD_NOLOAD: only a handle on what is there already.
    for (const std::string& file : LoadedBlasFiles()) {
      attempts.push_back({file, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD});
    }
    const std::string& configured = GetEnvironment().blas_path;
    attempts.push_back({configured.empty() ? kDefaultFile : configured, RTLD_NOW | RTLD_LOCAL});
  } else {
    attempts.push_back({path, RTLD_NOW | RTLD_LOCAL});
  }
  std::string reasons;
  for (const Attempt& attempt : attempts) {
    const auto refuse = [&](const std::string& why) {
      reasons += (reasons.empty() ? "" : "; ") + attempt.path + " " + why;
    };
    void* handle = dlopen(attempt.path.c_str(), attempt.flags);
    if (handle == nullptr) {
      const char* error = dlerror();
      refuse(std::string("does not open (") + (error ? error : "not loaded") + ")");
      continue;
    }
    std::unique_ptr<BlasLibrary> library(new BlasLibrary);
    CblasFunctions& f = library->functions_;
    char* (*config)() = nullptr;
    if (!Find(handle, "openblas_get_config", &config) || !Find(handle, "cblas_sgemm", &f.sgemm) ||
        !Find(handle, "cblas_dgemm", &f.dgemm) || !Find(handle, "cblas_sgemv", &f.sgemv) ||
        !Find(handle, "cblas_dgemv", &f.dgemv)) {
      refuse("has no OpenBLAS functions under their plain names");
      dlclose(handle);
      continue;
    }
    library->config_ = config();
    if (const std::string why = WhyNotUsable(library->config_); !why.empty()) {
      refuse(why);
      dlclose(handle);
      continue;
    }
    Dl_info info{};
    const void* code = reinterpret_cast<const void*>(f.sgemm);
    library->path_ = dladdr(code, &info) && info.dli_fname ? info.dli_fname : attempt.path;
    std::string identity = BuildIdAt(code);
    if (!identity.empty()) {
      identity = "build-id " + identity;
    } else {
      struct stat file {};
      const int found = stat(library->path_.c_str(), &file);
      identity = "size " + std::to_string(found == 0 ? file.st_size : 0) + ", " + library->config_;
    }
    library->requirement_ = {"library " + BaseName(library->path_), identity};
    return std::unique_ptr<const BlasLibrary>(std::move(library));
  }
  return Unavailable("no CBLAS library: " + reasons +
                     "; install libopenblas0 or name a file in HIERA_BLAS");
}

Result<const BlasLibrary*> BlasLibrary::Open() {
  // Never destroyed: operators may run until the process ends.
  static const auto& opened = *new Result<std::unique_ptr<const BlasLibrary>>(OpenAt(""));
  if (!opened.ok()) return opened.status();
  return opened->get();
}

}  // namespace hiera
