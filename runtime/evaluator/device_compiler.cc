#include "runtime/evaluator/device_compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>

#include "runtime/base/environment.h"
#include "runtime/evaluator/digest.h"

namespace hiera {
namespace {

constexpr size_t kDetailBytes = 1500;

// NVRTC's interface, which has been the same since CUDA 11.1. Declared here because the header
// comes with the toolkit only, while the library is also in Python packages and in drivers' images.
using Program = struct OpaqueProgram*;
constexpr int kSuccess = 0;

// What candidates may ask for: speed of compilation and of code, nothing that names a file.
constexpr std::string_view kAllowed[] = {
    "--maxrregcount=", "--fmad=",      "--extra-device-vectorization", "--Ofast-compile=", "--ftz=",
    "--prec-div=",     "--prec-sqrt=",
};

bool IsAllowed(std::string_view option) {
  return std::any_of(std::begin(kAllowed), std::end(kAllowed), [&](std::string_view allowed) {
    return allowed.back() == '=' ? option.substr(0, allowed.size()) == allowed : option == allowed;
  });
}

// What rounds otherwise than the formula says.
bool ChangesValues(std::string_view option) {
  constexpr std::string_view kRounding[] = {"--fmad=", "--ftz=", "--prec-div=", "--prec-sqrt="};
  return std::any_of(std::begin(kRounding), std::end(kRounding),
                     [&](std::string_view one) { return option.substr(0, one.size()) == one; });
}

}  // namespace

struct DeviceCompiler::Entries {
  int (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(int result) = nullptr;
  int (*create)(Program* program, const char* source, const char* name, int header_count,
                const char* const* headers, const char* const* names) = nullptr;
  int (*compile)(Program program, int option_count, const char* const* options) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*log_size)(Program program, size_t* bytes) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
  int (*cubin_size)(Program program, size_t* bytes) = nullptr;
  int (*cubin)(Program program, char* bytes) = nullptr;

  // "" where everything is there, else what is missing.
  std::string Find(void* library) {
    std::string missing;
    const auto find = [&](const char* name, auto* entry) {
      void* address = dlsym(library, name);
      if (address == nullptr && missing.empty()) missing = std::string("has no ") + name;
      *entry = reinterpret_cast<std::remove_pointer_t<decltype(entry)>>(address);
    };
    find("nvrtcVersion", &version);
    find("nvrtcGetErrorString", &error_string);
    find("nvrtcCreateProgram", &create);
    find("nvrtcCompileProgram", &compile);
    find("nvrtcDestroyProgram", &destroy);
    find("nvrtcGetProgramLogSize", &log_size);
    find("nvrtcGetProgramLog", &log);
    find("nvrtcGetCUBINSize", &cubin_size);
    find("nvrtcGetCUBIN", &cubin);
    return missing;
  }
};

Result<const DeviceCompiler*> DeviceCompiler::Open() {
  static const auto& opened =
      *new Result<const DeviceCompiler*>([]() -> Result<const DeviceCompiler*> {
        const std::string& named = GetEnvironment().nvrtc_path;
        std::vector<std::string> paths = {named};
        if (named.empty()) {
          paths = {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
                   "/usr/local/cuda/lib64/libnvrtc.so.12"};
        }
        std::string reasons;
        for (const std::string& path : paths) {
          void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
          if (library == nullptr) {
            const char* error = dlerror();
            reasons += (reasons.empty() ? "" : "; ") + std::string(error == nullptr ? path : error);
            continue;
          }
          Entries entries;
          const std::string missing = entries.Find(library);
          int major = 0, minor = 0;
          if (!missing.empty() || entries.version(&major, &minor) != kSuccess) {
            reasons += (reasons.empty() ? "" : "; ") + path + " " +
                       (missing.empty() ? "does not say its version" : missing);
            dlclose(library);
            continue;
          }
          auto* compiler = new DeviceCompiler;
          compiler->entries_ = new Entries(entries);
          Dl_info info{};
          const bool found = dladdr(reinterpret_cast<const void*>(entries.compile), &info) != 0;
          compiler->path_ = found && info.dli_fname != nullptr ? info.dli_fname : path;
          compiler->version_ = std::to_string(major) + "." + std::to_string(minor);
          return static_cast<const DeviceCompiler*>(compiler);  // lives as long as the process
        }
        return Unavailable("no NVRTC: " + reasons +
                           "; install the CUDA toolkit's libnvrtc or name its file in HIERA_NVRTC");
      }());
  return opened;
}

Result<std::string> DeviceCompiler::Compile(const std::string& source,
                                            const std::string& architecture,
                                            const std::vector<std::string>& options) const {
  std::vector<std::string> all = {"--gpu-architecture=" + architecture, "--std=c++20",
                                  "--device-as-default-execution-space", "--disable-warnings"};
  for (const std::string& option : options) {
    if (!IsAllowed(option)) {
      return InvalidArgument("compiler option '" + option +
                             "' is not allowed: options may choose speed, never files");
    }
    all.push_back(option);
  }
  std::vector<const char*> list;
  for (const std::string& option : all) list.push_back(option.c_str());

  Program program = nullptr;
  int result = entries_->create(&program, source.c_str(), "candidate.cu", 0, nullptr, nullptr);
  if (result != kSuccess) return DeviceError(entries_->error_string(result));
  result = entries_->compile(program, static_cast<int>(list.size()), list.data());
  std::string bytes;
  size_t size = 0;
  if (result == kSuccess) {
    result = entries_->cubin_size(program, &size);
    bytes.resize(size);
    if (result == kSuccess) result = entries_->cubin(program, bytes.data());
  } else if (entries_->log_size(program, &size) == kSuccess && size > 0) {
    bytes.resize(size);
    entries_->log(program, bytes.data());
    bytes.resize(std::min(bytes.find('\0'), std::min(size, kDetailBytes)));
  }
  entries_->destroy(&program);
  if (result == kSuccess) return bytes;
  return DeviceError(std::string(entries_->error_string(result)) + ": " + bytes);
}

Result<std::vector<std::string>> DeviceBuildOptions(const std::vector<std::string>& candidate_flags,
                                                    Arithmetic arithmetic) {
  std::vector<std::string> options;
  const bool exact = arithmetic == Arithmetic::kExact;
  if (exact) options.push_back("--fmad=false");
  for (const std::string& flag : candidate_flags) {
    if (!IsAllowed(flag) || (exact && ChangesValues(flag))) {
      return InvalidArgument("compiler option '" + flag + "' is not allowed" +
                             (exact ? " under exact arithmetic" : "") +
                             ": options may choose speed, never files or other values");
    }
    options.push_back(flag);
  }
  return options;
}

int RunDeviceCompiler(const std::vector<std::string_view>& arguments) {
  if (arguments.size() < 3) {
    std::fprintf(stderr, "--compile-device ARCHITECTURE SOURCE OUTPUT [OPTION]...\n");
    return 2;
  }
  const auto fail = [](const Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
  };
  auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) return fail(compiler.status());
  auto source = ReadFile(std::string(arguments[1]));
  if (!source.ok()) return fail(source.status());
  auto cubin = (*compiler)->Compile(*source, std::string(arguments[0]),
                                    {arguments.begin() + 3, arguments.end()});
  if (!cubin.ok()) return fail(cubin.status());
  const Status written = WriteFile(std::string(arguments[2]), *cubin);
  return written.ok() ? 0 : fail(written);
}

}  // namespace hiera
