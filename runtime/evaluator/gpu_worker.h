// The GPU worker: a process that runs candidates of one task on the device that its environment
// shows, one after another, for the judge. Like the host's worker it holds inputs and the places
// for outputs, but neither references nor verdicts on them. A candidate that breaks the context,
// hangs or strays costs the judge this process and nothing else.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_WORKER_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_WORKER_H_

namespace hiera {

// Serves the judge over the descriptors of worker_protocol.h until the judge closes the socket.
// Returns the exit status of the process.
int RunGpuWorker();

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_WORKER_H_
