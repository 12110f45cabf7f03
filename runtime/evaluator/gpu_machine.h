// Measuring a GPU: what policies and the roofline floor need to know of it. In a child process
// (`hiera-evaluator --measure-gpu`), because the judge makes no context of its own.
#ifndef HIERA_RUNTIME_EVALUATOR_GPU_MACHINE_H_
#define HIERA_RUNTIME_EVALUATOR_GPU_MACHINE_H_

#include <string>

#include "runtime/base/status.h"
#include "runtime/ipc/messages.h"

namespace hiera {

// Takes a few seconds where the driver and NVRTC are cold. Rates come from small kernels; without
// NVRTC, or where it knows no architecture of the device, those of arithmetic come from clock and
// number of units, and has_nvrtc is false. Errors: kUnavailable with the reason.
Result<MachineReport> MeasureGpuInChild(const std::string& program);

// The child. Returns the exit status of the process.
int RunGpuMachine();

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_GPU_MACHINE_H_
