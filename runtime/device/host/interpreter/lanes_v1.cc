// The kernels for level 1 of x86-64; see CMakeLists.txt for the flags.
#define HIERA_LANES_BYTES 16
#define HIERA_LANES_TABLE kLanesV1
#include "runtime/device/host/interpreter/lanes_body.inc"
