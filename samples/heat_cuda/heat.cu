// Heat in a plate, on a GPU: the solver's own kernel is HIERA's baseline, and what is planned for
// exactly this grid on this GPU takes its place while the program runs.
#include <cuda_runtime.h>
#include <hiera/hiera.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr float kKappa = 0.2f;
constexpr double kReportSeconds = 0.5;
constexpr double kSteadySeconds = 2;    // how long the baseline and the winner are timed
constexpr int kCallsBetweenWaits = 16;  // so that the queue of the stream stays short

void Must(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(result));
}

void Must(hiera_status status) {
  if (status != HIERA_OK) throw std::runtime_error(hiera_last_error());
}

double Seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

// One step, one thread a cell: what one writes first.
__global__ void Step(const float* u, float* v, int size) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  const size_t at = size_t(y) * size + x;
  const float up = u[y > 0 ? at - size : at], down = u[y + 1 < size ? at + size : at];
  const float left = u[x > 0 ? at - 1 : at], right = u[x + 1 < size ? at + 1 : at];
  v[at] = u[at] + kKappa * (up + down + left + right - 4 * u[at]);
}

hiera_status RunStep(void* user, void* const* pointers, const double*, void* stream) {
  const int size = *static_cast<const int*>(user);
  const dim3 block(32, 8), grid((size + 31) / 32, (size + 7) / 8);
  Step<<<grid, block, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const float*>(pointers[0]), static_cast<float*>(pointers[1]), size);
  return cudaGetLastError() == cudaSuccess ? HIERA_OK : HIERA_DEVICE_ERROR;
}

// The same update as the kernel's, as a formula: what HIERA plans from.
hiera_op* DeclareHeat(hiera_engine* engine, int* size) {
  const hiera_tensor tensors[] = {
      {"u", HIERA_F32, 2, {*size, *size}, {0}, HIERA_OUTSIDE_CLAMP, 0},
      {"v", HIERA_F32, 2, {*size, *size}, {0}, HIERA_OUTSIDE_REFUSE, 0},
  };
  const std::string text = "v[y,x] = u[y,x] + " + std::to_string(kKappa) +
                           " * (u[y-1,x] + u[y+1,x] + u[y,x-1] + u[y,x+1] - 4*u[y,x])";
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = text.c_str();
  formula.tensors = tensors;
  formula.tensor_count = 2;
  formula.baseline = RunStep;
  formula.baseline_user = size;
  hiera_op* op = nullptr;
  Must(hiera_op_create(engine, &formula, &op));
  return op;
}

// Two fields on the GPU, and the steps that go to and fro between them.
class Plate {
 public:
  explicit Plate(int size) : size_(size) {
    std::vector<float> field(size_t(size) * size);
    for (int y = 0; y < size; ++y) {
      for (int x = 0; x < size; ++x) {
        const double dx = x - size * 0.4, dy = y - size * 0.6;
        field[size_t(y) * size + x] = dx * dx + dy * dy < size * size / 16.0 ? 1.0f : 0.0f;
      }
    }
    Must(cudaStreamCreate(&stream_), "a stream");
    for (float** pointer : {&u_, &v_}) Must(cudaMalloc(pointer, Bytes()), "memory for the plate");
    Set(field);
  }
  ~Plate() {
    cudaFree(u_);
    cudaFree(v_);
    cudaStreamDestroy(stream_);
  }

  size_t Bytes() const { return size_t(size_) * size_ * sizeof(float); }
  void Wait() { Must(cudaStreamSynchronize(stream_), "the steps"); }

  void StepAlone() {
    void* const pointers[] = {u_, v_};
    Must(RunStep(&size_, pointers, nullptr, stream_));
    std::swap(u_, v_);
  }
  void StepWith(hiera_op* op) {
    void* const pointers[] = {u_, v_};
    Must(hiera_op_run(op, pointers, nullptr, stream_));
    std::swap(u_, v_);
  }
  void Set(const std::vector<float>& field) {
    Must(cudaMemcpy(u_, field.data(), Bytes(), cudaMemcpyHostToDevice), "a field");
  }
  std::vector<float> Field() {
    Wait();
    std::vector<float> field(size_t(size_) * size_);
    Must(cudaMemcpy(field.data(), u_, Bytes(), cudaMemcpyDeviceToHost), "the field");
    return field;
  }

