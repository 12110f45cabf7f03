#include "runtime/evaluator/gpu_bench.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "runtime/library/cuda/gpu_entries.h"
#include "runtime/library/library.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr int64_t kMostMemory = int64_t{8} << 30;
constexpr int64_t kShareOfFree = 4;

bool IsLibraryPlan(const LaunchPlan& plan) {
  return plan.text.compare(0, kLibraryPlan.size(), kLibraryPlan) == 0;
}

std::string Mebibytes(int64_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }

Result<MappedRegion> MapDescriptor(int fd, int64_t bytes, int protection) {
  void* base = mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return OutOfMemory("cannot map a trial");
  return MappedRegion(base, bytes);
}

}  // namespace

Status GpuBench::MapTrials() {
  auto outputs = MapDescriptor(kWorkerOutputs, layout_.bytes, PROT_READ | PROT_WRITE);
  if (!outputs.ok()) return outputs.status();
  outputs_ = *std::move(outputs);
  for (size_t i = 0; i < setup_.trials.size(); ++i) {
    auto inputs = MapDescriptor(kWorkerFirstInputs + static_cast<int>(i), layout_.bytes, PROT_READ);
    if (!inputs.ok()) return inputs.status();
    inputs_.push_back(*std::move(inputs));
    if (setup_.trials[i].placement == Placement::kOrdinary) timed_ = static_cast<uint32_t>(i);
  }
  return {};
}

// First one arena and one copy, then copies until the cache is exceeded, then arenas, so that the
// inputs of each trial go to the device once.
Status GpuBench::TakeMemory(int64_t most_bytes) {
  const int64_t arena_bytes = GpuArena::BytesOf(layout_);
  const int64_t least = arena_bytes + GpuCopies::BytesOf(task_, layout_, 1);
  if (least > most_bytes) {
    return OutOfMemory("judging this task takes " + Mebibytes(least) + " of the device's memory, " +
                       Mebibytes(most_bytes) + " may be used: free some, or raise --device-memory");
  }
  const int64_t count =
      GpuCopies::CountFor(task_, layout_, state_->facts().l2_bytes, most_bytes - arena_bytes);
  auto copies = GpuCopies::Make(*stream_, task_, layout_, setup_.trials[timed_].placement,
                                inputs_[timed_].data(), count);
  if (!copies.ok()) return copies.status();
  copies_ = *std::move(copies);
  const int64_t left = most_bytes - GpuCopies::BytesOf(task_, layout_, count);
  const int64_t arenas =
      std::clamp<int64_t>(left / arena_bytes, 1, static_cast<int64_t>(setup_.trials.size()));
  for (int64_t i = 0; i < arenas; ++i) {
    auto arena = GpuArena::Make(*stream_, task_, layout_);
    if (!arena.ok()) return arena.status();
    arenas_.push_back(*std::move(arena));
  }
  workspace_limit_ = most_bytes;
  return {};
}

Result<std::string> GpuBench::SetUp(const WorkerSetup& setup) {
  setup_ = setup;
  auto task = ParseTask(setup_.canonical);
  if (!task.ok()) return task.status();
  task_ = *std::move(task);
  layout_ = LayOut(task_);
  if (setup_.trials.empty()) return InvalidArgument("no trials");
  HIERA_RETURN_IF_ERROR(MakeDeviceCurrent());
  const Result<const cuda::Driver*> driver = cuda::MachineDriver();
  if (!driver.ok()) return driver.status();
  Result<cuda::Facts> facts = cuda::ChooseDevice(**driver, "cuda");
  if (!facts.ok()) return facts.status();
  state_ = std::make_shared<cuda::DeviceState>(**driver, *std::move(facts));
  auto device = MakeCudaDevice("cuda");
  if (!device.ok()) return device.status();
  device_ = *std::move(device);
  auto stream = GpuStream::Make(**driver);
  if (!stream.ok()) return stream.status();
  stream_ = *std::move(stream);
  HIERA_RETURN_IF_ERROR(MapTrials());

  int64_t most_bytes = setup_.device_memory_bytes;
  if (most_bytes <= 0) {
    size_t free_bytes = 0, all = 0;
    const CUresult result = (*driver)->MemGetInfo(&free_bytes, &all);
    if (result != CUDA_SUCCESS) return cuda::Refused(**driver, result, "the device's memory");
    most_bytes = std::min(kMostMemory, static_cast<int64_t>(free_bytes) / kShareOfFree);
  }
  HIERA_RETURN_IF_ERROR(TakeMemory(most_bytes));
  auto monitor = GpuMonitor::Open(state_->facts().uuid);
  if (!monitor.ok()) return monitor.status().message();
  monitor_ = *std::move(monitor);
  return std::string();
}

Status GpuBench::LoadIncumbent(const Incumbent& incumbent) {
  const Incumbent& loaded = loaded_incumbent_;
  if (incumbent.kind == loaded.kind && incumbent.plan == loaded.plan &&
      incumbent.artifact_path == loaded.artifact_path) {
    return {};
  }
  incumbent_.reset();
  loaded_incumbent_ = {Incumbent::Kind::kNone, {}, "", ""};
  if (incumbent.kind == Incumbent::Kind::kNone) return {};
  auto made = incumbent.kind == Incumbent::Kind::kInterpreter ? device_->Interpret(task_)
              : IsLibraryPlan(incumbent.plan)
                  ? LoadLibraryPlan(task_, incumbent.plan)
                  : device_->Load(task_, incumbent.plan, incumbent.artifact_path);
  if (!made.ok()) return made.status();
  const double* scalars = setup_.trials[timed_].scalars.data();
  const hiera_status status = (*made)->Run({copies_->First(), scalars, stream_->handle()});
  HIERA_RETURN_IF_ERROR(stream_->Wait());
  if (status != HIERA_OK) return DeviceError("does not run");
  incumbent_ = *std::move(made);
  loaded_incumbent_ = incumbent;
  return {};
}

Status GpuBench::LoadCandidate(const WorkerRequest& request) {
  candidate_.reset();
  guarded_.reset();
  if (IsLibraryPlan(request.plan)) {
    auto library = LoadLibraryPlan(task_, request.plan);
    if (!library.ok()) return library.status();
    candidate_ = *std::move(library);
    return {};
  }
  if (request.plan.workspace_bytes > workspace_limit_) {
    return OutOfMemory("its workspace takes " + Mebibytes(request.plan.workspace_bytes) +
                       " of the device's memory, " + Mebibytes(workspace_limit_) +
                       " may be used: free some, or raise --device-memory");
  }
  auto guarded = GuardedPlan::Make(*state_, *stream_, task_, request.plan, request.artifact_path);
  if (!guarded.ok()) return guarded.status();
  guarded_ = *std::move(guarded);
  auto loaded = device_->Load(task_, request.plan, request.artifact_path);
  if (!loaded.ok()) return loaded.status();
  candidate_ = *std::move(loaded);
  return {};
}

GpuBench::MaybeFinding GpuBench::Load(const WorkerRequest& request) {
  const Status incumbent = LoadIncumbent(request.incumbent);
  if (!incumbent.ok()) return Finding{Verdict::kUnloadable, "incumbent: " + incumbent.message()};
  const Status candidate = LoadCandidate(request);
  if (!candidate.ok()) return Finding{Verdict::kUnloadable, candidate.message()};
  return std::nullopt;
}

}  // namespace hiera
