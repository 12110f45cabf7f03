/* HIERA: run an operator now, run a better version of it later.
 *
 * This file is the whole public interface of libhiera. A name that is not here is private.
 *
 * A program creates an engine, declares operators (a formula, or a typed descriptor) with the
 * layouts of their tensors, and runs them. A run is answered at once, by a baseline. Meanwhile a
 * planner process builds, verifies and measures code for exactly that operator on exactly this
 * machine; a later run takes the winner.
 *
 * Conventions
 *  (1) Handles are opaque. The one that creates a handle destroys it; destroying NULL does nothing.
 *  (2) Every function that can fail returns hiera_status; 0 is success. Outputs come last and are
 *      written only on success. Codes may be added later: treat an unknown code as a failure.
 *  (3) Structs begin with struct_size and are started from their _INIT macro. Fields are only ever
 *      appended, and zero always means "the default". Structs that travel in arrays (hiera_tensor,
 *      hiera_scalar, hiera_stencil_point) have no struct_size and never change.
 *  (4) No C++ exception leaves the library. It prints nothing unless HIERA_VERBOSE asks for it, and
 *      never exits or aborts.
 *  (5) A pointer passed in is borrowed until the function returns, unless its comment says
 *      otherwise. Text handed out says how long it lives.
 *  (6) Extents and strides count elements. Sizes named _bytes count bytes, times named _ns
 *      nanoseconds.
 *  (7) A run fails only where its arguments are wrong or its baseline fails. A planner that cannot
 *      be reached, a bad candidate or a full disk is a counter and one log line, never a status.
 *  (8) Each function's comment ends with a line "Thread: ...; Blocks: ...".
 *        any        safe from any thread at any time
 *        exclusive  no other call may use the same handle meanwhile
 */
#ifndef HIERA_HIERA_H
#define HIERA_HIERA_H

#include <stddef.h>
#include <stdint.h>

#define HIERA_VERSION_MAJOR 0
#define HIERA_VERSION_MINOR 1

#if defined(HIERA_BUILDING)
#define HIERA_API __attribute__((visibility("default")))
#else
#define HIERA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int32_t hiera_status;
enum {
  HIERA_OK = 0,
  HIERA_INVALID_ARGUMENT = 1, /* the caller is wrong; hiera_last_error() names the field */
  HIERA_UNSUPPORTED = 2,      /* this device or build has no way to do it */
  HIERA_OUT_OF_MEMORY = 3,
  HIERA_TIMEOUT = 4,
  HIERA_DEVICE_ERROR = 5, /* the device refused */
  HIERA_INTERNAL = 6,     /* a bug in HIERA */
  HIERA_UNAVAILABLE = 7   /* nothing will come: no planner can be reached, or the mode forbids it */
};

/* Element types. */
enum {
  HIERA_F64 = 1,
  HIERA_F32 = 2,
  HIERA_F16 = 3,
  HIERA_BF16 = 4,
  HIERA_I32 = 5,
  HIERA_BOOL = 6 /* one byte, 0 or 1 */
};

/* What a read outside a tensor means. */
enum {
  HIERA_OUTSIDE_REFUSE = 0, /* an operator that could do so is refused when it is created */
  HIERA_OUTSIDE_ZERO = 1,   /* the read yields 0 */
  HIERA_OUTSIDE_CLAMP = 2,  /* the nearest element inside */
  HIERA_OUTSIDE_WRAP = 3,   /* periodic */
  HIERA_OUTSIDE_KEEP = 4    /* the output element that needs the read keeps its value */
};

/* The class of a scalar. 0 and 1 change what is read and computed: beta = 0 does not read C. */
enum { HIERA_SCALAR_ANY = 0, HIERA_SCALAR_ZERO = 1, HIERA_SCALAR_ONE = 2 };

/* What may be done to the arithmetic; each admits those before it. */
enum {
  HIERA_ARITHMETIC_DEFAULT = 0, /* reassociate */
  HIERA_ARITHMETIC_EXACT = 1,   /* the order as written, no contraction */
  /* sums in any order, fused multiply-add, a division by a constant as a product with its
   * reciprocal; the error bound holds all the same */
  HIERA_ARITHMETIC_REASSOCIATE = 2,
  HIERA_ARITHMETIC_TF32 = 3 /* f32 products may round their operands to TF32 */
};

/* What inputs look like; verification draws from it. */
enum { HIERA_INPUTS_ANY = 0, HIERA_INPUTS_NORMAL = 1, HIERA_INPUTS_POSITIVE = 2 };

