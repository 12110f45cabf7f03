#include "tests/unit/policies/compiled_source.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "host_abi.h"

namespace hiera {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

CompiledSource::CompiledSource(const std::string& compiler, const std::string& source,
                               const std::string& flags) {
  std::string name = (std::filesystem::temp_directory_path() / "hiera-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    error_ = "no temporary folder " + name;
    return;
  }
  folder_ = name;
  std::ofstream(folder_ + "/source.cc") << embedded::abi_h << source;
  const std::string command = compiler +
                              " -std=c++20 -Wall -Wextra -Werror -march=native -fPIC -shared "
                              "-ffp-contract=fast " +
                              flags + " -o " + folder_ + "/source.so " + folder_ +
                              "/source.cc 2> " + folder_ + "/errors";
  if (std::system(command.c_str()) != 0) {
    error_ = command + "\n" + ReadFile(folder_ + "/errors").substr(0, 4000);
    return;
  }
  handle_ = dlopen((folder_ + "/source.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) error_ = dlerror();
}

CompiledSource::~CompiledSource() {
  if (handle_ != nullptr) dlclose(handle_);
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

hiera_variant_fn CompiledSource::Find(const std::string& entry) const {
  if (handle_ == nullptr) return nullptr;
  return reinterpret_cast<hiera_variant_fn>(dlsym(handle_, entry.c_str()));
}

bool CompiledSource::HasCompiler(const std::string& compiler) {
  return std::system((compiler + " --version > /dev/null 2>&1").c_str()) == 0;
}

}  // namespace hiera
