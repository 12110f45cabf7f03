/* Runs one formula, first as the baseline, then as what HIERA made of it. */
#include <hiera/hiera.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRows = 512, kColumns = 4096, kRuns = 50 };

static double milliseconds_per_run(hiera_op* op, void* const* pointers) {
  struct timespec begin, end;
  int i;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (i = 0; i < kRuns; ++i) {
    if (hiera_op_run(op, pointers, NULL, NULL) != HIERA_OK) return -1;
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((end.tv_sec - begin.tv_sec) * 1e3 + (end.tv_nsec - begin.tv_nsec) * 1e-6) / kRuns;
}

int main(void) {
  hiera_engine* engine;
  hiera_op* op;
  hiera_op_info info = HIERA_OP_INFO_INIT;
  float* x = malloc(sizeof(float) * kRows * kColumns);
  float* w = malloc(sizeof(float) * kColumns);
  float* y = malloc(sizeof(float) * kRows * kColumns);
  void* pointers[3];
  double before, after;
  int i;

  /* RMS norm and a GELU: a formula, and the layouts of its tensors. */
  const hiera_tensor tensors[] = {
      {"x", HIERA_F32, 2, {kRows, kColumns}, {0}, 0, 0},
      {"w", HIERA_F32, 1, {kColumns}, {0}, 0, 0},
      {"y", HIERA_F32, 2, {kRows, kColumns}, {0}, 0, 0},
  };
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = "y[i,j] = gelu(w[j] * x[i,j] * rsqrt(mean(k: x[i,k]*x[i,k]) + 1e-5))";
  formula.tensors = tensors;
  formula.tensor_count = 3;

  if (x == NULL || w == NULL || y == NULL) return 1;
  for (i = 0; i < kRows * kColumns; ++i) x[i] = (float)(i % 1000) * 0.002f - 1.0f;
  for (i = 0; i < kColumns; ++i) w[i] = 1.0f;
  pointers[0] = x;
  pointers[1] = w;
  pointers[2] = y;

  if (hiera_engine_create(NULL, &engine) != HIERA_OK ||
      hiera_op_create(engine, &formula, &op) != HIERA_OK) {
    fprintf(stderr, "%s\n", hiera_last_error());
    return 1;
  }
  before = milliseconds_per_run(op, pointers); /* answered at once */
  if (hiera_op_settle(op, UINT64_C(60000000000)) != HIERA_OK) {
    fprintf(stderr, "%s\n", hiera_last_error());
  }
  after = milliseconds_per_run(op, pointers); /* with the winner */
  hiera_op_get_info(op, &info);
  printf("first runs %.2f ms, after %llu swap(s) %.2f ms: %.1f x\n", before,
         (unsigned long long)info.generation, after, before / after);

  hiera_op_destroy(op);
  hiera_engine_destroy(engine);
  free(x);
  free(w);
  free(y);
  return 0;
}
