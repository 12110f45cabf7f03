// What judge and worker say to each other over a stream socket. One reply per request. A reply
// carries the secret number of the setup, so that bytes written to the socket by a candidate are
// not taken for one; nothing in a reply is believed where the judge can look for itself: outputs
// are compared by the judge, times are checked against its own clock.
#ifndef HIERA_RUNTIME_EVALUATOR_WORKER_PROTOCOL_H_
#define HIERA_RUNTIME_EVALUATOR_WORKER_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/evaluator/layout.h"
#include "runtime/ipc/messages.h"
#include "runtime/task/candidate.h"
#include "runtime/task/variant.h"

namespace hiera {

// Descriptors of a worker, fixed by position.
inline constexpr int kWorkerSocket = 3;
inline constexpr int kWorkerFaultRecord = 4;
inline constexpr int kWorkerOutputs = 5;
inline constexpr int kWorkerFirstInputs = 6;  // one per trial

struct WorkerTrial {
  Placement placement = Placement::kLeft;
  std::vector<double> scalars;
};

struct WorkerSetup {
  uint64_t secret = 0;
  std::string canonical;
  int threads = 1;
  LaunchPlan plan;
  std::string artifact_path;  // where the plan names code
  Incumbent incumbent;
  std::vector<WorkerTrial> trials;
  std::vector<std::string> readable;  // folders whose files may be opened once the sandbox is up
  // A GPU worker's: the most that it may take of the device's memory; 0: a quarter of what is free,
  // at most 8 GiB. Plan, artifact and incumbent come with each kLoad instead.
  int64_t device_memory_bytes = 0;
};

struct WorkerRequest {
  enum class Kind : uint8_t {
    kRun,      // the candidate once, in `trial`
    kMeasure,  // candidate and incumbent in turns for `seconds`, in `trial`
    kRepeat,   // the candidate `calls` times, in `trial`, for the judge's own clock
    kLoad      // of a GPU worker: this candidate and this incumbent from now on
  } kind = Kind::kRun;
  uint32_t trial = 0;
  double seconds = 0;
  uint64_t calls = 1;
  // Of a GPU worker.
  uint8_t run = 0;     // kRun: which of the two runs of a verification
  bool graph = false;  // kMeasure, kRepeat: as replayed graphs
  LaunchPlan plan;     // kLoad, with what follows
  std::string artifact_path;
  Incumbent incumbent;
};

struct WorkerReply {
  uint64_t secret = 0;
  bool ok = false;
  std::string message;                             // why not; or what was degraded, after setup
  std::vector<double> incumbent_ns, candidate_ns;  // per call, one value per sample, paired
  // A GPU worker tells in candidate_ns what the device took for kRun and kRepeat, too.
  // Of a GPU worker.
  std::optional<Verdict> verdict;  // where not ok: what it makes of the candidate
  bool goes_on = false;            // where not ok: it can serve further candidates all the same
  bool disturbed = false;          // something else went on while it measured
  std::string note;                // what was read of clocks and other users meanwhile
};

std::string Encode(const WorkerSetup& setup);
std::string Encode(const WorkerRequest& request);
std::string Encode(const WorkerReply& reply);
// False where the bytes do not decode.
bool Decode(std::string_view bytes, WorkerSetup& setup);
bool Decode(std::string_view bytes, WorkerRequest& request);
bool Decode(std::string_view bytes, WorkerReply& reply);

// Sends and receives one length-prefixed frame over a blocking socket. Receiving gives up after
// timeout_ms (negative: never). Errors: kUnavailable (the peer is gone), kTimeout, kInvalidArgument
// (a frame larger than any of ours).
Status SendFrame(int socket, std::string_view bytes);
Result<std::string> ReceiveFrame(int socket, int timeout_ms);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_WORKER_PROTOCOL_H_
