// Measures on a real GPU, and prints as tables: what the interpreter and generated code do of the
// copy rate and of the multiply-adds, and what a launch through a plan costs the host beside the
// launch alone. One table alone: gpu_rates interpreted, generated, sweeps or launches.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/task/cost.h"
#include "runtime/task/parse.h"
#include "tests/gpu/generated_code.h"
#include "tests/gpu/gpu.h"

namespace hiera {
namespace {

using gpu::Check;
using gpu::Cuda;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Of the device, queued `inner` times in a row and divided.
template <typename Work>
double DeviceNs(Device& device, int inner, Work work) {
  std::vector<double> times;
  for (int sample = 0; sample < 12; ++sample) {
    const auto timer = device.MakeTimer();
    timer->Begin(nullptr);
    for (int i = 0; i < inner; ++i) work();
    timer->End(nullptr);
    Check(Cuda().cuStreamSynchronize(nullptr), "wait");
    if (sample >= 2) times.push_back(timer->ElapsedNs() / inner);
  }
  return Median(times);
}

double CopyGbps(Device& device) {
  constexpr size_t kBytes = size_t{1} << 30;
  const gpu::Memory from(kBytes), to(kBytes);
  const double ns = DeviceNs(device, 4, [&] {
    Check(Cuda().cuMemcpyDtoDAsync(reinterpret_cast<CUdeviceptr>(to.data()),
                                   reinterpret_cast<CUdeviceptr>(from.data()), kBytes, nullptr),
          "copy");
  });
  return 2 * static_cast<double>(kBytes) / ns;
}

// A task's buffers on the device, with values about 1 of either sign, as f32 or f16.
class Operands {
 public:
  explicit Operands(const Task& task) {
    for (int t = 0; t < task.bound_count; ++t) {
      const size_t bytes = task.tensors[t].span_bytes();
      memory_.push_back(std::make_unique<gpu::Memory>(bytes));
      std::vector<uint16_t> values(bytes / 2);
      uint32_t random = 12345;
      for (uint16_t& value : values) {
        random = random * 1664525 + 1013904223;
        value = static_cast<uint16_t>(0x3c00 + (random >> 16 & 0x83ff));
      }
      memory_[t]->Write(values.data(), bytes);
      pointers_.push_back(memory_[t]->data());
    }
  }
  Call call() const { return {pointers_.data(), nullptr, nullptr}; }

