// Copies between buffers of equal extents, for tasks that run several steps.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_STEPS_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_STEPS_H_

#include "runtime/device/host/interpreter/frame.h"
#include "runtime/device/interpreter/lower.h"

namespace hiera::interpreter {

// Copies a tensor between two layouts of the same extents.
void CopyTensor(const View& from, const View& to, const Buffer& shape);

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_STEPS_H_
