#include "runtime/device/cuda/interpreter/interpreter.h"

#include <new>
#include <utility>

#include "runtime/device/cuda/interpreter/schedule.h"

namespace hiera::cuda {
namespace {

// Puts stages on a stream.
class StreamQueue final : public Schedule::Queue {
 public:
  StreamQueue(const Driver& driver, const InterpreterKernels& kernels, bool is_f64,
              const Call& call)
      : driver_(driver), kernels_(kernels), is_f64_(is_f64), call_(call) {}

  bool Put(const StageLaunch& stage, char* const* bases) noexcept override {
    using Kernels = InterpreterKernels;
    if (stage.is_scan()) {
      ScanLaunch scan = stage.FillScan(bases);
      const auto storage = stage.scan_storage();
      const auto kernel = storage == interpreter::Storage::kF32   ? Kernels::kScanF32
                          : storage == interpreter::Storage::kF64 ? Kernels::kScanF64
                                                                  : Kernels::kScanI64;
      return Queued(kernels_[kernel], stage.shape(), &scan);
    }
    Launch launch;
    stage.Fill(bases, call_.scalars, &launch);
    const auto kernel = stage.far_code().empty() ? (is_f64_ ? Kernels::kF64 : Kernels::kF32)
                                                 : (is_f64_ ? Kernels::kFarF64 : Kernels::kFarF32);
    return Queued(kernels_[kernel], stage.shape(), &launch);
  }

 private:
  bool Queued(CUkernel kernel, const Shape& shape, void* argument) noexcept {
    CUlaunchConfig config = {};
    config.gridDimX = shape.blocks;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = shape.threads;
    config.sharedMemBytes = shape.shared_bytes;
    config.hStream = static_cast<CUstream>(call_.stream);
    void* arguments[] = {argument};
    return driver_.LaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), arguments,
                                  nullptr) == CUDA_SUCCESS;
  }

  const Driver& driver_;
  const InterpreterKernels& kernels_;
  const bool is_f64_;
  const Call& call_;
};

class Interpreter final : public Executable {
 public:
  Interpreter(std::shared_ptr<DeviceState> state, std::shared_ptr<const InterpreterKernels> kernels,
              Schedule schedule, const Task& task)
      : state_(std::move(state)), kernels_(std::move(kernels)), schedule_(std::move(schedule)) {
    for (int t = 0; t < task.bound_count; ++t) {
      misaligned_bits_.push_back(static_cast<uintptr_t>(SizeOf(task.tensors[t].dtype) - 1));
    }
  }

  hiera_status Run(const Call& call) const noexcept override {
    for (size_t t = 0; t < misaligned_bits_.size(); ++t) {
      const auto address = reinterpret_cast<uintptr_t>(call.pointers[t]);
      if ((address & misaligned_bits_[t]) != 0) return HIERA_INVALID_ARGUMENT;
    }
    CUcontext context = nullptr;
    if (state_->driver().CtxGetCurrent(&context) != CUDA_SUCCESS) return HIERA_DEVICE_ERROR;
    return kernels_->residence().Has(context) ? Queue(call) : RunElsewhere(call);
  }

 private:
  hiera_status Queue(const Call& call) const noexcept {
    const StreamMemory memory(*state_, schedule_.memory_bytes(),
                              static_cast<CUstream>(call.stream));
    if (memory.result() != CUDA_SUCCESS) {
      return memory.result() == CUDA_ERROR_OUT_OF_MEMORY ? HIERA_OUT_OF_MEMORY : HIERA_DEVICE_ERROR;
    }
    StreamQueue queue(state_->driver(), *kernels_, schedule_.is_f64(), call);
    char* const base = reinterpret_cast<char*>(memory.address());
    return schedule_.Run(call.pointers, base, queue) ? HIERA_OK : HIERA_DEVICE_ERROR;
  }

  // In a context where the kernels may not be loaded yet, or in none. A baseline has nothing to
  // fall back on: it loads them, under capture too.
  hiera_status RunElsewhere(const Call& call) const noexcept {
    const Driver& driver = state_->driver();
    const EnsuredContext ensured(*state_);
    CUcontext context = nullptr;
    CUdevice device = 0;
    if (!ensured.ok() || driver.CtxGetCurrent(&context) != CUDA_SUCCESS ||
        driver.CtxGetDevice(&device) != CUDA_SUCCESS) {
      return HIERA_DEVICE_ERROR;
    }
    if (device != state_->facts().device) return HIERA_INVALID_ARGUMENT;
    const Residence& residence = kernels_->residence();
    if (!residence.Has(context) && residence.Load(driver, context) != CUDA_SUCCESS) {
      return HIERA_DEVICE_ERROR;
    }
    return Queue(call);
  }

