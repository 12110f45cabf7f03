#include "runtime/evaluator/worker.h"

#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/evaluator/fault_record.h"
#include "runtime/evaluator/guarded_memory.h"
#include "runtime/evaluator/guarded_object.h"
#include "runtime/evaluator/layout.h"
#include "runtime/evaluator/measure.h"
#include "runtime/evaluator/sandbox.h"
#include "runtime/evaluator/syscall_filter.h"
#include "runtime/evaluator/worker_protocol.h"
#include "runtime/library/library.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr int64_t kSpareMemory = int64_t{256} << 20;
constexpr int64_t kWorkspaces = 4;  // that the host device reserves for an object
constexpr size_t kSpareHeap = 4 << 20;

bool IsLibraryPlan(const LaunchPlan& plan) {
  return plan.text.compare(0, kLibraryPlan.size(), kLibraryPlan) == 0;
}

// Private memory of this process so far.
int64_t DataBytes() {
  long size = 0, resident = 0, shared = 0, text = 0, lib = 0, data = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  const int got =
      std::fscanf(file, "%ld %ld %ld %ld %ld %ld", &size, &resident, &shared, &text, &lib, &data);
  std::fclose(file);
  return got == 6 ? int64_t{data} * sysconf(_SC_PAGESIZE) : 0;
}

class Worker {
 public:
  // Everything up to the sandbox, the sandbox, the code, and the stricter filter. The result is
  // what was degraded.
  Result<std::string> SetUp(const WorkerSetup& setup);
  WorkerReply Answer(const WorkerRequest& request);

 private:
  Status MapMemory();
  Status MakeIncumbent();
  Status LoadCandidate();
  Status StartThreads();
  Status RunOnce(uint32_t trial);
  Status Measure(const WorkerRequest& request, WorkerReply& reply);
  void RestoreCopies(bool in_place_only);

  WorkerSetup setup_;
  Task task_;
  Layout layout_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<ThreadPool> pool_;  // of verification
  GuardedMemory memory_;
  FaultRecord* record_ = nullptr;
  std::vector<std::vector<void*>> trials_;  // pointers of each
  std::vector<void*> copies_;               // pointers of what is measured
  uint32_t copied_trial_ = 0;
  std::unique_ptr<Executable> incumbent_;  // null: none
  std::optional<GuardedObject> guarded_;   // of a candidate that is an object
  std::unique_ptr<Executable> candidate_;
};

Status Worker::MapMemory() {
  for (size_t i = 0; i < setup_.trials.size(); ++i) {
    auto pointers = memory_.MapTrial(task_, layout_, setup_.trials[i].placement,
                                     kWorkerFirstInputs + static_cast<int>(i), kWorkerOutputs);
    if (!pointers.ok()) return pointers.status();
    trials_.push_back(*std::move(pointers));
    if (setup_.trials[i].placement == Placement::kOrdinary) {
      copied_trial_ = static_cast<uint32_t>(i);
    }
  }
  auto copies = memory_.CopyTrial(layout_, trials_[copied_trial_]);
  if (!copies.ok()) return copies.status();
  copies_ = *std::move(copies);
  return {};
}

Status Worker::MakeIncumbent() {
  const Incumbent& incumbent = setup_.incumbent;
  if (incumbent.kind == Incumbent::Kind::kNone) return {};
  auto made = incumbent.kind == Incumbent::Kind::kInterpreter ? device_->Interpret(task_)
              : IsLibraryPlan(incumbent.plan)
                  ? LoadLibraryPlan(task_, incumbent.plan)
                  : device_->Load(task_, incumbent.plan, incumbent.artifact_path);
  if (!made.ok()) return Status(made.status().code(), "incumbent: " + made.status().message());
  incumbent_ = *std::move(made);
  return {};
}

