// hiera-evaluator: builds, verifies and measures candidates for the planner that started it.
//
//   hiera-evaluator --channel FD --work DIR [--store-artifacts DIR] [--memory BYTES]
//                   [--device host|cuda] [--device-memory BYTES]
//   hiera-evaluator --worker               (started by the former, see worker.h)
//   hiera-evaluator --gpu-worker           (likewise, see gpu_worker.h)
//   hiera-evaluator --measure-gpu          (likewise, see gpu_machine.h)
//   hiera-evaluator --compile-device ...   (likewise, see device_compiler.h)
//   hiera-evaluator --enumerate            (likewise, see enumerator.h)
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "runtime/base/log.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/device_compiler.h"
#include "runtime/evaluator/enumerator.h"
#include "runtime/evaluator/gpu_machine.h"
#include "runtime/evaluator/gpu_worker.h"
#include "runtime/evaluator/judge.h"
#include "runtime/evaluator/session.h"
#include "runtime/evaluator/worker.h"
#include "runtime/ipc/channel.h"

int main(int argc, char** argv) {
  // The worker parses nothing else: it is started many times a second.
  if (argc == 2 && std::strcmp(argv[1], "--worker") == 0) _exit(hiera::RunWorker());
  if (argc == 2 && std::strcmp(argv[1], "--gpu-worker") == 0) _exit(hiera::RunGpuWorker());
  if (argc == 2 && std::strcmp(argv[1], "--measure-gpu") == 0) return hiera::RunGpuMachine();
  if (argc >= 2 && std::strcmp(argv[1], "--compile-device") == 0) {
    return hiera::RunDeviceCompiler({argv + 2, argv + argc});
  }

  if (argc == 2 && std::strcmp(argv[1], "--enumerate") == 0) return hiera::RunEnumerator();

  CLI::App app("Builds, verifies and measures candidates for hiera-planner, which starts it.");
  int channel_fd = -1;
  hiera::JudgeOptions options;
  app.add_option("--channel", channel_fd, "Socket to the planner, an open descriptor")->required();
  app.add_option("--work", options.work_path, "Folder for builds")->required();
  app.add_option("--store-artifacts", options.artifacts_path,
                 "Folder that variants may load from, beside those of their own files");
  app.add_option("--memory", options.memory_bytes, "Most bytes that trials may take");
  std::string device_name = "host";
  app.add_option("--device", device_name, "What candidates run on")
      ->check(CLI::IsMember({"host", "cuda"}));
  app.add_option("--device-memory", options.device_memory_bytes,
                 "Most bytes of a GPU's memory that trials may take");
  CLI11_PARSE(app, argc, argv);

  struct stat info;
  if (fstat(channel_fd, &info) != 0 || !S_ISSOCK(info.st_mode)) {
    std::fprintf(stderr, "hiera-evaluator: --channel %d is not a socket\n", channel_fd);
    return 2;
  }
  fcntl(channel_fd, F_SETFD, FD_CLOEXEC);
  hiera::EndWithPeer(channel_fd);
  options.worker_program = "/proc/self/exe";
  const auto host = hiera::MakeHostDevice(0);
  std::unique_ptr<hiera::Device> gpu;
  if (device_name == "cuda") {
    // Under MPS a fault of one client ends all of them. No daemon answers there, so this process
    // and its children are no clients of one. A short path: it becomes part of a socket's.
    setenv("CUDA_MPS_PIPE_DIRECTORY", "/nonexistent", 1);
    // Only asks the driver for facts: contexts belong to children.
    auto made = hiera::MakeCudaDevice("cuda");
    if (!made.ok()) {
      std::fprintf(stderr, "hiera-evaluator: %s\n", made.status().message().c_str());
      return 2;
    }
    gpu = *std::move(made);
  }
  auto judge = hiera::Judge::Make(gpu == nullptr ? *host : *gpu, *host, options);
  if (!judge.ok()) {
    hiera::Log(hiera::LogLevel::kError, "evaluator: " + judge.status().message());
    std::fprintf(stderr, "hiera-evaluator: %s\n", judge.status().message().c_str());
    return 2;
  }
  hiera::Channel channel(channel_fd, channel_fd);
  return hiera::Serve(channel, **judge);
}
