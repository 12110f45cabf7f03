// Seccomp filters of a worker. They apply to every thread of the process and can never be taken
// back; a forbidden call raises SIGSYS, whose handler ends the worker.
#ifndef HIERA_RUNTIME_EVALUATOR_SYSCALL_FILTER_H_
#define HIERA_RUNTIME_EVALUATOR_SYSCALL_FILTER_H_

#include <string>

#include "runtime/base/status.h"

namespace hiera {

// While code is loaded: everything but making processes, executing programs, opening sockets,
// changing files, signalling others and the like.
// Errors: kUnsupported (the kernel has no seccomp).
Status ForbidOutsideWorld();

// While candidates run: nothing but waiting for other threads, ending, and talking over the
// worker's own socket; no more memory, either. `allow_memory` also admits anonymous memory that is
// not executable, which trusted libraries take now and then.
Status ForbidAllButRunning(bool allow_memory);

// "socket"; "system call 987" for one that is not worth a name here.
std::string SystemCallName(int number);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_SYSCALL_FILTER_H_
