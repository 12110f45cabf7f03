// The kernels for level 4 of x86-64; see CMakeLists.txt for the flags.
#define HIERA_LANES_BYTES 64
#define HIERA_LANES_TABLE kLanesV4
#include "runtime/device/host/interpreter/lanes_body.inc"
