// cuda.h, for the files that define its functions: these are what the library exports.
#ifndef HIERA_TESTS_FAKE_CUDA_DRIVER_API_H_
#define HIERA_TESTS_FAKE_CUDA_DRIVER_API_H_

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

#endif  // HIERA_TESTS_FAKE_CUDA_DRIVER_API_H_
