/* The C API from C: conventions that a C++ test cannot see, and one operator from end to end
 * without a planner. Exits with 0, or says what was wrong. */
#include <hiera/hiera.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) {                                                               \
      printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, hiera_last_error()); \
      ++failures;                                                                     \
    }                                                                                 \
  } while (0)

static hiera_status triple(void* user, void* const* pointers, const double* scalars, void* stream) {
  const float* x = pointers[0];
  float* y = pointers[1];
  int i;
  (void)scalars;
  (void)stream;
  ++*(int*)user;
  for (i = 0; i < 4; ++i) y[i] = 3 * x[i];
  return HIERA_OK;
}

static const hiera_tensor kTensors[] = {{"x", HIERA_F32, 1, {4}, {0}, 0, 0},
                                        {"y", HIERA_F32, 1, {4}, {0}, 0, 0}};

static void check_conventions(void) {
  EXPECT(hiera_version() == (HIERA_VERSION_MAJOR << 16 | HIERA_VERSION_MINOR));
  EXPECT(strcmp(hiera_status_name(HIERA_INVALID_ARGUMENT), "invalid argument") == 0);
  EXPECT(strcmp(hiera_status_name(12345), "unknown status") == 0);
  EXPECT(strcmp(hiera_last_error(), "") == 0);
  hiera_engine_destroy(NULL);
  hiera_op_destroy(NULL);
}

static void check_formula(hiera_engine* engine) {
  hiera_op* op = NULL;
  float x[4] = {1, 2, 3, 4}, y[4] = {0}, z[4] = {0};
  void* pointers[2];
  char text[64];
  size_t length = 0;
  const double a = 3;
  const hiera_scalar scalars[] = {{"a", HIERA_SCALAR_ANY, 0}};
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = "y[i] = a * x[i]";
  formula.tensors = kTensors;
  formula.tensor_count = 2;
  formula.scalars = scalars;
  formula.scalar_count = 1;
  EXPECT(hiera_op_create(engine, &formula, &op) == HIERA_OK);
  pointers[0] = x;
  pointers[1] = y;
  EXPECT(hiera_op_run(op, pointers, &a, NULL) == HIERA_OK);
  EXPECT(y[0] == 3 && y[3] == 12);
  pointers[1] = z;
  EXPECT(hiera_op_reference(op, pointers, &a) == HIERA_OK);
  EXPECT(memcmp(y, z, sizeof y) == 0);

  EXPECT(hiera_op_explain(op, NULL, 0, &length) == HIERA_OK);
  EXPECT(length > sizeof text);
  memset(text, 'x', sizeof text);
  EXPECT(hiera_op_explain(op, text, sizeof text, NULL) == HIERA_OK);
  EXPECT(strlen(text) == sizeof text - 1);
  EXPECT(strncmp(text, "key: ", 5) == 0);
  hiera_op_destroy(op);
}

static void check_own_baseline(hiera_engine* engine) {
  hiera_op* op = NULL;
  hiera_op_info info = HIERA_OP_INFO_INIT;
  float x[4] = {1, 2, 3, 4}, y[4] = {0};
  void* pointers[2];
  int calls = 0;
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = "y[i] = 3 * x[i]";
  formula.tensors = kTensors;
  formula.tensor_count = 2;
  formula.baseline = triple;
  formula.baseline_user = &calls;
  EXPECT(hiera_op_create(engine, &formula, &op) == HIERA_OK);
  pointers[0] = x;
  pointers[1] = y;
  EXPECT(hiera_op_run(op, pointers, NULL, NULL) == HIERA_OK);
  EXPECT(calls == 1 && y[3] == 12);

  EXPECT(hiera_op_get_info(op, &info) == HIERA_OK);
  EXPECT(info.baseline == HIERA_BASELINE_CALLER && info.space == HIERA_SPACE_BASELINE);
  EXPECT(info.generation == 0 && info.speedup == 1);
  EXPECT(info.bytes == 32 && info.flops == 4);
  EXPECT(hiera_op_settle(op, 1000) == HIERA_UNAVAILABLE);
  EXPECT(strstr(hiera_last_error(), "mode") != NULL);
  hiera_op_destroy(op);
}

int main(void) {
  hiera_config config = HIERA_CONFIG_INIT;
  hiera_stats stats = HIERA_STATS_INIT;
  hiera_engine* engine = NULL;
  check_conventions();
  config.mode = HIERA_MODE_OFF;
  EXPECT(hiera_engine_create(&config, &engine) == HIERA_OK);
  check_formula(engine);
  check_own_baseline(engine);
  EXPECT(hiera_engine_stats(engine, &stats) == HIERA_OK);
  EXPECT(stats.planner_connected == 0 && stats.requests_sent == 0);
  hiera_engine_destroy(engine);
  if (failures == 0) printf("ok\n");
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