enum { HIERA_LOG_DEBUG = 0, HIERA_LOG_INFO = 1, HIERA_LOG_WARNING = 2, HIERA_LOG_ERROR = 3 };

enum {
  HIERA_MODE_DEFAULT = 0, /* HIERA_MODE from the environment, else on */
  HIERA_MODE_ON = 1,      /* plan and swap */
  HIERA_MODE_FROZEN = 2,  /* only what the published index has; nothing is planned or written */
  HIERA_MODE_OFF = 3      /* baselines only */
};

/* Where the code of an operator comes from. */
enum {
  HIERA_SPACE_BASELINE = 0,
  HIERA_SPACE_FRAMEWORK = 1, /* plain compiled loops */
  HIERA_SPACE_LIBRARY = 2,   /* a vendor library's own choice */
  HIERA_SPACE_KERNEL = 3     /* code made for the shape */
};

/* What answers while nothing better is known. */
enum {
  HIERA_BASELINE_CALLER = 1,     /* the caller's own function */
  HIERA_BASELINE_LIBRARY = 2,    /* a library on this machine, OpenBLAS for example */
  HIERA_BASELINE_INTERPRETER = 3 /* the built-in interpreter of formulas */
};

typedef struct hiera_engine hiera_engine; /* one per device; usually one per process */
typedef struct hiera_op hiera_op;         /* one operator at one shape */

typedef struct hiera_config {
  uint32_t struct_size;
  uint32_t mode; /* HIERA_MODE_... */
  /* "host"; "cuda" (the device of the thread's current context, else the first), "cuda:N" or
   * "cuda:GPU-UUID". NULL or "auto": "host". The pointers of a run are the device's own; its stream
   * is a CUstream, NULL the legacy default stream, CU_STREAM_PER_THREAD the thread's own. */
  const char* device;
  const char* store_dir;    /* NULL: HIERA_STORE, else the user's cache folder */
  const char* planner_path; /* NULL: HIERA_PLANNER, else beside the library, else on PATH */
  uint32_t threads;         /* host device: threads a run may use; 0: every usable core */
  uint32_t plan_seconds;    /* wall time the planner may spend on one operator; 0: its default */
} hiera_config;
#define HIERA_CONFIG_INIT \
  { (uint32_t)sizeof(hiera_config), 0, NULL, NULL, NULL, 0, 0 }

#define HIERA_MAX_RANK 8

/* A tensor of an operator: its layout, without data. */
typedef struct hiera_tensor {
  const char* name; /* as in the formula */
  uint32_t dtype;
  uint32_t rank;                  /* 0 (one element) to HIERA_MAX_RANK */
  int64_t extent[HIERA_MAX_RANK]; /* each >= 0 */
  int64_t stride[HIERA_MAX_RANK]; /* each >= 0; all of them 0: dense, row-major */
  uint32_t outside;               /* HIERA_OUTSIDE_... */
  uint32_t reserved;              /* 0 */
} hiera_tensor;

typedef struct hiera_scalar {
  const char* name;
  uint32_t value_class; /* HIERA_SCALAR_... */
  uint32_t reserved;    /* 0 */
} hiera_scalar;

/* What every implementation must honour. */
typedef struct hiera_contract {
  uint32_t struct_size;
  uint32_t arithmetic;      /* HIERA_ARITHMETIC_... */
  uint32_t inputs;          /* HIERA_INPUTS_... */
  uint32_t accumulate;      /* HIERA_F32 or HIERA_F64; 0: f64 where a tensor is f64, else f32 */
  double error_scale;       /* c in the bound c * sqrt(K) * u * magnitude; 0: 4 */
  uint64_t workspace_bytes; /* the most a variant may use; 0: 1 GiB; UINT64_MAX: none at all */
  uint32_t deterministic;   /* 1: two runs on equal inputs give equal bits */
  uint32_t finite_only;     /* 1: inputs hold no NaN and no infinity */
  uint32_t alignment; /* bytes that every pointer is aligned to: 16; 1: its element; 0: what is
                       * usual on the device: 16 on a GPU, the element on the host. Runs with
                       * pointers less aligned are right too, but stay with the baseline */
  uint32_t reserved;  /* 0 */
} hiera_contract;
#define HIERA_CONTRACT_INIT \
  { (uint32_t)sizeof(hiera_contract), 0, 0, 0, 0.0, 0, 0, 0, 0, 0 }

