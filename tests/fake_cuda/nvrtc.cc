// A fictional NVRTC: compiles CUDA C++ for the fictional GPU with the host's g++, which must be on
// the path. As the real one it knows no header, and functions are device functions unless they say
// otherwise. Misaligned accesses and stray indices into arrays of fixed size become traps.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "kernel_texts.h"
#include "tests/fake_cuda/kernel_scan.h"

extern char** environ;

namespace hiera::fake_cuda {
namespace {

// As nvrtc.h numbers them.
enum Result {
  kSuccess = 0,
  kInvalidInput = 3,
  kInvalidProgram = 4,
  kInvalidOption = 5,
  kCompilation = 6,
  kInternal = 11
};

struct Program {
  std::string source, name, log, code;
};

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A folder of its own, which goes with it.
class Folder {
 public:
  Folder() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base == nullptr ? "/tmp" : base) + "/fake-nvrtc-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) path_.clear();
  }
  ~Folder() {
    for (const char* name : {"/source.cc", "/code.so", "/log"}) unlink((path_ + name).c_str());
    rmdir(path_.c_str());
  }
  bool ok() const { return !path_.empty(); }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string HostSource(const Program& program) {
  std::string text = std::string(embedded::kernel_table_h) + std::string(embedded::kernel_side_h) +
                     "#line 1 \"" + program.name + "\"\n" + WithDynamicShared(program.source) +
                     "\nHIERA_FAKE_MODULE(hiera_fake_module";
  for (const ScannedKernel& kernel : ScanKernels(program.source)) {
    text += ",\n  HIERA_FAKE_KERNEL(" + kernel.name + ", (" + kernel.max_threads + "))";
  }
  return text + ")\n";
}

// Whether the compiler succeeded; its words go to `log`.
bool RunCompiler(const std::string& source, const std::string& object, const std::string& log) {
  const std::vector<std::string> words = {"g++",
                                          "-std=c++20",
                                          "-O1",
                                          "-fPIC",
                                          "-shared",
                                          "-w",
                                          "-nostdinc",
                                          "-nostdinc++",
                                          "-fno-gnu-unique",
                                          "-fno-math-errno",
                                          "-fvisibility=hidden",
                                          "-fno-exceptions",
                                          "-fno-rtti",
                                          "-fsanitize=alignment,bounds",
                                          "-fsanitize-undefined-trap-on-error",
                                          "-o",
                                          object,
                                          source};
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 2, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  int status = -1;
  if (posix_spawnp(&child, "g++", &files, nullptr, arguments.data(), environ) == 0) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  posix_spawn_file_actions_destroy(&files);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Result Compile(Program* program) {
  const Folder folder;
  if (!folder.ok()) return kInternal;
  std::ofstream(folder / "source.cc") << HostSource(*program);
  const bool compiled = RunCompiler(folder / "source.cc", folder / "code.so", folder / "log");
  program->log = Contents(folder / "log");
  if (!compiled) return kCompilation;
  program->code = Contents(folder / "code.so");
  return kSuccess;
}

Program* Of(void* program) { return static_cast<Program*>(program); }

}  // namespace
}  // namespace hiera::fake_cuda

using namespace hiera::fake_cuda;  // the entries are C's

#pragma GCC visibility push(default)
extern "C" {

int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, kSuccess; }

const char* nvrtcGetErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "NVRTC_SUCCESS";
    case kInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case kInvalidProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case kInvalidOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case kCompilation:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR_INTERNAL_ERROR";
  }
}

int nvrtcCreateProgram(void** program, const char* source, const char* name, int header_count,
                       const char* const*, const char* const*) {
  if (source == nullptr || header_count != 0) return kInvalidInput;
  *program = new Program{source, name == nullptr ? "default_program" : name, "", ""};
  return kSuccess;
}
int nvrtcDestroyProgram(void** program) {
  delete Of(*program);
  *program = nullptr;
  return kSuccess;
}

// Options choose an architecture and speed, which are all one here; a real one must be named.
int nvrtcCompileProgram(void* program, int option_count, const char* const* options) {
  bool architecture = false;
  for (int o = 0; o < option_count; ++o) {
    if (std::strncmp(options[o], "--", 2) != 0) return kInvalidOption;
    architecture |= std::strncmp(options[o], "--gpu-architecture=sm_", 22) == 0;
  }
  return architecture ? Compile(Of(program)) : kInvalidOption;
}

int nvrtcGetProgramLogSize(void* program, size_t* bytes) {
  return *bytes = Of(program)->log.size() + 1, kSuccess;
}
int nvrtcGetProgramLog(void* program, char* text) {
  const std::string& log = Of(program)->log;
  return std::memcpy(text, log.c_str(), log.size() + 1), kSuccess;
}
int nvrtcGetCUBINSize(void* program, size_t* bytes) {
  return *bytes = Of(program)->code.size(), kSuccess;
}
int nvrtcGetCUBIN(void* program, char* bytes) {
  const std::string& code = Of(program)->code;
  return std::memcpy(bytes, code.data(), code.size()), kSuccess;
}

}  // extern "C"
#pragma GCC visibility pop
