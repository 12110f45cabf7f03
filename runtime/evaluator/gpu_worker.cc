#include "runtime/evaluator/gpu_worker.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <string>

#include "runtime/evaluator/gpu_bench.h"
#include "runtime/evaluator/worker_protocol.h"

namespace hiera {
namespace {

constexpr rlim_t kLargestFile = rlim_t{64} << 20;  // the driver keeps a cache of what it compiles
constexpr rlim_t kMostFiles = 1024;

// As much as the driver lets be taken from it: it opens devices, makes threads and maps memory
// whenever it likes. No code of a candidate runs on the host.
std::string GiveUpPrivileges() {
  std::string lacks;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) lacks = "privileges cannot be given up";
  const auto limit = [](__rlimit_resource resource, rlim_t most) {
    rlimit now;
    if (getrlimit(resource, &now) != 0) return;
    now.rlim_cur = now.rlim_max = now.rlim_max < most ? now.rlim_max : most;
    setrlimit(resource, &now);
  };
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, kLargestFile);
  limit(RLIMIT_NOFILE, kMostFiles);
  limit(RLIMIT_MSGQUEUE, 0);
  return lacks;
}

WorkerReply Answer(GpuBench& bench, const WorkerSetup& setup, const WorkerRequest& request) {
  WorkerReply reply;
  GpuBench::MaybeFinding finding;
  const bool loads = request.kind == WorkerRequest::Kind::kLoad;
  if (!loads && (request.trial >= setup.trials.size() || !bench.has_candidate())) {
    finding = Finding{Verdict::kUnloadable, "no such trial, or nothing is loaded"};
  } else if (loads) {
    finding = bench.Load(request);
  } else if (request.kind == WorkerRequest::Kind::kRun) {
    finding = bench.RunOnce(request, reply);
  } else if (request.kind == WorkerRequest::Kind::kMeasure) {
    finding = bench.Measure(request, reply);
  } else {
    finding = bench.Repeat(request, reply);
  }
  reply.ok = !finding;
  if (finding) {
    reply.verdict = finding->verdict;
    reply.message = finding->detail;
    reply.goes_on = finding->verdict == Verdict::kUnloadable && bench.IsSound();
  }
  return reply;
}

}  // namespace

int RunGpuWorker() {
  auto bytes = ReceiveFrame(kWorkerSocket, -1);
  WorkerSetup setup;
  if (!bytes.ok() || !Decode(*bytes, setup)) return 1;
  // Never destroyed: the process ends with it, and the driver may be gone by then.
  GpuBench& bench = *new GpuBench;
  WorkerReply ready;
  ready.secret = setup.secret;
  const std::string kept = GiveUpPrivileges();
  const Result<std::string> lacks = bench.SetUp(setup);
  ready.ok = lacks.ok();
  ready.message = lacks.ok() ? *lacks : lacks.status().message();
  if (ready.ok && !kept.empty()) ready.message += (ready.message.empty() ? "" : ", ") + kept;
  if (!SendFrame(kWorkerSocket, Encode(ready)).ok()) return 1;
  while (ready.ok) {
    bytes = ReceiveFrame(kWorkerSocket, -1);
    WorkerRequest request;
    if (!bytes.ok() || !Decode(*bytes, request)) break;
    WorkerReply reply = Answer(bench, setup, request);
    reply.secret = setup.secret;
    if (!SendFrame(kWorkerSocket, Encode(reply)).ok()) break;
  }
  return 0;
}

}  // namespace hiera
