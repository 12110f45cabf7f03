// The worker: a process that runs one candidate, in a sandbox, for the judge. It holds inputs and
// the places for outputs, but neither references nor verdicts: it verifies nothing.
#ifndef HIERA_RUNTIME_EVALUATOR_WORKER_H_
#define HIERA_RUNTIME_EVALUATOR_WORKER_H_

namespace hiera {

// Serves the judge over the descriptors of worker_protocol.h until the judge closes the socket.
// Returns the exit status of the process.
int RunWorker();

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_WORKER_H_
