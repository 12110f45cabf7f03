// The interpreter's kernels for the fictional GPU.
#include "tests/fake_cuda/kernel_side.h"
// Behind what the keywords of CUDA mean here.
#include "runtime/device/cuda/interpreter/interpreter.cu"

HIERA_FAKE_MODULE(hiera_fake_interpreter, HIERA_FAKE_KERNEL(hiera_interpret_f32, 1024),
                  HIERA_FAKE_KERNEL(hiera_interpret_f64, 1024),
                  HIERA_FAKE_KERNEL(hiera_interpret_far_f32, 1024),
                  HIERA_FAKE_KERNEL(hiera_interpret_far_f64, 1024),
                  HIERA_FAKE_KERNEL(hiera_scan_f32, 1024), HIERA_FAKE_KERNEL(hiera_scan_f64, 1024),
                  HIERA_FAKE_KERNEL(hiera_scan_i64, 1024))
