// The child that measures a GPU: copies between arrays that are larger than its last-level cache,
// and multiply-adds of every thread that fits.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "runtime/device/cuda/facts.h"
#include "runtime/device/device.h"
#include "runtime/evaluator/device_compiler.h"
#include "runtime/evaluator/gpu_machine.h"
#include "runtime/evaluator/gpu_stream.h"
#include "runtime/ipc/channel.h"
#include "runtime/library/cuda/gpu_entries.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr int kChildSocket = 3;
constexpr int kSendTimeoutMs = 10'000;
constexpr int64_t kCopyBytes = int64_t{1} << 30;  // of each array, where a quarter of memory allows
constexpr int kRounds = 8;
constexpr double kEnoughNs = 2e6;  // of one launch
constexpr int kThreads = 256;      // of a block; eight blocks fill a multiprocessor
constexpr int kBlocks = 8;
constexpr int kChains = 16;  // independent multiply-adds of a thread

// A sum that no reader can foresee keeps the loop alive.
constexpr const char* kSource = R"(
template <typename T>
__device__ void Rate(T* out, T factor, int rounds) {
  T x[16];
  for (int i = 0; i < 16; ++i) x[i] = (T)(threadIdx.x + i);
  for (int n = 0; n < rounds; ++n) {
#pragma unroll
    for (int i = 0; i < 16; ++i) x[i] = x[i] * factor + (T)1;
  }
  T sum = 0;
  for (int i = 0; i < 16; ++i) sum += x[i];
  if (sum == (T)0.12345) out[0] = sum;
}
extern "C" __global__ void rate_f32(float* out, float factor, int rounds) {
  Rate(out, factor, rounds);
}
extern "C" __global__ void rate_f64(double* out, double factor, int rounds) {
  Rate(out, factor, rounds);
}
)";

// "sm_90a" and what else runs there, the most capable first: code of one minor version runs on the
// later ones of its major version.
std::vector<std::string> Architectures(const cuda::Facts& facts) {
  const std::string major = "sm_" + std::to_string(facts.major);
  const std::string own = major + std::to_string(facts.minor);
  std::vector<std::string> names;
  if (facts.major >= 9) names.push_back(own + "a");
  names.push_back(own);
  if (facts.minor > 0) names.push_back(major + "0");
  return names;
}

// Multiply-adds of a clock on one multiprocessor, from the programming guide's table of throughput.
double UnitsOf(const cuda::Facts& facts, bool f64) {
  const int capability = 10 * facts.major + facts.minor;
  if (!f64) return capability == 80 ? 64 : 128;
  if (capability == 80) return 32;
  return capability == 90 || capability == 100 ? 64 : 2;
}

double PeakOfAttributes(const cuda::Driver& driver, const cuda::Facts& facts, bool f64) {
  int khz = 0;
  if (driver.DeviceGetAttribute(&khz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, facts.device) !=
      CUDA_SUCCESS) {
    return 0;
  }
  return 2 * UnitsOf(facts, f64) * facts.multiprocessors * khz * 1e3;
}

// GB/s, bytes read and bytes written both counted.
Result<double> CopyRate(GpuStream& stream, int64_t memory_bytes) {
  const int64_t bytes = std::min(kCopyBytes, memory_bytes / 4);
  const auto from = DeviceBlock::Make(stream.driver(), bytes);
  if (!from.ok()) return from.status();
  const auto to = DeviceBlock::Make(stream.driver(), bytes);
  if (!to.ok()) return to.status();
  double least_ns = 0;
  for (int round = 0; round < kRounds; ++round) {
    HIERA_RETURN_IF_ERROR(stream.StartClock());
    HIERA_RETURN_IF_ERROR(stream.Copy(to->address(), from->address(), bytes));
    const Result<double> ns = stream.StopClock();
    if (!ns.ok()) return ns.status();
    if (*ns > 0) least_ns = least_ns == 0 ? *ns : std::min(least_ns, *ns);
  }
  if (least_ns == 0) return DeviceError("a copy took no time");
  return 2 * static_cast<double>(bytes) / least_ns;
}