  const std::shared_ptr<DeviceState> state_;
  const std::shared_ptr<const InterpreterKernels> kernels_;
  const Schedule schedule_;
  std::vector<uintptr_t> misaligned_bits_;  // by bound tensor
};

// Puts code that has no room in a launch onto the device, for ever: a graph may hold it longer than
// anything of ours.
Status Upload(DeviceState& state, StageLaunch& stage) {
  if (stage.far_code().empty()) return {};
  HIERA_RETURN_IF_ERROR(state.PreparePool());
  const Driver& driver = state.driver();
  const RelaxedCapture relaxed(driver);
  const size_t bytes = stage.far_code().size() * sizeof(uint32_t);
  CUstream stream = nullptr;
  CUdeviceptr address = 0;
  CUresult result = driver.StreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  if (result != CUDA_SUCCESS) return Refused(driver, result, "a stream");
  result = driver.MemAllocFromPoolAsync(&address, bytes, state.pool(), stream);
  if (result == CUDA_SUCCESS) {
    result = driver.MemcpyHtoDAsync(address, stage.far_code().data(), bytes, stream);
  }
  if (result == CUDA_SUCCESS) result = driver.StreamSynchronize(stream);
  driver.StreamDestroy(stream);
  if (result != CUDA_SUCCESS) return Refused(driver, result, "the formula's code");
  stage.set_far_code(reinterpret_cast<const uint32_t*>(address));
  return {};
}

}  // namespace

Result<std::shared_ptr<const InterpreterKernels>> InterpreterKernels::Load(DeviceState& state,
                                                                           std::string_view code) {
  const Driver& driver = state.driver();
  const Result<CUlibrary> library = state.LoadLibrary(code);
  if (!library.ok()) return library.status();
  constexpr const char* kNames[kKernels] = {"hiera_interpret_f32",     "hiera_interpret_f64",
                                            "hiera_interpret_far_f32", "hiera_interpret_far_f64",
                                            "hiera_scan_f32",          "hiera_scan_f64",
                                            "hiera_scan_i64"};
  std::array<CUkernel, kKernels> kernels = {};
  const RelaxedCapture relaxed(driver);
  for (int k = 0; k < kKernels; ++k) {
    const CUresult result = driver.LibraryGetKernel(&kernels[k], *library, kNames[k]);
    if (result != CUDA_SUCCESS) return Refused(driver, result, std::string("kernel ") + kNames[k]);
  }
  return std::shared_ptr<const InterpreterKernels>(new InterpreterKernels(kernels));
}

Result<std::unique_ptr<Executable>> MakeInterpreter(
    std::shared_ptr<DeviceState> state, std::shared_ptr<const InterpreterKernels> kernels,
    const Task& task) {
  try {
    Result<Schedule> schedule = Schedule::Make(task, {state->facts().multiprocessors});
    if (!schedule.ok()) return schedule.status();
    const EnsuredContext ensured(*state);
    const Driver& driver = state->driver();
    Status uploaded;
    schedule->ForEachStage([&](StageLaunch& stage) {
      if (uploaded.ok()) uploaded = Upload(*state, stage);
    });
    if (!uploaded.ok()) return uploaded;
    if (schedule->memory_bytes() > 0) HIERA_RETURN_IF_ERROR(state->PreparePool());
    // Into the context that the operator is made in: most likely where it will run.
    CUcontext context = nullptr;
    CUdevice device = 0;
    if (driver.CtxGetCurrent(&context) == CUDA_SUCCESS &&
        driver.CtxGetDevice(&device) == CUDA_SUCCESS && device == state->facts().device &&
        !kernels->residence().Has(context)) {
      const CUresult result = kernels->residence().Load(driver, context);
      if (result != CUDA_SUCCESS) return Refused(driver, result, "loading the interpreter");
    }
    return std::unique_ptr<Executable>(std::make_unique<Interpreter>(
        std::move(state), std::move(kernels), *std::move(schedule), task));
  } catch (const std::bad_alloc&) {
    return OutOfMemory("interpreter: no memory to compile the formula");
  }
}

}  // namespace hiera::cuda
