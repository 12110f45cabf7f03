// The evaluator's conversation with its planner: one request after another over a channel.
#ifndef HIERA_RUNTIME_EVALUATOR_SESSION_H_
#define HIERA_RUNTIME_EVALUATOR_SESSION_H_

#include "runtime/evaluator/judge.h"
#include "runtime/ipc/channel.h"

namespace hiera {

// Serves MachineRequest and JudgeRequest until the channel closes. Returns the process's exit
// status: 0 where the planner closed it, 1 where it sent what is not understood.
int Serve(Channel& channel, Judge& judge);

// Starts a thread that ends the process at once when the other end of `fd` is closed, so that an
// evaluator never outlives its planner, whatever it is doing. Its children die with it.
void EndWithPeer(int fd);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_SESSION_H_
