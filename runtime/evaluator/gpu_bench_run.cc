// Running what GpuBench has loaded.
#include <algorithm>
#include <utility>

#include "runtime/evaluator/gpu_bench.h"
#include "runtime/evaluator/gpu_measure.h"

namespace hiera {
namespace {

Finding Crash(const Status& status) { return {Verdict::kCrashed, status.message()}; }

}  // namespace

// One that holds the trial, else the one that was used least recently.
Result<GpuArena*> GpuBench::ArenaOf(uint32_t trial) {
  const auto found = std::find_if(arenas_.begin(), arenas_.end(), [trial](const GpuArena& arena) {
    return arena.trial() == int64_t{trial};
  });
  const auto chosen = found == arenas_.end() ? arenas_.begin() : found;
  std::rotate(chosen, chosen + 1, arenas_.end());
  GpuArena& arena = arenas_.back();
  if (arena.trial() != int64_t{trial}) {
    HIERA_RETURN_IF_ERROR(arena.Hold(trial, setup_.trials[trial].placement, inputs_[trial].data()));
  }
  return &arena;
}

Result<std::optional<std::string>> GpuBench::FindDamage(const GpuArena& arena) const {
  auto damage = arena.FindDamage();
  if (!damage.ok() || damage->has_value() || !guarded_) return damage;
  return guarded_->FindDamage();
}

GpuBench::MaybeFinding GpuBench::RunOnce(const WorkerRequest& request, WorkerReply& reply) {
  const int run = request.run & 1;
  const Result<GpuArena*> arena = ArenaOf(request.trial);
  if (!arena.ok()) return Crash(arena.status());
  Status status = (*arena)->Prepare(run, outputs_.data());
  if (status.ok() && guarded_) status = guarded_->Prepare(run);
  if (status.ok()) status = stream_->StartClock();
  if (!status.ok()) return Crash(status);

  const Call call = {(*arena)->pointers().data(), setup_.trials[request.trial].scalars.data(),
                     stream_->handle()};
  if (guarded_) {
    status = guarded_->Run(call);
  } else if (candidate_->Run(call) != HIERA_OK) {
    status = stream_->Wait();
    if (status.ok()) return Finding{Verdict::kUnloadable, "refused to run"};
  }
  if (!status.ok()) return Crash(status);
  const Result<double> ns = stream_->StopClock();
  if (!ns.ok()) return Crash(ns.status());
  reply.candidate_ns = {*ns};
  status = (*arena)->Collect(outputs_.data());
  if (!status.ok()) return Crash(status);
  const auto damage = FindDamage(**arena);
  if (!damage.ok()) return Crash(damage.status());
  if (damage->has_value()) return Finding{Verdict::kMisbehaved, **damage};
  return std::nullopt;
}

GpuBench::MaybeFinding GpuBench::Measure(const WorkerRequest& request, WorkerReply& reply) {
  std::vector<GpuMonitor::Reading> readings;
  GpuMeasureOptions options;
  options.seconds = request.seconds;
  options.graph = request.graph;
  if (monitor_ != nullptr) {
    options.look = [this, &readings] { readings.push_back(monitor_->Read()); };
  }
  const double* scalars = setup_.trials[timed_].scalars.data();
  auto pairs = MeasureOnGpu(*stream_, *copies_, scalars, incumbent_.get(), *candidate_, options);
  if (!pairs.ok()) {
    const bool broken = pairs.status().code() == Code::kDeviceError;
    return Finding{broken ? Verdict::kCrashed : Verdict::kUnloadable, pairs.status().message()};
  }
  reply.incumbent_ns = std::move(pairs->incumbent_ns);
  reply.candidate_ns = std::move(pairs->candidate_ns);
  if (!readings.empty()) {
    GpuMonitor::Account account = monitor_->Between(readings.front(), readings.back());
    reply.disturbed = account.disturbed;
    reply.note = std::move(account.note);
  }
  // One more call, from the poison on, for the judge to compare: what ran while it was timed must
  // still be right.
  Status status = copies_->Restore();
  if (status.ok()) status = copies_->Load(outputs_.data());
  if (!status.ok()) return Crash(status);
  const hiera_status ran = candidate_->Run({copies_->First(), scalars, stream_->handle()});
  status = stream_->Wait();
  if (status.ok() && ran != HIERA_OK) return Finding{Verdict::kUnloadable, "refused to run"};
  if (status.ok()) status = copies_->Collect(outputs_.data());
  if (!status.ok()) return Crash(status);
  return std::nullopt;
}

GpuBench::MaybeFinding GpuBench::Repeat(const WorkerRequest& request, WorkerReply& reply) {
  GpuCaller caller(*stream_, *copies_, setup_.trials[timed_].scalars.data(), *candidate_,
                   request.graph);
  const Result<int64_t> calls = caller.Prepare(static_cast<int64_t>(request.calls));
  if (!calls.ok()) return Crash(calls.status());
  Status status = stream_->StartClock();
  if (status.ok()) status = caller.Queue(*calls);
  if (!status.ok()) return Crash(status);
  const Result<double> ns = stream_->StopClock();
  if (!ns.ok()) return Crash(ns.status());
  reply.candidate_ns = {*ns / static_cast<double>(*calls)};
  return std::nullopt;
}

}  // namespace hiera
