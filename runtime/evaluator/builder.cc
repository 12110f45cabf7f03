#include "runtime/evaluator/builder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "host_abi.h"
#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/evaluator/device_compiler.h"
#include "runtime/evaluator/digest.h"

namespace hiera {
namespace {

constexpr int kAtOnce = 2;
constexpr const char* kOwnProgram = "/proc/self/exe";
constexpr int kTickMs = 2;  // between looks at several children
constexpr int64_t kCompilerMemory = int64_t{4} << 30;
constexpr int64_t kLargestFile = int64_t{256} << 20;
constexpr size_t kDetailBytes = 1500;

// The first errors of a compiler say most.
std::string Shortened(std::string text) {
  if (text.size() <= kDetailBytes) return text;
  text.resize(kDetailBytes);
  return text + " ...";
}

Status MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return Unavailable("cannot make the folder " + path + ": " + std::strerror(errno));
}

void RemoveFolder(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

Result<Builder> Builder::Make(const std::string& work_path, const Environment& environment) {
  Builder builder;
  std::error_code error;
  builder.work_path_ = std::filesystem::absolute(work_path, error).string();
  if (error) return Unavailable("cannot use the folder " + work_path + ": " + error.message());
  // What an earlier evaluator was building when it ended.
  RemoveFolder(builder.work_path_ + "/build");
  for (const char* folder : {"", "/build", "/built", "/objects"}) {
    HIERA_RETURN_IF_ERROR(MakeFolder(builder.work_path_ + folder));
  }
  builder.environment_ = environment;
  builder.compilers_ = DiscoverCompilers(environment);
  return builder;
}

Status Builder::PlanHostBuild(const Candidate& candidate, Arithmetic arithmetic, Job& job) const {
  const Compiler& compiler = compilers_.of(candidate.compiler);
  auto arguments = BuildArguments(candidate.flags, arithmetic);
  if (!arguments.ok()) return arguments.status();
  if (compiler.path.empty()) {
    return Unavailable(candidate.compiler == Candidate::Compiler::kClang
                           ? "no clang++ was found: install clang, or set HIERA_CLANG"
                           : "no g++ was found: install g++, or set HIERA_GCC");
  }
  job.source = std::string(embedded::abi_h) + "#line 1 \"candidate\"\n" + candidate.source;
  std::string identity = compiler.version;
  for (const std::string& argument : *arguments) identity += '\n' + argument;
  job.key = HashBytes(identity + '\n' + job.source).ToHex();
  job.source_name = "candidate.cc";
  job.built_name = "candidate.so";
  job.suffix = ".so";
  job.command = {compiler.path};
  job.command.insert(job.command.end(), arguments->begin(), arguments->end());
  for (const char* rest : {"candidate.cc", "-o", "candidate.so", "-lm", "-lc", "-lgcc"}) {
    job.command.push_back(rest);
  }
  return {};
}

Status Builder::PlanDeviceBuild(const Candidate& candidate, Arithmetic arithmetic,
                                const std::string& architecture, Job& job) const {
  const auto options = DeviceBuildOptions(candidate.flags, arithmetic);
  if (!options.ok()) return options.status();
  if (architecture.empty()) return Unavailable("there is no GPU here to compile for");
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) return compiler.status();
  std::error_code ignored;  // one version has many builds
  const auto bytes = std::filesystem::file_size((*compiler)->path(), ignored);
  job.source = candidate.source;
  std::string identity =
      "nvrtc " + (*compiler)->version() + " " + std::to_string(bytes) + " " + architecture;
  job.command = {kOwnProgram, "--compile-device", architecture, "candidate.cu", "candidate.cubin"};
  for (const std::string& option : *options) {
    identity += '\n' + option;
    job.command.push_back(option);
  }
  job.key = HashBytes(identity + '\n' + job.source).ToHex();
  job.source_name = "candidate.cu";
  job.built_name = "candidate.cubin";
  job.suffix = ".cubin";
  // The child must find the NVRTC that was found here, and its parts.
  for (const std::string& variable : environment_.all) {
    if (variable.rfind("HIERA_", 0) == 0 || variable.rfind("LD_LIBRARY_PATH=", 0) == 0) {
      job.environment.push_back(variable);
    }
  }
  return {};
}

int Builder::Start(const Candidate& candidate, Arithmetic arithmetic, double seconds, int nice,
                   const std::string& architecture) {
  const int ticket = next_ticket_++;
  Job& job = jobs_[ticket];
  const Status planned = candidate.compiler == Candidate::Compiler::kNvrtc
                             ? PlanDeviceBuild(candidate, arithmetic, architecture, job)
                             : PlanHostBuild(candidate, arithmetic, job);
  if (!planned.ok()) {
    job.done = true;
    job.result.detail = planned.message();
    return ticket;
  }
  job.seconds = seconds;
  job.nice = nice;
  if (Remembered(job)) return ticket;
  queue_.push_back(ticket);
  Poll();
  return ticket;
}

bool Builder::Remembered(Job& job) const {
  auto sha256 = ReadFile(work_path_ + "/built/" + job.key);
  if (!sha256.ok()) return false;
  const std::string path = work_path_ + "/objects/" + *sha256 + job.suffix;
  const auto actual = DigestOfFile(path);
  if (!actual.ok() || *actual != *sha256) return false;
  job.done = true;
  job.result = {true, "", path, *sha256, 0};
  return true;
}

void Builder::Launch(int ticket, Job& job) {
  job.started_ns = MonotonicNs();
  job.deadline_ns = job.started_ns + static_cast<int64_t>(job.seconds * 1e9);
  job.folder = work_path_ + "/build/" + std::to_string(ticket);
  Status status = MakeFolder(job.folder);
  if (status.ok()) status = WriteFile(job.folder + "/" + job.source_name, job.source);
  if (status.ok()) {
    job.log_fd = open((job.folder + "/log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    std::vector<std::string> environment = CompilerEnvironment(environment_, job.folder);
    environment.insert(environment.end(), job.environment.begin(), job.environment.end());
    auto child = ChildProcess::Start({.program = job.command[0],
                                      .arguments = job.command,
                                      .environment = environment,
                                      .directory = job.folder,
                                      .output_fd = job.log_fd,
                                      .nice = job.nice,
                                      .address_space_bytes = kCompilerMemory,
                                      .file_bytes = kLargestFile,
                                      .cpu_seconds = static_cast<int>(std::ceil(job.seconds)) + 1});
    if (child.ok()) {
      job.child = *std::move(child);
      job.running = true;
      return;
    }
    status = child.status();
  }
  job.done = true;
  job.result.detail = status.message();
}

BuildResult Builder::Collect(const Job& job) const {
  BuildResult result;
  if (!WIFEXITED(job.child.wait_status()) || WEXITSTATUS(job.child.wait_status()) != 0) {
    auto log = ReadFile(job.folder + "/log");
    result.detail = "the compiler " + job.child.EndText() + ": " +
                    (log.ok() ? Shortened(*std::move(log)) : log.status().message());
    return result;
  }
  const std::string built = job.folder + "/" + job.built_name;
  auto sha256 = DigestOfFile(built);
  if (!sha256.ok()) {
    result.detail = sha256.status().message();
    return result;
  }
  const std::string path = work_path_ + "/objects/" + *sha256 + job.suffix;
  if (rename(built.c_str(), path.c_str()) != 0) {
    result.detail = "cannot keep " + path + ": " + std::strerror(errno);
    return result;
  }
  // Only a memory aid: without it the same source is built again.
  [[maybe_unused]] const Status remembered = WriteFile(work_path_ + "/built/" + job.key, *sha256);
  return {true, "", path, *sha256, 0};
}

void Builder::Finish(Job& job, bool late) {
  if (late) {
    job.child.Kill();
    job.result.detail =
        "the compiler did not finish within " + std::to_string(job.seconds).substr(0, 5) + " s";
  } else {
    job.result = Collect(job);
  }
  job.result.seconds = static_cast<double>(MonotonicNs() - job.started_ns) * 1e-9;
  job.running = false;
  job.done = true;
  if (job.log_fd >= 0) close(job.log_fd);
  RemoveFolder(job.folder);
}

void Builder::Poll() {
  int running = 0;
  for (auto& [ticket, job] : jobs_) {
    if (!job.running) continue;
    if (job.child.Wait(0)) {
      Finish(job, false);
    } else if (paused_ns_ == 0 && MonotonicNs() > job.deadline_ns) {
      Finish(job, true);
    } else {
      ++running;
    }
  }
  while (paused_ns_ == 0 && running < kAtOnce && !queue_.empty()) {
    const int ticket = queue_.front();
    queue_.pop_front();
    Job& job = jobs_[ticket];
    if (!Remembered(job)) Launch(ticket, job);
    running += job.running ? 1 : 0;
  }
}

BuildResult Builder::Take(int ticket, int64_t deadline_ns) {
  const auto found = jobs_.find(ticket);
  if (found == jobs_.end()) return {false, "no such build", "", "", 0};
  Resume();
  for (Poll(); !found->second.done; Poll()) {
    if (deadline_ns != 0 && MonotonicNs() > deadline_ns) {
      return {false, "the search's time ran out before it was built", "", "", 0};
    }
    if (found->second.running) {
      found->second.child.Wait(kTickMs);
    } else {
      usleep(kTickMs * 1000);
    }
  }
  BuildResult result = std::move(found->second.result);
  jobs_.erase(found);
  return result;
}

void Builder::Pause() {
  if (paused_ns_ != 0) return;
  paused_ns_ = MonotonicNs();
  for (auto& [ticket, job] : jobs_) {
    if (job.running) job.child.Pause();
  }
}

void Builder::Resume() {
  if (paused_ns_ == 0) return;
  const int64_t pause = MonotonicNs() - paused_ns_;
  paused_ns_ = 0;
  for (auto& [ticket, job] : jobs_) {
    if (!job.running) continue;
    job.deadline_ns += pause;
    job.child.Resume();
  }
}

void Builder::Abandon() {
  for (auto& [ticket, job] : jobs_) {
    if (!job.running) continue;
    job.child.Kill();
    close(job.log_fd);
    RemoveFolder(job.folder);
  }
  jobs_.clear();
  queue_.clear();
  paused_ns_ = 0;
}

}  // namespace hiera
