#include "tests/unit/policies/variant_batch.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "abi_text.h"

namespace hiera::testing {
namespace {

constexpr int kSourcesPerFile = 24;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

VariantBatch::VariantBatch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "hiera-variants-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
}

VariantBatch::~VariantBatch() {
  for (void* library : libraries_) dlclose(library);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

int VariantBatch::Add(const std::string& source) {
  sources_.push_back(source);
  return static_cast<int>(sources_.size()) - 1;
}

std::string VariantBatch::Build(const std::string& compiler, const std::string& flags) {
  const int count = static_cast<int>(sources_.size());
  std::string script;
  for (int first = 0; first < count; first += kSourcesPerFile) {
    const std::string name = folder_ + "/" + std::to_string(first);
    std::ofstream file(name + ".cc");
    file << embedded::abi_h;
    for (int i = first; i < std::min(count, first + kSourcesPerFile); ++i) {
      const std::string number = std::to_string(i);
      file << "#define hiera_variant hiera_variant_" << number << "\nnamespace variant_" << number
           << " {\n"
           << sources_[i] << "\n}\n#undef hiera_variant\n";
    }
    script += compiler + " -std=c++20 -march=native -fPIC -shared " + flags + " " + name +
              ".cc -o " + name + ".so -lm > " + name + ".log 2>&1 || exit 1 & ";
  }
  // All at once; the exit status of each is seen through its output.
  (void)!system((script + "wait").c_str());
  for (int i = 0; i < count; ++i) {
    const std::string name = folder_ + "/" + std::to_string(i / kSourcesPerFile * kSourcesPerFile);
    if (i % kSourcesPerFile == 0) {
      const std::string log = ReadAll(name + ".log");
      void* library = dlopen((name + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr || !log.empty()) return log.empty() ? dlerror() : log;
      libraries_.push_back(library);
    }
    void* symbol = dlsym(libraries_.back(), ("hiera_variant_" + std::to_string(i)).c_str());
    if (symbol == nullptr) return "no hiera_variant_" + std::to_string(i);
    entries_.push_back(reinterpret_cast<hiera_variant_fn>(symbol));
  }
  return "";
}

}  // namespace hiera::testing