// Threads can't be made once the sandbox is up, so both pools get theirs now, by regions that are
// sure to need them all.
Status Worker::StartThreads() {
  pool_ = std::make_unique<ThreadPool>(device_->parallelism());
  pool_->Run(
      pool_->threads(), [](void*, long, long, int) { UnblockFaultSignals(); }, nullptr);
  auto task = ParseTask("tensor a: f32[1048576]; tensor b: f32[1048576]; b[i] = a[i] + a[i]");
  if (!task.ok()) return task.status();
  auto executable = device_->Interpret(*task);
  if (!executable.ok()) return {};  // then the first regions run on fewer threads
  std::vector<float> a(1 << 20), b(1 << 20);
  void* pointers[] = {a.data(), b.data()};
  if ((*executable)->Run({pointers, nullptr, nullptr}) != HIERA_OK) {
    return Internal("the interpreter does not run");
  }
  return {};
}

Status Worker::LoadCandidate() {
  if (IsLibraryPlan(setup_.plan)) {
    auto library = LoadLibraryPlan(task_, setup_.plan);
    if (!library.ok()) return library.status();
    candidate_ = *std::move(library);
    return {};
  }
  record_->phase = Phase::kLoading;
  HIERA_RETURN_IF_ERROR(guarded_->Load(setup_.artifact_path));
  auto object = device_->Load(task_, setup_.plan, setup_.artifact_path);
  record_->phase = Phase::kSetup;
  if (!object.ok()) return object.status();
  candidate_ = *std::move(object);
  return {};
}

Result<std::string> Worker::SetUp(const WorkerSetup& setup) {
  setup_ = setup;
  auto task = ParseTask(setup_.canonical);
  if (!task.ok()) return task.status();
  task_ = *std::move(task);
  layout_ = LayOut(task_);
  device_ = MakeHostDevice(setup_.threads);
  record_ = static_cast<FaultRecord*>(
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, kWorkerFaultRecord, 0));
  if (record_ == MAP_FAILED) return OutOfMemory("cannot map the fault record");
  HIERA_RETURN_IF_ERROR(MapMemory());
  HIERA_RETURN_IF_ERROR(StartThreads());
  const bool library = IsLibraryPlan(setup_.plan);
  if (!library) {
    auto guarded = GuardedObject::Make(setup_.plan, *pool_, memory_);
    if (!guarded.ok()) return guarded.status();
    guarded_ = *std::move(guarded);
  }
  // The library is part of what is trusted; it starts threads and reads files as it is opened.
  if (library) HIERA_RETURN_IF_ERROR(LoadCandidate());
  if (setup_.incumbent.kind != Incumbent::Kind::kVariant || IsLibraryPlan(setup_.incumbent.plan)) {
    HIERA_RETURN_IF_ERROR(MakeIncumbent());
  }
  InstallFaultHandlers(record_, &memory_.ranges());
  const std::string degraded =
      EnterSandbox({setup_.readable, DataBytes() + kSpareMemory +
                                         kWorkspaces * (setup_.plan.workspace_bytes +
                                                        setup_.incumbent.plan.workspace_bytes)});
  if (setup_.incumbent.kind == Incumbent::Kind::kVariant && incumbent_ == nullptr) {
    HIERA_RETURN_IF_ERROR(MakeIncumbent());
  }
  const std::vector<double>& scalars = setup_.trials[copied_trial_].scalars;
  if (incumbent_ != nullptr) {
    record_->phase = Phase::kIncumbent;
    if (incumbent_->Run({copies_.data(), scalars.data(), nullptr}) != HIERA_OK) {
      return DeviceError("the incumbent does not run");
    }
    record_->phase = Phase::kSetup;
  }
  if (library) return degraded;
  HIERA_RETURN_IF_ERROR(LoadCandidate());
  std::free(std::malloc(kSpareHeap));  // what replies need, before the heap may no longer grow
  const Status strict = ForbidAllButRunning(IsLibraryPlan(setup_.incumbent.plan));
  if (strict.ok()) return degraded;
  return degraded + (degraded.empty() ? "" : ", ") + strict.message();
}

Status Worker::RunOnce(uint32_t trial) {
  const double* scalars = setup_.trials[trial].scalars.data();
  record_->phase = Phase::kCandidate;
  Status status;
  if (guarded_) {
    status = guarded_->Run(trials_[trial].data(), scalars);
  } else if (candidate_->Run({trials_[trial].data(), scalars, nullptr}) != HIERA_OK) {
    status = DeviceError("refused to run");
  }
  record_->phase = Phase::kSetup;
  return status;
}

