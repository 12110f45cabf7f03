// CompiledSource: C++ text built by the system's compiler and loaded into the test, for tests of
// what policies emit. Owns a temporary folder; unloads and removes it when destroyed.
#ifndef HIERA_TESTS_UNIT_POLICIES_COMPILED_SOURCE_H_
#define HIERA_TESTS_UNIT_POLICIES_COMPILED_SOURCE_H_

#include <string>

#include "runtime/device/host/abi.h"

namespace hiera {

class CompiledSource {
 public:
  // Compiles `source` behind the ABI's text with warnings as errors. error() says what the compiler
  // said.
  CompiledSource(const std::string& compiler, const std::string& source,
                 const std::string& flags = "-O2");
  ~CompiledSource();
  CompiledSource(const CompiledSource&) = delete;
  CompiledSource& operator=(const CompiledSource&) = delete;

  const std::string& error() const { return error_; }
  // Null where there is no such function.
  hiera_variant_fn Find(const std::string& entry) const;

  static bool HasCompiler(const std::string& compiler);

 private:
  std::string folder_;
  std::string error_;
  void* handle_ = nullptr;
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_POLICIES_COMPILED_SOURCE_H_
