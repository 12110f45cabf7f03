// Ends in the way its argument says, with an engine in some state; its exit code must be 42.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "hiera/hiera.h"

namespace {

hiera_status Nothing(void*, void* const*, const double*, void*) { return HIERA_OK; }

// Destroyed while the process exits, after main: what the library logs to must not be called then.
struct Sink {
  ~Sink() { gone = true; }
  bool gone = false;
};
Sink g_sink;

void Log(void* user, uint32_t, const char*) {
  if (static_cast<Sink*>(user)->gone) abort();
}

hiera_op* Create(hiera_engine* engine, int factor) {
  const hiera_tensor tensors[] = {{"x", HIERA_F32, 1, {4}, {0}, 0, 0},
                                  {"y", HIERA_F32, 1, {4}, {0}, 0, 0}};
  const std::string text = "y[i] = " + std::to_string(factor) + "*x[i]";
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = text.c_str();
  formula.tensors = tensors;
  formula.tensor_count = 2;
  formula.baseline = Nothing;
  hiera_op* op = nullptr;
  if (hiera_op_create(engine, &formula, &op) != HIERA_OK) exit(1);
  return op;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string how = argv[1];
  hiera_config config = HIERA_CONFIG_INIT;
  config.mode = HIERA_MODE_ON;
  config.store_dir = argv[2];
  config.planner_path = "/nonexistent/hiera-planner";
  hiera_set_log(Log, &g_sink);
  hiera_engine* engine = nullptr;
  if (hiera_engine_create(&config, &engine) != HIERA_OK) return 1;
  if (how == "no-operator") return 42;
  hiera_op* op = Create(engine, 2);
  float x[4], y[4];
  void* pointers[] = {x, y};
  if (hiera_op_run(op, pointers, nullptr, nullptr) != HIERA_OK) return 1;
  if (how == "return") return 42;  // the client thread is on its way
  if (how == "settled") {
    if (hiera_op_settle(op, UINT64_C(10000000000)) != HIERA_UNAVAILABLE) return 1;
    return 42;
  }
  if (how == "destroyed") {
    hiera_op_destroy(op);
    hiera_engine_destroy(engine);
    return 42;
  }
  if (how == "engine-first") {
    hiera_engine_destroy(engine);
    return 42;
  }
  if (how == "exit-in-thread") {
    std::thread([] { exit(42); }).join();
  }
  if (how == "quick-exit") quick_exit(42);
  if (how == "exit-in-atexit") {
    static hiera_op* late = op;
    atexit([] {
      void* late_pointers[2];
      float buffer[4];
      late_pointers[0] = late_pointers[1] = buffer;
      if (hiera_op_run(late, late_pointers, nullptr, nullptr) != HIERA_OK) _exit(3);
    });
    return 42;
  }
  if (how == "while-creating") {
    std::thread([engine] {
      for (int i = 3;; ++i) Create(engine, i);
    }).detach();
    usleep(1000);  // any moment will do
    return 42;
  }
  return 2;
}
