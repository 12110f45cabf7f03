#include "runtime/evaluator/compilers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/evaluator/child_process.h"

namespace hiera {
namespace {

constexpr int kVersionTimeoutMs = 10'000;

// Flags that tune code and leave its meaning alone.
constexpr std::array<std::string_view, 27> kAllowed = {
    "-O1",
    "-O2",
    "-O3",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-funroll-loops",
    "-fno-unroll-loops",
    "-fpeel-loops",
    "-fomit-frame-pointer",
    "-fno-semantic-interposition",
    "-fno-plt",
    "-fno-stack-protector",
    "-fno-tree-vectorize",
    "-fno-vectorize",
    "-ftree-vectorize",
    "-fno-slp-vectorize",
    "-fno-tree-slp-vectorize",
    "-fopenmp-simd",
    "-fno-strict-aliasing",
    "-fno-schedule-insns",
    "-fno-schedule-insns2",
    "-fschedule-insns",
    "-fno-tree-loop-distribute-patterns",
    "-fno-builtin",
    "-fwrapv",
    "-ffp-contract=off",
    "-lm",
};
constexpr std::array<std::string_view, 7> kAllowedPrefixes = {
    "-mprefer-vector-width=", "-mtune=", "-D", "-Wno-", "-fvect-cost-model=", "-falign-loops=",
    "-fmax-unroll-times=",
};
// Flags that reorder sums, fuse operations or drop the sign of zero; only where the contract admits
// it.
constexpr std::array<std::string_view, 4> kReassociating = {
    "-fassociative-math", "-ffp-contract=fast", "-fno-signed-zeros", "-freciprocal-math"};

template <typename List>
bool Contains(const List& list, std::string_view flag) {
  return std::find(list.begin(), list.end(), flag) != list.end();
}

bool IsAllowed(std::string_view flag, Arithmetic arithmetic) {
  if (Contains(kAllowed, flag)) return true;
  if (Contains(kReassociating, flag)) return arithmetic != Arithmetic::kExact;
  return std::any_of(kAllowedPrefixes.begin(), kAllowedPrefixes.end(), [&](std::string_view p) {
    return flag.size() > p.size() && flag.substr(0, p.size()) == p;
  });
}

std::string OnPath(const std::string& path, const std::string& name) {
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string file = path.substr(begin, end - begin) + "/" + name;
    if (file[0] == '/' && access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return {};
}

// The first line that `path --version` prints; "" where it does not run.
std::string VersionOf(const std::string& path, const Environment& environment) {
  const int fd = memfd_create("hiera-version", MFD_CLOEXEC);
  if (fd < 0) return {};
  std::string text;
  auto child = ChildProcess::Start({.program = path,
                                    .arguments = {path, "--version"},
                                    .environment = CompilerEnvironment(environment, "/tmp"),
                                    .output_fd = fd});
  if (child.ok() && child->Wait(kVersionTimeoutMs) && WIFEXITED(child->wait_status()) &&
      WEXITSTATUS(child->wait_status()) == 0) {
    char buffer[512];
    const ssize_t got = pread(fd, buffer, sizeof buffer, 0);
    if (got > 0) text.assign(buffer, static_cast<size_t>(got));
  }
  close(fd);
  return text.substr(0, text.find('\n'));
}

Compiler FirstThatRuns(const std::vector<std::string>& paths, const Environment& environment) {
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    std::string version = VersionOf(path, environment);
    if (!version.empty()) return {path, std::move(version)};
  }
  return {};
}

}  // namespace

Compilers DiscoverCompilers(const Environment& environment) {
  const auto candidates = [&](const std::string& configured, std::vector<std::string> names) {
    if (!configured.empty()) {
      return std::vector<std::string>{configured[0] == '/' ? configured
                                                           : OnPath(environment.path, configured)};
    }
    for (std::string& name : names) name = OnPath(environment.path, name);
    return names;
  };
  std::vector<std::string> clangs;
  for (int version = 19; version >= 14; --version) {
    clangs.push_back("clang++-" + std::to_string(version));
  }
  clangs.push_back("clang++");
  return {FirstThatRuns(candidates(environment.gcc, {"g++"}), environment),
          FirstThatRuns(candidates(environment.clang, clangs), environment)};
}

Result<std::vector<std::string>> BuildArguments(const std::vector<std::string>& candidate_flags,
                                                Arithmetic arithmetic) {
  std::vector<std::string> arguments = {
      "-std=c++20", "-O3", "-march=native", "-fPIC", "-shared", "-pipe", "-fno-exceptions",
      "-fno-rtti", "-fno-asynchronous-unwind-tables",
      // No C++ runtime: nothing of it may be carried into an application.
      "-nodefaultlibs", "-Wl,-z,now", "-Wl,--build-id=none", "-s", "-w",
      arithmetic == Arithmetic::kExact ? "-ffp-contract=off" : "-ffp-contract=fast"};
  for (const std::string& flag : candidate_flags) {
    if (!IsAllowed(flag, arithmetic)) {
      return InvalidArgument("flag '" + flag +
                             "' is not allowed: only flags that tune code without changing the "
                             "values of NaN, infinities or, under exact arithmetic, any sum are");
    }
    arguments.push_back(flag);
  }
  return arguments;
}

std::vector<std::string> CompilerEnvironment(const Environment& environment,
                                             const std::string& temporary) {
  return {"PATH=" + (environment.path.empty() ? std::string("/usr/bin:/bin") : environment.path),
          "LC_ALL=C", "TMPDIR=" + temporary};
}

}  // namespace hiera
