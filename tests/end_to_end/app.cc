// The application of the end-to-end tests: runs one operator through the C API and says what
// happened, one "name=value" a line. What it does follows from its arguments:
//   app TASK [settle] [runs=N] [fork] [wait-for=FILE]
// TASK is blur (a 2-D stencil of 4 steps), gemm (24 x 24 x 24) or norm (a row-wise formula).
#include <hiera/hiera.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

volatile sig_atomic_t children_heard_of = 0;

void HeardOfChild(int) { children_heard_of = children_heard_of + 1; }

void Check(hiera_status status, const char* what) {
  if (status == HIERA_OK) return;
  std::printf("error=%s: %s: %s\n", what, hiera_status_name(status), hiera_last_error());
  std::exit(1);
}

struct Operator {
  hiera_op* op = nullptr;
  std::vector<std::vector<float>> buffers;
  std::vector<double> scalars;
  size_t output = 0;

  std::vector<void*> Pointers() {
    std::vector<void*> pointers;
    for (auto& buffer : buffers) pointers.push_back(buffer.data());
    return pointers;
  }
};

std::vector<float> Values(size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / (1 << 23) - 1.0f;
  }
  return values;
}

Operator MakeFormulaOp(hiera_engine* engine, const char* text, int64_t rows, int64_t columns,
                       uint32_t outside) {
  const hiera_tensor tensors[] = {{"x", HIERA_F32, 2, {rows, columns}, {0}, outside, 0},
                                  {"y", HIERA_F32, 2, {rows, columns}, {0}, 0, 0}};
  hiera_formula formula = HIERA_FORMULA_INIT;
  formula.text = text;
  formula.tensors = tensors;
  formula.tensor_count = 2;
  Operator result;
  Check(hiera_op_create(engine, &formula, &result.op), "create");
  const size_t count = static_cast<size_t>(rows * columns);
  result.buffers = {Values(count, 1), std::vector<float>(count)};
  result.output = 1;
  return result;
}

Operator MakeGemmOp(hiera_engine* engine) {
  hiera_gemm gemm = HIERA_GEMM_INIT;
  gemm.dtype = HIERA_F32;
  gemm.m = gemm.n = gemm.k = 24;
  gemm.alpha_class = HIERA_SCALAR_ONE;
  gemm.beta_class = HIERA_SCALAR_ZERO;
  Operator result;
  Check(hiera_op_create_gemm(engine, &gemm, &result.op), "create");
  result.buffers = {Values(24 * 24, 1), Values(24 * 24, 2), std::vector<float>(24 * 24)};
  result.scalars = {1, 0};
  result.output = 2;
  return result;
}

Operator Make(hiera_engine* engine, const std::string& task) {
  if (task == "gemm") return MakeGemmOp(engine);
  if (task == "norm") {
    return MakeFormulaOp(engine, "y[i,j] = x[i,j] / sqrt(mean(k: x[i,k]*x[i,k]) + 1e-5)", 256, 1024,
                         HIERA_OUTSIDE_REFUSE);
  }
  return MakeFormulaOp(engine,
                       "steps 4 (x = y)\n"
                       "y[i,j] = 0.2*(x[i,j] + x[i-1,j] + x[i+1,j] + x[i,j-1] + x[i,j+1])",
                       512, 512, HIERA_OUTSIDE_CLAMP);
}

void Run(Operator& op, int runs) {
  const std::vector<void*> pointers = op.Pointers();
  for (int i = 0; i < runs; ++i) {
    Check(hiera_op_run(op.op, pointers.data(), op.scalars.data(), nullptr), "run");
  }
}

// The largest difference from the reference.
double WorstError(Operator& op) {
  Run(op, 1);
  const std::vector<float> actual = op.buffers[op.output];
  const std::vector<void*> pointers = op.Pointers();
  Check(hiera_op_reference(op.op, pointers.data(), op.scalars.data()), "reference");
  double worst = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double error = std::fabs(double{actual[i]} - double{op.buffers[op.output][i]});
    if (!(error <= worst)) worst = error;
  }
  return worst;
}

void Report(hiera_engine* engine, Operator& op) {
  hiera_op_info info = HIERA_OP_INFO_INIT;
  Check(hiera_op_get_info(op.op, &info), "info");
  hiera_stats stats = HIERA_STATS_INIT;
  Check(hiera_engine_stats(engine, &stats), "stats");
  std::printf("key=%016llx%016llx\n", static_cast<unsigned long long>(info.key[0]),
              static_cast<unsigned long long>(info.key[1]));
  std::printf("generation=%llu\nspace=%u\nspeedup=%.3f\nindex_hits=%llu\nconnected=%u\n",
              static_cast<unsigned long long>(info.generation), info.space, info.speedup,
              static_cast<unsigned long long>(stats.index_hits), stats.planner_connected);
  std::printf("load_failures=%llu\nerror_max=%.3g\n",
              static_cast<unsigned long long>(stats.load_failures), WorstError(op));
  std::printf("sigchld=%d\nwaitpid=%d\n", static_cast<int>(children_heard_of),
              static_cast<int>(waitpid(-1, nullptr, WNOHANG)));
}

// The child runs what it has, makes an operator of its own, and leaves.
int InChild(hiera_engine* engine, Operator& op) {
  const pid_t child = fork();
  if (child == 0) {
    Run(op, 100);
    Operator own = Make(engine, "gemm");
    Run(own, 10);
    const bool right = WorstError(op) < 1e-4 && WorstError(own) < 1e-4;
    std::fflush(stdout);
    _exit(right ? 7 : 8);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace

int main(int argc, char** argv) {
  struct sigaction action = {};
  action.sa_handler = HeardOfChild;
  sigaction(SIGCHLD, &action, nullptr);
  const std::string task = argc > 1 ? argv[1] : "blur";
  bool settle = false, forks = false;
  int runs = 20;
  std::string wait_for;
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "settle") settle = true;
    if (argument == "fork") forks = true;
    if (argument.rfind("runs=", 0) == 0) runs = std::atoi(argument.c_str() + 5);
    if (argument.rfind("wait-for=", 0) == 0) wait_for = argument.substr(9);
  }
  hiera_engine* engine = nullptr;
  Check(hiera_engine_create(nullptr, &engine), "engine");
  Operator op = Make(engine, task);
  Run(op, 1);
  hiera_op_info info = HIERA_OP_INFO_INIT;
  Check(hiera_op_get_info(op.op, &info), "info");
  std::printf("first_generation=%llu\n", static_cast<unsigned long long>(info.generation));
  Run(op, runs);
  while (!wait_for.empty() && access(wait_for.c_str(), F_OK) != 0) Run(op, 1);
  if (settle) {
    const hiera_status status = hiera_op_settle(op.op, UINT64_C(120000000000));
    std::printf("settle=%s\n", hiera_status_name(status));
  }
  Report(engine, op);
  if (forks) std::printf("child=%d\n", InChild(engine, op));
  hiera_op_destroy(op.op);
  hiera_engine_destroy(engine);
  return 0;
}