// The shared memory holds what the judge has put there: the poison and the initial values.
void Worker::RestoreCopies(bool in_place_only) {
  for (int i = 0; i < task_.bound_count; ++i) {
    const Role role = RoleOf(task_, i);
    if (role == Role::kInPlace || (!in_place_only && role == Role::kOutput)) {
      std::memcpy(copies_[i], trials_[copied_trial_][i],
                  static_cast<size_t>(layout_.slots[i].span));
    }
  }
}

Status Worker::Measure(const WorkerRequest& request, WorkerReply& reply) {
  const Call call = {copies_.data(), setup_.trials[copied_trial_].scalars.data(), nullptr};
  RestoreCopies(false);
  MeasureOptions options;
  options.seconds = request.seconds;
  options.record = record_;
  bool in_place = false;
  for (int i = 0; i < task_.bound_count; ++i) in_place |= RoleOf(task_, i) == Role::kInPlace;
  if (in_place) options.restore = [this] { RestoreCopies(true); };
  auto pairs = MeasureInTurns(incumbent_.get(), *candidate_, call, options);
  if (!pairs.ok()) return pairs.status();
  reply.incumbent_ns = std::move(pairs->incumbent_ns);
  reply.candidate_ns = std::move(pairs->candidate_ns);
  // One more call, from the poison on, for the judge to compare: what ran while it was timed must
  // still be right.
  RestoreCopies(false);
  record_->phase = Phase::kCandidate;
  const hiera_status status = candidate_->Run(call);
  record_->phase = Phase::kSetup;
  if (status != HIERA_OK) return DeviceError("refused to run");
  for (int i = 0; i < task_.bound_count; ++i) {
    const Role role = RoleOf(task_, i);
    if (role != Role::kInPlace && role != Role::kOutput) continue;
    std::memcpy(trials_[copied_trial_][i], copies_[i], static_cast<size_t>(layout_.slots[i].span));
  }
  return {};
}

WorkerReply Worker::Answer(const WorkerRequest& request) {
  WorkerReply reply;
  Status status;
  if (request.trial >= trials_.size()) {
    status = InvalidArgument("no such trial");
  } else if (request.kind == WorkerRequest::Kind::kRun) {
    status = RunOnce(request.trial);
  } else if (request.kind == WorkerRequest::Kind::kMeasure) {
    status = Measure(request, reply);
  } else {
    const Call call = {copies_.data(), setup_.trials[copied_trial_].scalars.data(), nullptr};
    record_->phase = Phase::kCandidate;
    for (uint64_t i = 0; i < request.calls && status.ok(); ++i) {
      if (candidate_->Run(call) != HIERA_OK) status = DeviceError("refused to run");
    }
    record_->phase = Phase::kSetup;
  }
  reply.ok = status.ok();
  reply.message = status.message();
  return reply;
}

}  // namespace

int RunWorker() {
  // One heap that is never given back, so that its growth ends with the setup.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  auto bytes = ReceiveFrame(kWorkerSocket, -1);
  WorkerSetup setup;
  if (!bytes.ok() || !Decode(*bytes, setup)) return 1;

  // Never destroyed: the process ends with it, and destructors would join threads.
  Worker& worker = *new Worker;
  WorkerReply ready;
  ready.secret = setup.secret;
  Result<std::string> degraded = worker.SetUp(setup);
  ready.ok = degraded.ok();
  ready.message = degraded.ok() ? *degraded : degraded.status().message();
  if (!SendFrame(kWorkerSocket, Encode(ready)).ok()) return 1;
  while (ready.ok) {
    bytes = ReceiveFrame(kWorkerSocket, -1);
    WorkerRequest request;
    if (!bytes.ok() || !Decode(*bytes, request)) break;
    WorkerReply reply = worker.Answer(request);
    reply.secret = setup.secret;
    if (!SendFrame(kWorkerSocket, Encode(reply)).ok()) break;
  }
  return 0;
}

}  // namespace hiera
