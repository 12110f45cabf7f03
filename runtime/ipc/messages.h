// Every message between client, planner, evaluator and command, as plain structs. On the wire a
// frame is a 32-bit length, a 32-bit type and the encoded body (base/bytes.h). A body that does not
// decode closes the channel. The protocol's version is in the socket's name and in Hello; there is
// no negotiation: other versions have another socket.
#ifndef HIERA_RUNTIME_IPC_MESSAGES_H_
#define HIERA_RUNTIME_IPC_MESSAGES_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/base/status.h"
#include "runtime/task/candidate.h"
#include "runtime/task/library_choice.h"
#include "runtime/task/variant.h"

namespace hiera {

inline constexpr uint32_t kProtocolVersion = 2;
inline constexpr uint32_t kMaxFrameBytes = 16 << 20;

// ---- client or command -> planner
// -----------------------------------------------------------------

struct Hello {
  uint32_t protocol = kProtocolVersion;
  std::string program;      // of the peer, for the log
  std::string fingerprint;  // of its device; empty for a command
};

// Plan this task. Answered by Announce (any number) and one Settled.
struct PlanRequest {
  std::string canonical;
  std::string fingerprint;
  std::string device;            // which of several equal ones: a UUID; empty on the host
  bool graph = false;            // the application runs it in captured graphs
  double baseline_ns = 0;        // 0: the application has not measured it yet
  std::string baseline_name;     // "interpreter", "library cblas_sgemm ...", "caller"
  bool caller_baseline = false;  // the evaluator can't run it: beat baseline_ns itself
  double seconds = 0;            // wall budget; 0: the planner's default
  bool again = false;            // plan even though it has settled before
};

// The client has measured its baseline (after the request was sent).
struct BaselineReport {
  Hash128 key;
  double baseline_ns = 0;
};

// A variant failed in an application: quarantine it.
struct VariantReport {
  Hash128 key;
  Hash128 identity;
  std::string reason;
};

// A question of the command, or of hiera_op_explain. Answered by one Reply.
struct Query {
  std::string verb;      // "status", "ls", "show", "explain", "clear", "stop"
  std::string argument;  // a key or its unique prefix, where the verb takes one
};

// ---- planner -> client
// ----------------------------------------------------------------------------

struct Welcome {
  int64_t pid = 0;
  std::string
      store_path;       // where artifacts lie: another folder than asked for where that is no use
  std::string trouble;  // why nothing will be kept or planned, and what to do; empty: nothing
};

struct Announce {
  Variant variant;  // its artifact already lies in the store
};

struct Settled {
  Hash128 key;
  std::string outcome;  // one line
};

// How far the planning of a task is; for progress bars.
struct Progress {
  Hash128 key;
  uint32_t done = 0, total = 0;  // candidates
  std::string text;              // what is happening
};

struct Reply {
  bool ok = false;
  std::string text;
};

// ---- planner -> evaluator
// -------------------------------------------------------------------------

// What a candidate is compared with.
struct Incumbent {
  enum class Kind : uint8_t { kInterpreter, kVariant, kNone } kind = Kind::kInterpreter;
  LaunchPlan plan;            // kVariant
  std::string artifact_path;  // kVariant, where the plan names code
  std::string name;           // for the record
};

// Measure the machine. Answered by MachineReport.
struct MachineRequest {
  uint32_t unused = 0;
};

// Build, verify and measure. Answered by one JudgeReport per candidate, in order.
struct JudgeRequest {
  uint64_t id = 0;
  std::string canonical;
  Incumbent incumbent;
  std::vector<Candidate> candidates;
  double build_seconds = 20;     // per candidate
  double measure_seconds = 0.2;  // per candidate: interleaved with the incumbent
  // A first look verifies on few elements; the full one is needed before anything is published.
  bool full = false;
  // Timed in a replayed graph instead of launch by launch; on a GPU only.
  bool graph = false;
  // What is known of the time to beat; a candidate that takes many times as long is not looked at
  // any further. 0: nothing is known.
  double give_up_ns = 0;
  // Wall time for all of it; what is then not judged has timed out. 0: any.
  double seconds = 0;
};

// What do the libraries of the evaluator's device offer for a task? Runs nothing of what they
// offer. Answered by one EnumerateReport.
struct EnumerateRequest {
  uint64_t id = 0;
  std::string canonical;
  int64_t workspace_bytes = 0;  // the most that a choice may ask for
};

// ---- evaluator -> planner
// -------------------------------------------------------------------------

struct MachineReport {
  MachineFacts facts;
  std::string fingerprint;
};

struct JudgeReport {
  uint64_t id = 0;
  uint32_t candidate = 0;  // position in the request
  Verdict verdict = Verdict::kBuildFailed;
  std::string detail;
  std::string artifact_path;    // built code, where it was built
  std::string artifact_sha256;  // of that file
  double time_ns = 0, baseline_ns = 0;
  double ratio = 0, ratio_low = 0;
  bool verified = false;     // in full, before and after timing
  bool provisional = false;  // a noisy moment
  double build_seconds = 0;
};

struct EnumerateReport {
  uint64_t id = 0;
  std::vector<LibraryOffer> offers;
  std::string refusal;  // why there are no offers at all: no GPU, a library that crashed
};

// -------------------------------------------------------------------------------------

using Message = std::variant<Hello, PlanRequest, BaselineReport, VariantReport, Query, Welcome,
                             Announce, Settled, Progress, Reply, MachineRequest, JudgeRequest,
                             MachineReport, JudgeReport, EnumerateRequest, EnumerateReport>;

// The frame with its header. Errors of Decode: kInvalidArgument, saying which message did not fit.
std::string EncodeFrame(const Message& message);
Result<Message> DecodeBody(uint32_t type, std::string_view body);

}  // namespace hiera

#endif  // HIERA_RUNTIME_IPC_MESSAGES_H_
