// FaultRecord: what a worker's signal handlers tell the judge about its end, in a page that both
// map. Written by the dying worker; the judge reads it once the worker is gone. A candidate could
// write there too: it then chooses the words of its own rejection, nothing more.
#ifndef HIERA_RUNTIME_EVALUATOR_FAULT_RECORD_H_
#define HIERA_RUNTIME_EVALUATOR_FAULT_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hiera {

// What the worker was doing.
enum class Phase : uint32_t { kSetup, kLoading, kCandidate, kIncumbent };

struct FaultRecord {
  Phase phase;
  int32_t signal;       // 0: no handler ran
  int32_t system_call;  // for SIGSYS
  int32_t guarded;      // 1: the address lies in or around a tensor or the workspace
  int32_t tensor;       // kWorkspaceTensor: the workspace
  int32_t is_write;
  int64_t offset;  // of the address from the start of the tensor
  int64_t past;    // from its end: >= 0 behind it
};
inline constexpr int32_t kWorkspaceTensor = -1;

// Status of a worker that ended in a handler.
inline constexpr int kFaultExitStatus = 86;

// A tensor in memory with its guards.
struct GuardedRange {
  const std::byte* guard_begin;
  const std::byte* begin;  // of the tensor itself
  const std::byte* end;
  const std::byte* guard_end;
  int32_t tensor;
};

// Handlers for every signal that a fault raises. `record` and `ranges` must stay where they are for
// the life of the process; ranges may grow no further. Called once, by the worker.
void InstallFaultHandlers(FaultRecord* record, const std::vector<GuardedRange>* ranges);

// Lets the calling thread run those handlers.
void UnblockFaultSignals();

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_FAULT_RECORD_H_