/* What to run while nothing better is known; it must be correct on its own. Called from
 * hiera_op_run in the thread that called that, with the pointers and scalars of that run. Any
 * status but HIERA_OK is returned to the caller of hiera_op_run. It must not throw. */
typedef hiera_status (*hiera_baseline_fn)(void* user, void* const* pointers, const double* scalars,
                                          void* stream);

/* An operator as a formula, for example
 *   "v[i,j] = c0*u[i,j] + c1*(u[i-1,j] + u[i+1,j] + u[i,j-1] + u[i,j+1])"
 * in the language that docs/formulas.md describes. The order of `tensors` and `scalars` is the
 * order of pointers and values of a run. Where there are neither, the text declares its own, and
 * the order is that of its declarations:
 *   "tensor x: f32[64,512]; tensor y: f32[64,512]; y[i,j] = exp(x[i,j])" */
typedef struct hiera_formula {
  uint32_t struct_size;
  uint32_t tensor_count;
  const char* text;
  const hiera_tensor* tensors;
  const hiera_scalar* scalars;
  uint32_t scalar_count;
  uint32_t reserved;              /* 0 */
  const hiera_contract* contract; /* NULL: the defaults */
  hiera_baseline_fn baseline;     /* NULL: a library, else the interpreter */
  void* baseline_user;            /* must outlive the operator */
} hiera_formula;
#define HIERA_FORMULA_INIT \
  { (uint32_t)sizeof(hiera_formula), 0, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL }

enum {
  HIERA_ACTIVATION_NONE = 0,
  HIERA_ACTIVATION_RELU = 1,
  HIERA_ACTIVATION_GELU = 2,
  HIERA_ACTIVATION_SILU = 3,
  HIERA_ACTIVATION_TANH = 4,
  HIERA_ACTIVATION_SIGMOID = 5
};

enum { HIERA_BIAS_NONE = 0, HIERA_BIAS_PER_ROW = 1, HIERA_BIAS_PER_COLUMN = 2 };

/* C = activation(alpha * op(A) * op(B) + beta * C + bias), `batch` times. op(A) is m x k, op(B)
 * k x n, C m x n; row-major unless column_major is 1. Pointers of a run: A, B, C, then bias where
 * there is one. Scalars of a run: alpha, beta (always both). */
typedef struct hiera_gemm {
  uint32_t struct_size;
  uint32_t dtype; /* of A, B and bias */
  int64_t m, n, k;
  int64_t batch;          /* 0: 1 */
  int64_t lda, ldb, ldc;  /* leading dimensions; 0: dense */
  int64_t batch_stride_a; /* from one matrix to the next; 0: dense (see same_a and same_b) */
  int64_t batch_stride_b;
  int64_t batch_stride_c;
  uint32_t transpose_a; /* 1: A is stored k x m */
  uint32_t transpose_b; /* 1: B is stored n x k */
  uint32_t same_a;      /* 1: every batch uses one A */
  uint32_t same_b;      /* 1: every batch uses one B */
  uint32_t column_major;
  uint32_t dtype_c;               /* 0: as dtype */
  uint32_t alpha_class;           /* HIERA_SCALAR_... */
  uint32_t beta_class;            /* HIERA_SCALAR_... */
  uint32_t bias;                  /* HIERA_BIAS_...: one value per row or per column of C */
  uint32_t activation;            /* HIERA_ACTIVATION_... */
  const hiera_contract* contract; /* NULL: the defaults */
  hiera_baseline_fn baseline;     /* NULL: a library, else the interpreter */
  void* baseline_user;            /* must outlive the operator */
} hiera_gemm;
#define HIERA_GEMM_INIT                                                                          \
  {                                                                                              \
    (uint32_t)sizeof(hiera_gemm), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        NULL, NULL, NULL                                                                         \
  }

#define HIERA_MAX_SPATIAL 3

/* Cross-correlation, which deep-learning libraries call convolution. Pointers of a run: X, W, Y,
 * then bias where has_bias is 1, all dense. X is [n, c, input...], W [f, c/groups, kernel...], Y
 * [n, f, output...]; with channels_last X is [n, input..., c], W [f, kernel..., c/groups], Y
 * [n, output..., f]. output = (input + pad_begin + pad_end - dilation*(kernel-1) - 1) / stride + 1.
 */
