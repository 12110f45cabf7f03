// What generated CUDA kernels need to use scalar_functions.cc, which is placed behind this file, as
// device functions. NVRTC compiles every function for the device and has no __builtin_ names.
#define __builtin_expf expf
#define __builtin_exp ::exp
#define __builtin_logf logf
#define __builtin_log ::log
#define __builtin_sinf sinf
#define __builtin_sin ::sin
#define __builtin_cosf cosf
#define __builtin_cos ::cos
#define __builtin_tanhf tanhf
#define __builtin_tanh ::tanh
#define __builtin_erff erff
#define __builtin_erf ::erf
#define __builtin_powf powf
#define __builtin_pow ::pow
#define __builtin_sqrtf sqrtf
#define __builtin_sqrt ::sqrt
#define __builtin_floorf floorf
#define __builtin_floor ::floor
#define __builtin_fabsf fabsf
#define __builtin_fabs ::fabs
#define __builtin_inf() __builtin_bit_cast(double, 0x7ff0000000000000L)
#define __builtin_nan(text) __builtin_bit_cast(double, 0x7ff8000000000000L)