// Operations per second of one of the kernels.
Result<double> Peak(Device& device, GpuStream& stream, const std::string& code_path, bool f64) {
  const char* type = f64 ? "f64" : "f32";
  const std::string name(type);
  const Result<Task> task =
      ParseTask("tensor x: " + name + "[1]\ntensor y: " + name + "[1]\ny[i] = x[i]");
  if (!task.ok()) return task.status();
  const auto memory = DeviceBlock::Make(stream.driver(), 256);
  if (!memory.ok()) return memory.status();
  void* pointers[] = {reinterpret_cast<void*>(memory->address()),
                      reinterpret_cast<void*>(memory->address())};
  const int64_t blocks = int64_t{device.parallelism()} * kBlocks;
  double best = 0;
  int round = 0;
  for (int64_t rounds = 16; round < kRounds;) {
    const std::string plan = "cuda align 1\nlaunch rate_" + name + " grid " +
                             std::to_string(blocks) + " 1 1 block " + std::to_string(kThreads) +
                             " 1 1 args t1 " + name + "=0.5 i32=" + std::to_string(rounds);
    const auto kernel = device.Load(*task, {plan, 0, 0}, code_path);
    if (!kernel.ok()) return kernel.status();
    HIERA_RETURN_IF_ERROR(stream.StartClock());
    if ((*kernel)->Run({pointers, nullptr, stream.handle()}) != HIERA_OK) {
      return DeviceError("a kernel for measuring was refused");
    }
    const Result<double> ns = stream.StopClock();
    if (!ns.ok()) return ns.status();
    const double operations =
        2.0 * kChains * static_cast<double>(rounds) * kThreads * static_cast<double>(blocks);
    if (*ns > 0) best = std::max(best, operations / *ns * 1e9);
    // The first launches only find out how long one must be.
    if (*ns < kEnoughNs && rounds < (1 << 24)) {
      rounds *= 2;
      best = 0;
    } else {
      ++round;
    }
  }
  return best;
}

// Compiles the kernels for the first architecture that NVRTC knows, into a file in memory. "" where
// there is none.
std::string CompileRates(const cuda::Facts& facts, MachineFacts& machine) {
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) return {};
  for (const std::string& architecture : Architectures(facts)) {
    const auto code = (*compiler)->Compile(kSource, architecture, {});
    if (!code.ok()) continue;
    const int fd = memfd_create("hiera-rates", MFD_CLOEXEC);
    if (fd < 0 || write(fd, code->data(), code->size()) != static_cast<ssize_t>(code->size())) {
      return {};
    }
    machine.architecture = architecture;
    machine.has_nvrtc = true;
    return "/proc/self/fd/" + std::to_string(fd);
  }
  return {};
}

Result<MachineReport> Measure() {
  HIERA_RETURN_IF_ERROR(MakeDeviceCurrent());
  const auto driver = cuda::MachineDriver();
  if (!driver.ok()) return driver.status();
  const auto facts = cuda::ChooseDevice(**driver, "cuda");
  if (!facts.ok()) return facts.status();
  const auto device = MakeCudaDevice("cuda");
  if (!device.ok()) return device.status();
  auto stream = GpuStream::Make(**driver);
  if (!stream.ok()) return stream.status();

  MachineReport report;
  report.fingerprint = (*device)->fingerprint().Text();
  MachineFacts& machine = report.facts;
  machine.threads = facts->multiprocessors;
  machine.l1_bytes = facts->shared_bytes;  // one memory holds both
  machine.l2_bytes = machine.l3_bytes = facts->l2_bytes;
  machine.vector_bytes = 16;
  machine.has_gcc = machine.has_clang = false;
  machine.memory_bytes = facts->memory_bytes;
  machine.shared_bytes = facts->shared_bytes;
  machine.architecture = Architectures(*facts).front();
  const std::string code = CompileRates(*facts, machine);
  size_t free_bytes = 0, all = 0;
  if ((*driver)->MemGetInfo(&free_bytes, &all) != CUDA_SUCCESS) free_bytes = 0;
  const auto copy = CopyRate(*stream, static_cast<int64_t>(free_bytes));
  if (!copy.ok()) return copy.status();
  machine.copy_gbps = *copy;
  for (const bool f64 : {false, true}) {
    Result<double> peak = 0;
    if (machine.has_nvrtc) peak = Peak(**device, *stream, code, f64);
    // What NVRTC makes does not run here: then there is none for candidates either.
    machine.has_nvrtc &= peak.ok();
    (f64 ? machine.flops_f64 : machine.flops_f32) =
        machine.has_nvrtc ? *peak : PeakOfAttributes(**driver, *facts, f64);
  }
  return report;
}

}  // namespace

int RunGpuMachine() {
  Channel channel(kChildSocket, kChildSocket);
  Result<MachineReport> report = Measure();
  if (!report.ok()) {
    std::fprintf(stderr, "%s\n", report.status().message().c_str());
    _exit(1);
  }
  const Status sent = channel.Send(*report, kSendTimeoutMs);
  _exit(sent.ok() ? 0 : 1);  // without the destructors of the driver's libraries
}

}  // namespace hiera
