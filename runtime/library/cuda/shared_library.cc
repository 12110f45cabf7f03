#include "runtime/library/cuda/shared_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include "runtime/library/blas_library.h"

namespace hiera {
namespace {

std::string BaseName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

struct LoadedSearch {
  const std::string& stem;
  std::vector<std::string> files;
};

int AddLoaded(dl_phdr_info* info, size_t, void* context) {
  auto& search = *static_cast<LoadedSearch*>(context);
  const std::string path = info->dlpi_name ? info->dlpi_name : "";
  if (BaseName(path).compare(0, search.stem.size(), search.stem) == 0) {
    search.files.push_back(path);
  }
  return 0;
}

}  // namespace

Result<SharedLibrary> SharedLibrary::Open(const LibraryNames& names) {
  LoadedSearch loaded{names.stem, {}};
  dl_iterate_phdr(AddLoaded, &loaded);
  struct Attempt {
    std::string file;
    int flags;
  };
  std::vector<Attempt> attempts;
  // RTLD_NOLOAD: only a handle on what is there already.
  for (const std::string& file : loaded.files) attempts.push_back({file, RTLD_NOLOAD});
  if (!names.configured.empty()) {
    attempts.push_back({names.configured, 0});
  } else {
    for (const std::string& soname : names.sonames) attempts.push_back({soname, 0});
  }
  std::string reasons;
  for (const Attempt& attempt : attempts) {
    SharedLibrary library;
    library.handle_ = dlopen(attempt.file.c_str(), RTLD_NOW | RTLD_LOCAL | attempt.flags);
    if (library.handle_ != nullptr) {
      link_map* map = nullptr;
      const bool known = dlinfo(library.handle_, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
      library.path_ = known && map->l_name[0] != '\0' ? map->l_name : attempt.file;
      return library;
    }
    const char* error = dlerror();
    reasons += (reasons.empty() ? "" : "; ") + attempt.file + " does not open (" +
               (error ? error : "not loaded") + ")";
  }
  return Unavailable("no " + names.stem + ": " + reasons + "; install it or name a file in " +
                     names.variable);
}

void* SharedLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

Status SharedLibrary::Missing(const char* symbol) const {
  return Unavailable(path_ + " has no function " + symbol + ", which a newer version has");
}

Requirement SharedLibrary::RequirementAt(const void* address, const std::string& version) const {
  Dl_info info{};
  const std::string file = dladdr(address, &info) && info.dli_fname ? info.dli_fname : path_;
  const std::string build_id = BuildIdAt(address);
  if (!build_id.empty()) return {"library " + BaseName(file), "build-id " + build_id};
  struct stat status {};
  const int found = stat(file.c_str(), &status);
  return {"library " + BaseName(file),
          "size " + std::to_string(found == 0 ? status.st_size : 0) + ", version " + version};
}

}  // namespace hiera