typedef struct hiera_conv {
  uint32_t struct_size;
  uint32_t dtype;
  uint32_t spatial_rank; /* 1 to HIERA_MAX_SPATIAL */
  uint32_t channels_last;
  int64_t n, c, f;
  int64_t groups; /* 0: 1 */
  int64_t input[HIERA_MAX_SPATIAL];
  int64_t kernel[HIERA_MAX_SPATIAL];
  int64_t stride[HIERA_MAX_SPATIAL];   /* 0: 1 */
  int64_t dilation[HIERA_MAX_SPATIAL]; /* 0: 1 */
  int64_t pad_begin[HIERA_MAX_SPATIAL];
  int64_t pad_end[HIERA_MAX_SPATIAL];
  uint32_t has_bias;
  uint32_t activation;            /* HIERA_ACTIVATION_... */
  const hiera_contract* contract; /* NULL: the defaults */
  hiera_baseline_fn baseline;     /* NULL: the interpreter */
  void* baseline_user;            /* must outlive the operator */
} hiera_conv;
#define HIERA_CONV_INIT                                                                            \
  {                                                                                                \
    (uint32_t)sizeof(hiera_conv), 0, 0, 0, 0, 0, 0, 0, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, \
        {0, 0, 0}, {0, 0, 0}, 0, 0, NULL, NULL, NULL                                               \
  }

typedef struct hiera_stencil_point {
  int64_t offset[HIERA_MAX_SPATIAL]; /* slowest axis first; entries from `rank` on are 0 */
  double coefficient;
} hiera_stencil_point;

/* v = sum of coefficient * (u at offset), `steps` times. Pointers of a run: u, v, both dense. */
typedef struct hiera_stencil {
  uint32_t struct_size;
  uint32_t dtype;
  uint32_t rank;    /* 1 to HIERA_MAX_SPATIAL */
  uint32_t outside; /* HIERA_OUTSIDE_... */
  int64_t extent[HIERA_MAX_SPATIAL];
  int64_t steps; /* 0: 1 */
  const hiera_stencil_point* points;
  uint32_t point_count;
  uint32_t reserved;              /* 0 */
  const hiera_contract* contract; /* NULL: the defaults */
  hiera_baseline_fn baseline;     /* NULL: the interpreter */
  void* baseline_user;            /* must outlive the operator */
} hiera_stencil;
#define HIERA_STENCIL_INIT \
  { (uint32_t)sizeof(hiera_stencil), 0, 0, 0, {0, 0, 0}, 0, NULL, 0, 0, NULL, NULL, NULL }

typedef struct hiera_op_info {
  uint32_t struct_size;
  uint32_t space;      /* HIERA_SPACE_... of what a run would use now */
  uint32_t baseline;   /* HIERA_BASELINE_... of this operator */
  uint32_t settled;    /* 1: the planner has nothing left to try */
  uint64_t generation; /* grows by one at each swap; 0: the baseline since the start */
  uint64_t key[2];     /* the operator's key, high word first */
  double baseline_ns;  /* the baseline's time in this process; 0: not measured yet */
  double speedup;      /* of the current variant over the baseline, as measured; 1: the baseline */
  double flops;        /* floating-point operations of one run */
  double bytes;        /* bytes that one run must move at the least */
} hiera_op_info;
#define HIERA_OP_INFO_INIT \
  { (uint32_t)sizeof(hiera_op_info), 0, 0, 0, 0, {0, 0}, 0.0, 0.0, 0.0, 0.0 }

typedef struct hiera_stats {
  uint32_t struct_size;
  uint32_t planner_connected; /* 0 or 1 */
  uint64_t swaps;
  uint64_t index_hits;       /* operators that started with a stored variant */
  uint64_t requests_sent;    /* to the planner */
  uint64_t requests_dropped; /* the queue to the planner was full */
  uint64_t load_failures;    /* a variant could not be loaded here; the baseline went on */
  uint64_t rollbacks;        /* a variant was taken back after the swap */
  uint64_t unfit_runs;       /* runs that fell to the baseline: a pointer was misaligned, say */
} hiera_stats;
#define HIERA_STATS_INIT \
  { (uint32_t)sizeof(hiera_stats), 0, 0, 0, 0, 0, 0, 0, 0 }

/* May be called from any thread; must not call HIERA. text is borrowed during the call. */
typedef void (*hiera_log_fn)(void* user, uint32_t level, const char* text);

/* Version of the loaded library: major << 16 | minor. Thread: any; Blocks: no. */
HIERA_API uint32_t hiera_version(void);

/* A static English name for a status, "invalid argument" for example. Never NULL; never freed.
 * Thread: any; Blocks: no. */
