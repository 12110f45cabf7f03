// HostObject: a variant's shared object, loaded and ready to run on the thread pool.
#ifndef HIERA_RUNTIME_DEVICE_HOST_HOST_OBJECT_H_
#define HIERA_RUNTIME_DEVICE_HOST_HOST_OBJECT_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/device/host/thread_pool.h"

namespace hiera {

// Opens the object at `path` and finds hiera_variant (abi.h) in it. The file must keep its content
// for as long as it has its name: the dynamic linker takes an equal name for an equal object, which
// is why artifacts are named by their hash and why names under /proc are refused. Initialisers of
// the object run; nothing else does. The pool must outlive the executable. Errors:
// kInvalidArgument (the plan or the path), kDeviceError (the file does not load, with the linker's
// words), kOutOfMemory.
Result<std::unique_ptr<Executable>> LoadHostObject(const LaunchPlan& plan, const std::string& path,
                                                   const ThreadPool& pool);

}  // namespace hiera

#endif  // HIERA_RUNTIME_DEVICE_HOST_HOST_OBJECT_H_
