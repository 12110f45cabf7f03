/* The contract between the host device and the code it loads: plain C, no includes, so that a
 * candidate compiles in milliseconds. This file is also embedded as text and placed in front of
 * every candidate's source; code that is compiled into HIERA includes it as a header.
 *
 * A candidate defines exactly one function with C linkage, `hiera_variant`. It may touch only the
 * buffers of its call, may not allocate, may not call the operating system, and must be finished
 * when it returns. It may be called from several threads at once with different calls. */
#ifndef HIERA_RUNTIME_DEVICE_HOST_ABI_H_
#define HIERA_RUNTIME_DEVICE_HOST_ABI_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Runs a range on the caller's thread pool. `run` splits [0, count) over at most `threads` threads,
 * calls body(context, begin, end, thread) with disjoint pieces covering the range, 0 <= thread <
 * threads, and returns when all are done. Pieces are contiguous and at most one per thread; piece t
 * always goes to thread t, so that two regions of one shape touch the same data from the same
 * thread. It must not be nested. */
struct hiera_parallel {
  void (*run)(const struct hiera_parallel* self, long count,
              void (*body)(void* context, long begin, long end, int thread), void* context);
  int threads;
};

struct hiera_host_call {
  void* const* tensors;  /* one pointer per bound tensor, in the task's binding order */
  const double* scalars; /* one value per scalar, in the task's order */
  void* workspace;       /* as many bytes as the candidate asked for, 64-byte aligned, or NULL */
  const struct hiera_parallel* parallel; /* never NULL; threads may be 1 */
};

typedef void (*hiera_variant_fn)(const struct hiera_host_call* call);

#ifdef __cplusplus
}
#endif

#endif /* HIERA_RUNTIME_DEVICE_HOST_ABI_H_ */