HIERA_API const char* hiera_status_name(hiera_status status);

/* Detail of this thread's last failure, or "". Valid until this thread's next failing call.
 * Thread: any; Blocks: no. */
HIERA_API const char* hiera_last_error(void);

/* Sets or, with NULL, clears where the library's messages go.
 * Thread: any; Blocks: until a log call in progress returns. */
HIERA_API void hiera_set_log(hiera_log_fn log, void* user);

/* Starts an engine. config may be NULL for the defaults. A planner that cannot be reached is not a
 * failure: the engine then runs baselines and what the index has. Errors: invalid argument (an
 * unknown device or mode), unsupported (a device that is not here), out of memory.
 * Thread: any; Blocks: briefly, opening the index. */
HIERA_API hiera_status hiera_engine_create(const hiera_config* config, hiera_engine** engine_out);

/* Destroys an engine. Its operators must have been destroyed before; where some are left, the log
 * says so, nothing more is planned, and the engine's memory goes with the last of them.
 * Thread: exclusive; Blocks: until its background thread has stopped. */
HIERA_API void hiera_engine_destroy(hiera_engine* engine);

/* Counters since the engine was created. Thread: any; Blocks: no. */
HIERA_API hiera_status hiera_engine_stats(const hiera_engine* engine, hiera_stats* stats_out);

/* Declares an operator from a formula. It can run at once; better variants arrive later. Errors:
 * invalid argument, with the position in the text or the field at fault; unsupported.
 * Thread: any; Blocks: briefly, loading a stored variant where there is one. */
HIERA_API hiera_status hiera_op_create(hiera_engine* engine, const hiera_formula* formula,
                                       hiera_op** op_out);

/* The same from typed descriptors. Thread: any; Blocks: as hiera_op_create. */
HIERA_API hiera_status hiera_op_create_gemm(hiera_engine* engine, const hiera_gemm* gemm,
                                            hiera_op** op_out);
HIERA_API hiera_status hiera_op_create_conv(hiera_engine* engine, const hiera_conv* conv,
                                            hiera_op** op_out);
HIERA_API hiera_status hiera_op_create_stencil(hiera_engine* engine, const hiera_stencil* stencil,
                                               hiera_op** op_out);

/* Destroys an operator; no run of it may be in flight. Thread: exclusive; Blocks: no. */
HIERA_API void hiera_op_destroy(hiera_op* op);

/* Runs the operator. pointers: one per tensor, in the operator's order; scalars: one per scalar, or
 * NULL where there are none. No output may overlap another tensor. stream: the device's stream;
 * NULL on the host, where the outputs are complete when the call returns. Errors: invalid argument
 * (a NULL pointer for a tensor that has elements, a scalar that contradicts its class), what the
 * caller's own baseline returned, or what the device reports.
 * Thread: any, also for one operator at once with different outputs; Blocks: no (no lock, no
 * allocation and no system call of ours once a variant is active). */
HIERA_API hiera_status hiera_op_run(hiera_op* op, void* const* pointers, const double* scalars,
                                    void* stream);

/* Computes the operator's outputs in extended precision, straight from the formula, slowly, on host
 * memory and independently of whatever runs use. For checking results. Errors: as hiera_op_run.
 * Thread: any; Blocks: while it computes. */
HIERA_API hiera_status hiera_op_reference(const hiera_op* op, void* const* pointers,
                                          const double* scalars);

/* Waits until the planner has nothing left to try for this operator and what won is active. For
 * warm-up, tests and benchmarks. With a caller's own baseline the winner may still have to prove
 * itself on the runs that follow. Errors: timeout; unavailable (nothing will come: mode off or
 * frozen, or no planner). Thread: any; Blocks: up to timeout_ns. */
HIERA_API hiera_status hiera_op_settle(hiera_op* op, uint64_t timeout_ns);

/* What a run would use now. Thread: any; Blocks: no. */
HIERA_API hiera_status hiera_op_get_info(const hiera_op* op, hiera_op_info* info_out);

/* Why the operator runs as it does, in plain words: task, baseline, what was tried, what won.
 * Writes at most capacity bytes, always ended by a zero where capacity > 0, and the full length
 * without the zero to length_out, which may be NULL; call with capacity 0 to ask for the length.
 * Thread: any; Blocks: up to one second, asking the planner. */
HIERA_API hiera_status hiera_op_explain(hiera_op* op, char* text_out, size_t capacity,
                                        size_t* length_out);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* HIERA_HIERA_H */
