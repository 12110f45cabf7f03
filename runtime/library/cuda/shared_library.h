// SharedLibrary: a vendor's library of this process, found at run time: the copy that the
// application has loaded first (wherever it came from: the system, or a Python wheel), then the
// file that the user named, then well-known names. Never closed: handles and code live until the
// process ends. Immutable; any thread.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_SHARED_LIBRARY_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_SHARED_LIBRARY_H_

#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/variant.h"

namespace hiera {

struct LibraryNames {
  std::string stem;                  // "libcublasLt.so": a loaded file's name begins with it
  std::string configured;            // of the user, who may have said nothing
  std::string variable;              // where the user says it: "HIERA_CUBLASLT"
  std::vector<std::string> sonames;  // tried in this order
};

class SharedLibrary {
 public:
  // Errors: kUnavailable, naming what was tried and why it did not serve, with the remedy. May
  // block on the file system: these libraries are large.
  static Result<SharedLibrary> Open(const LibraryNames& names);

  // Null where the library has no such symbol.
  void* Find(const char* symbol) const;

  // Fills `*function`; kUnavailable names the symbol that is missing.
  template <typename F>
  Status Get(const char* symbol, F* function) const {
    void* found = Find(symbol);
    if (found == nullptr) return Missing(symbol);
    *function = reinterpret_cast<F>(found);
    return {};
  }

  // Of the file that holds the code at `address`: {"library libcublasLt.so.13", "build-id ..."}. A
  // file without a build-id is named by its size and `version`.
  Requirement RequirementAt(const void* address, const std::string& version) const;
  const std::string& path() const { return path_; }

 private:
  Status Missing(const char* symbol) const;
  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_SHARED_LIBRARY_H_