 private:
  std::vector<std::unique_ptr<gpu::Memory>> memory_;
  std::vector<void*> pointers_;
};

void PrintRow(Device& device, const std::string& name, const Task& task,
              const Executable& executable, const Operands& operands, double copy_gbps) {
  const double ns = DeviceNs(device, 3, [&] {
    if (executable.Run(operands.call()) != HIERA_OK) printf("a run failed\n");
  });
  const Cost cost = CostOf(task);
  printf("| %s | %.1f | %.0f | %.0f %% | %.0f |\n", name.c_str(), ns / 1e3, cost.bytes / ns,
         100 * cost.bytes / ns / copy_gbps, cost.flops / ns);
}

void Interpreted(Device& device, const char* name, const char* text, double copy_gbps) {
  const Result<Task> task = ParseTask(text);
  const auto made = task.ok() ? device.Interpret(*task) : task.status();
  if (!made.ok()) {
    printf("| %s | %s |\n", name, made.status().message().c_str());
    return;
  }
  PrintRow(device, name, *task, **made, Operands(*task), copy_gbps);
}

void PrintForms(Device& device, const std::string& name, const Task& task,
                const std::vector<gpu::GeneratedForm>& forms, double copy_gbps) {
  const Operands operands(task);
  for (const gpu::GeneratedForm& form : forms) {
    const auto made = gpu::MakeGenerated(device, task, *form.source, true);
    if (made.ok()) {
      PrintRow(device, name + ": " + form.name, task, **made, operands, copy_gbps);
    } else {
      printf("| %s: %s | %s |\n", name.c_str(), form.name.c_str(), made.status().message().c_str());
    }
  }
}

// Every form that the generators write.
void Generated(Device& device, const std::string& name, const char* text, double copy_gbps) {
  const Result<Task> task = ParseTask(text);
  if (!task.ok()) {
    printf("| %s | %s |\n", name.c_str(), task.status().message().c_str());
    return;
  }
  PrintForms(device, name, *task, gpu::GeneratedForms(*task), copy_gbps);
}

constexpr const char* kStar2 =
    "[8192,8192]; v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])";
constexpr const char* kStar3 =
    "[512,512,512]; v[i,j,k] = 0.4*u[i,j,k] + 0.1*(u[i-1,j,k] + u[i+1,j,k] + u[i,j-1,k] + "
    "u[i,j+1,k] + u[i,j,k-1] + u[i,j,k+1])";

struct Star {
  const char *name, *type, *shape, *formula;
  size_t sweeps;  // that are measured
};
constexpr Star kStars[] = {
    {"star2d1r f32 8192^2", "f32", "[8192,8192]", kStar2, 8},
    {"star3d1r f32 512^3", "f32", "[512,512,512]", kStar3, 8},
    {"star2d1r f64 8192^2", "f64", "[8192,8192]", kStar2, 4},
    {"star3d1r f64 512^3", "f64", "[512,512,512]", kStar3, 4},
};

// Plain tiles, and sweeps beside them.
void Swept(Device& device, const Star& star, double copy_gbps) {
  const std::string grid = std::string(star.type) + star.shape;
  const Task task = *ParseTask("tensor u: " + grid + " outside keep; tensor v: " + star.type +
                               star.formula + "; contract align=16");
  std::vector<gpu::GeneratedForm> forms = gpu::SweepForms(task, star.sweeps);
  forms.push_back(
      {"loops tile 64x4 of 4", WriteCudaLoops(task, {.threads = 256, .tile = 64, .rows = 4})});
  PrintForms(device, star.name, task, forms, copy_gbps);
}

template <typename Work>
double HostNs(Work work) {
  std::vector<double> times;
  for (int sample = 0; sample < 41; ++sample) {
    constexpr int kCalls = 500;  // fewer than the queue holds
    const int64_t begin = MonotonicNs();
    for (int i = 0; i < kCalls; ++i) work();
    const int64_t end = MonotonicNs();
    Check(Cuda().cuStreamSynchronize(nullptr), "wait");
    times.push_back(static_cast<double>(end - begin) / kCalls);
  }
  return Median(times);
}

void Launches(Device& device) {
  const Task task = *ParseTask("tensor x: f32[64]\ntensor y: f32[64]\nscalar a\ny[i] = a*x[i]");
  const auto variant = *device.Load(
      task, {"cuda align 4\nlaunch nothing grid 1 1 1 block 32 1 1 args t0 t1 s0:f32", 0, 0},
      gpu::SampleCode());
  const auto baseline = *device.Interpret(task);
  gpu::Memory x(256), y(256);
  void* pointers[] = {x.data(), y.data()};
  const double scalars[] = {2};
  const Call call{pointers, scalars, nullptr};
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  std::vector<char> code;
  FILE* file = fopen(gpu::SampleCode().c_str(), "rb");
  for (int c = fgetc(file); c != EOF; c = fgetc(file)) code.push_back(static_cast<char>(c));
  fclose(file);
  Check(Cuda().cuLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
        "library");
  Check(Cuda().cuLibraryGetKernel(&kernel, library, "nothing"), "kernel");
  float a = 2;
  void* arguments[] = {&pointers[0], &pointers[1], &a};
  const auto bare = [&] {
    Check(Cuda().cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, nullptr,
                                arguments, nullptr),
          "launch");
  };
  const auto planned = [&] { static_cast<void>(variant->Run(call)); };
  const auto interpreted = [&] { static_cast<void>(baseline->Run(call)); };
  std::vector<double> bare_ns, planned_ns, interpreted_ns;
  for (int round = 0; round < 7; ++round) {  // interleaved
    bare_ns.push_back(HostNs(bare));
    planned_ns.push_back(HostNs(planned));
    interpreted_ns.push_back(HostNs(interpreted));
  }
  printf("\n| launch | host ns |\n| --- | --- |\n| cuLaunchKernel alone | %.0f |\n",
         Median(bare_ns));
  printf("| a variant through its plan | %.0f |\n| the interpreter, one stage | %.0f |\n",
         Median(planned_ns), Median(interpreted_ns));
}

struct Row {
  const char *name, *text;
};

constexpr Row kInterpreted[] = {
    {"a*x + y, f32, 2^28",
     "tensor x: f32[268435456]; tensor y: f32[268435456]; tensor z: f32[268435456]; "
     "z[i] = 2.5*x[i] + y[i]"},
    {"gelu, f16, 2^28", "tensor x: f16[268435456]; tensor y: f16[268435456]; y[i] = gelu(x[i])"},
    {"star2d1r f32 8192^2, zero",
     "tensor u: f32[8192,8192] outside zero; tensor v: f32[8192,8192]; "
     "v[i,j] = 0.5*u[i,j] + 0.125*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])"},
    {"star3d1r f32 512^3, keep",
     "tensor u: f32[512,512,512] outside keep; tensor v: f32[512,512,512]; "
     "v[i,j,k] = 0.4*u[i,j,k] + 0.1*(u[i-1,j,k] + u[i+1,j,k] + u[i,j-1,k] + u[i,j+1,k] + "
     "u[i,j,k-1] + u[i,j,k+1])"},
    {"sum of 2^28, f32", "tensor x: f32[268435456]; tensor y: f32[]; y = sum(i: x[i])"},
    {"softmax f32 4096^2",
     "tensor x: f32[4096,4096]; tensor y: f32[4096,4096]; m[i] = max(j: x[i,j]); "
     "e[i,j] = exp(x[i,j] - m[i]); y[i,j] = e[i,j] / sum(k: e[i,k])"},
    {"sum over columns f32 16384^2",
     "tensor x: f32[16384,16384]; tensor y: f32[16384]; y[j] = sum(i: x[i,j])"},
    {"cumsum f32 4096 x 16384",
     "tensor x: f32[4096,16384]; tensor y: f32[4096,16384]; y[i,j] = cumsum(j: x[i,j])"},
    {"gemm f32 1024^3",
     "tensor A: f32[1024,1024]; tensor B: f32[1024,1024]; tensor C: f32[1024,1024]; "
     "C[i,j] = sum(k: A[i,k]*B[k,j])"},
    {"gemm f16 4096^3",
     "tensor A: f16[4096,4096]; tensor B: f16[4096,4096]; tensor C: f16[4096,4096]; "
     "C[i,j] = sum(k: A[i,k]*B[k,j])"},
    {"conv 3x3 f32 32x64x56^2, pad 1",
     "tensor X: f32[32,64,56,56] outside zero; tensor W: f32[64,64,3,3]; "
     "tensor Y: f32[32,64,56,56]; "
     "Y[n,f,y,x] = sum(c,r,s: X[n,c,y+r-1,x+s-1]*W[f,c,r,s])"},
};

constexpr Row kGenerated[] = {
    {"softmax f32 8192x8192",
     "tensor x: f32[8192,8192]; tensor y: f32[8192,8192]; m[i] = max(j: x[i,j]); "
     "e[i,j] = exp(x[i,j] - m[i]); y[i,j] = e[i,j] / sum(k: e[i,k])"},
    {"layer norm f32 8192x8192",
     "tensor x: f32[8192,8192]; tensor g: f32[8192]; tensor b: f32[8192]; "
     "tensor y: f32[8192,8192]; m[i] = mean(j: x[i,j]); d[i,j] = x[i,j] - m[i]; "
     "y[i,j] = g[j]*d[i,j]*rsqrt(mean(k: d[i,k]*d[i,k]) + 1e-5) + b[j]"},
    {"RMS norm bf16 16384x4096",
     "tensor x: bf16[16384,4096]; tensor g: bf16[4096]; tensor y: bf16[16384,4096]; "
     "y[i,j] = g[j]*x[i,j]*rsqrt(mean(k: x[i,k]*x[i,k]) + 1e-6)"},
    {"bias and GELU f16 16384x4096",
     "tensor x: f16[16384,4096]; tensor b: f16[4096]; tensor y: f16[16384,4096]; "
     "y[i,j] = gelu(x[i,j] + b[j])"},
    {"row sums f32 16384x16384",
     "tensor x: f32[16384,16384]; tensor y: f32[16384]; y[i] = sum(j: x[i,j])"},
};

// `only` names a table; null: all.
int Main(const char* only) {
  const std::string why = gpu::WhyNone();
  if (!why.empty()) {
    printf("nothing measured: %s\n", why.c_str());
    return 0;
  }
  gpu::UsePrimary();
  const auto device = *MakeCudaDevice("cuda:0");
  printf("%s", device->fingerprint().Text().c_str());
  const double copy = CopyGbps(*device);
  printf("copy: %.0f GB/s read and written\n", copy);
  const auto wanted = [&](const char* table) {
    if (only != nullptr && std::strcmp(only, table) != 0) return false;
    if (std::strcmp(table, "launches") == 0) return true;
    printf("\n| %s | us | GB/s | of copy | GFLOP/s |\n| --- | --- | --- | --- | --- |\n", table);
    return true;
  };
  if (wanted("interpreted")) {
    for (const Row& row : kInterpreted) Interpreted(*device, row.name, row.text, copy);
  }
  if (wanted("generated")) {
    for (const Row& row : kGenerated) Generated(*device, row.name, row.text, copy);
  }
  if (wanted("sweeps")) {
    for (const Star& star : kStars) Swept(*device, star, copy);
  }
  if (wanted("launches")) Launches(*device);
  return 0;
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) { return hiera::Main(argc > 1 ? argv[1] : nullptr); }
