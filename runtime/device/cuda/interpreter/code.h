// The interpreter's compiled kernels, embedded when HIERA is built: cubins for several processors
// and PTX for later ones, in one fat binary.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_CODE_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_CODE_H_

#include <string_view>

namespace hiera::cuda {

std::string_view InterpreterCode();

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_CODE_H_
