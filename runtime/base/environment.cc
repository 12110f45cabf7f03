#include "runtime/base/environment.h"

#include <charconv>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace hiera {
namespace {

std::string Text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

// A number from 0 to 1,000,000; anything else reads as not set.
int Number(const char* name) {
  const std::string text = Text(name);
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return 0;
  return value >= 0 && value <= 1'000'000 ? value : 0;
}

Environment Read() {
  Environment e;
  e.mode = Text("HIERA_MODE");
  e.store_path = Text("HIERA_STORE");
  e.runtime_path = Text("HIERA_RUNTIME_DIR");
  e.planner_path = Text("HIERA_PLANNER");
  e.evaluator_path = Text("HIERA_EVALUATOR");
  e.gcc = Text("HIERA_GCC");
  e.clang = Text("HIERA_CLANG");
  e.nvrtc_path = Text("HIERA_NVRTC");
  e.cuda_driver = Text("HIERA_CUDA_DRIVER");
  e.blas_path = Text("HIERA_BLAS");
  e.cublas_path = Text("HIERA_CUBLAS");
  e.cublaslt_path = Text("HIERA_CUBLASLT");
  e.cudnn_path = Text("HIERA_CUDNN");
  e.threads = Number("HIERA_THREADS");
  e.verbose = Number("HIERA_VERBOSE");
  e.planner_idle_s = Number("HIERA_PLANNER_IDLE_S");
  e.home = Text("HOME");
  e.xdg_cache_home = Text("XDG_CACHE_HOME");
  e.xdg_runtime_dir = Text("XDG_RUNTIME_DIR");
  e.path = Text("PATH");
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    e.all.emplace_back(*entry);
  }
  return e;
}

}  // namespace

const Environment& GetEnvironment() {
  static const Environment& environment = *new Environment(Read());
  return environment;
}

}  // namespace hiera