 private:
  int size_;
  cudaStream_t stream_ = nullptr;
  float *u_ = nullptr, *v_ = nullptr;
};

const char* SpaceName(uint32_t space) {
  constexpr const char* kNames[] = {"baseline", "framework", "library", "kernel"};
  return space < 4 ? kNames[space] : "unknown";
}

// Steps per second over `seconds`, in whole rounds.
template <typename F>
double Rate(Plate& plate, double seconds, const F& step) {
  const double start = Seconds();
  long steps = 0;
  do {
    for (int i = 0; i < kCallsBetweenWaits; ++i) step();
    plate.Wait();
    steps += kCallsBetweenWaits;
  } while (Seconds() - start < seconds);
  return steps / (Seconds() - start);
}

int Solve(int size, double patience) {
  Plate plate(size);
  plate.StepAlone();
  plate.Wait();
  const double alone = Rate(plate, kSteadySeconds, [&] { plate.StepAlone(); });
  std::printf("heat_cuda: %d x %d plate, the solver's own kernel alone: %.0f steps/s\n", size, size,
              alone);

  hiera_config config = HIERA_CONFIG_INIT;
  config.device = "cuda";
  hiera_engine* engine = nullptr;
  Must(hiera_engine_create(&config, &engine));
  hiera_op* op = DeclareHeat(engine, &size);
  hiera_op_info info = HIERA_OP_INFO_INIT;
  const double start = Seconds();
  double worst = 1;  // of the rate alone, in any window
  for (uint64_t generation = 0; info.settled == 0 && Seconds() - start < patience;) {
    const double rate = Rate(plate, kReportSeconds, [&] { plate.StepWith(op); });
    hiera_op_get_info(op, &info);
    worst = std::min(worst, rate / alone);
    std::printf("  %6.2f s  %8.0f steps/s  %s%s\n", Seconds() - start, rate, SpaceName(info.space),
                info.generation != generation ? "  (swapped)" : "");
    generation = info.generation;
  }
  const double steady = Rate(plate, kSteadySeconds, [&] { plate.StepWith(op); });
  hiera_op_get_info(op, &info);

  // One more step, beside the solver's own.
  const std::vector<float> field = plate.Field();
  plate.StepAlone();
  const std::vector<float> expected = plate.Field();
  plate.Set(field);
  plate.StepWith(op);
  const std::vector<float> after = plate.Field();
  double error = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    const double difference = std::fabs(double(after[i]) - expected[i]);
    if (!(difference <= error)) error = difference;
  }
  std::vector<char> why(1 << 14);
  if (hiera_op_explain(op, why.data(), why.size(), nullptr) == HIERA_OK) {
    std::printf("%s\n", why.data());
  }
  hiera_op_destroy(op);
  hiera_engine_destroy(engine);

  const double bytes = 2.0 * plate.Bytes();
  const bool right = error <= 1e-6;  // values lie in [0, 1]: a few units in the last place
  std::printf("heat_cuda: plate within %.2g of the solver's own step: %s\n", error,
              right ? "ok" : "WRONG");
  std::printf(
      "heat_cuda: alone %.0f steps/s (%.0f GB/s), now %.0f steps/s (%.0f GB/s, %.2f x) from the %s "
      "space; slowest half second while planning %.2f of alone\n",
      alone, alone * bytes * 1e-9, steady, steady * bytes * 1e-9, steady / alone,
      SpaceName(info.space), worst);
  return right ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int size = argc > 1 ? std::atoi(argv[1]) : 8192;
  const double patience = argc > 2 ? std::atof(argv[2]) : 60;
  if (size < 3 || argc > 3) {
    std::fprintf(stderr, "heat_cuda [SIZE [SECONDS]]\n");
    return 2;
  }
  try {
    return Solve(size, patience);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "heat_cuda: %s\n", error.what());
    return 1;
  }
}
