// What a program would write by hand for a convolution: cudnnConvolutionForward with the first
// algorithm of cudnnGetConvolutionForwardAlgorithm_v7. The rival in tests of the library space.
#ifndef HIERA_TESTS_GPU_CUDNN_LEGACY_H_
#define HIERA_TESTS_GPU_CUDNN_LEGACY_H_

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/device/device.h"
#include "runtime/task/cudnn_graph.h"
#include "tests/gpu/gpu_machine.h"

namespace hiera {

// Errors: kUnsupported for what these functions don't do (bias, uneven padding), kDeviceError.
Result<std::unique_ptr<Executable>> MakeCudnnConvolutionForward(GpuMachine& machine,
                                                                const CudnnGraph& graph);

}  // namespace hiera

#endif  // HIERA_TESTS_GPU_CUDNN_LEGACY_H_
