// DeviceCompiler: CUDA C++ to code for one architecture, with NVRTC, which is opened at run time:
// from HIERA_NVRTC, else by its name, else from the toolkit's usual folder. Needs no GPU.
//
// The evaluator compiles in a child process (`hiera-evaluator --compile-device`), for a compiler
// that is fed generated text may crash, hang or eat memory. Opened once and never closed.
// Immutable; any thread, but NVRTC compiles one program at a time.
#ifndef HIERA_RUNTIME_EVALUATOR_DEVICE_COMPILER_H_
#define HIERA_RUNTIME_EVALUATOR_DEVICE_COMPILER_H_

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/contract.h"

namespace hiera {

class DeviceCompiler {
 public:
  // Errors: kUnavailable, naming every place that was looked at and why it did not serve.
  static Result<const DeviceCompiler*> Open();

  const std::string& path() const { return path_; }        // of the library's file
  const std::string& version() const { return version_; }  // "13.0"

  // A cubin of `source` for `architecture` ("sm_90a"). Functions are device functions unless the
  // text says otherwise; `options` come after ours. Errors: kInvalidArgument (an option that is not
  // on the list of those allowed; says which), kDeviceError with the compiler's first words.
  Result<std::string> Compile(const std::string& source, const std::string& architecture,
                              const std::vector<std::string>& options) const;

 private:
  struct Entries;
  DeviceCompiler() = default;
  const Entries* entries_ = nullptr;
  std::string path_, version_;
};

// A candidate's options with those that the contract asks for: no contraction where the arithmetic
// is exact. Errors: kInvalidArgument (an option that is not allowed, or not under this arithmetic).
Result<std::vector<std::string>> DeviceBuildOptions(const std::vector<std::string>& candidate_flags,
                                                    Arithmetic arithmetic);

// The child: reads a source file, writes a cubin. Returns the exit status; what went wrong goes to
// standard error.
//   ARCHITECTURE SOURCE OUTPUT [OPTION]...
int RunDeviceCompiler(const std::vector<std::string_view>& arguments);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_DEVICE_COMPILER_H_
