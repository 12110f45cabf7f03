/* y = s * x over 1000 floats on all threads. The number of threads it was offered is left in the
 * workspace; a negative scalar makes it wait until the gate, its third tensor, opens. */
#include "runtime/device/host/abi.h"

static void Piece(void* context, long begin, long end, int thread) {
  const struct hiera_host_call* call = (const struct hiera_host_call*)context;
  const float* x = (const float*)call->tensors[0];
  float* y = (float*)call->tensors[1];
  (void)thread;
  for (long i = begin; i < end; ++i) y[i] = (float)call->scalars[0] * x[i];
}

__attribute__((visibility("default"))) void hiera_variant(const struct hiera_host_call* call) {
  if (call->workspace != 0) {
    ((float*)call->workspace)[0] = (float)call->parallel->threads;
    ((float*)call->tensors[1])[1000] = ((float*)call->workspace)[0];
    ((float*)call->tensors[1])[1001] = (float)((unsigned long)call->workspace % 64);
  }
  if (call->scalars[0] < 0) {
    int* gate = (int*)call->tensors[2];
    __atomic_fetch_add(&gate[1], 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&gate[0], __ATOMIC_SEQ_CST) == 0) {
    }
  }
  call->parallel->run(call->parallel, 1000, Piece, (void*)call);
}
