// The kernels for level 3 of x86-64; see CMakeLists.txt for the flags.
#define HIERA_LANES_BYTES 32
#define HIERA_LANES_TABLE kLanesV3
#include "runtime/device/host/interpreter/lanes_body.inc"
