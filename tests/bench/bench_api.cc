// Matrix products as a program sees them: created through the C API with a cold store, planned by
// the planner process, then run through hiera_op_run in turns with the CBLAS calls that a program
// would make otherwise.
//
//   bench_api [--seconds N] [--only ROW] [--store FOLDER] [square|batched|small|skinny]...
//
// Ratios above 1 say that HIERA is faster. `first` is the time from creation to the first swap,
// `settled` to the end of planning, `peak` the share of the machine's peak rate.
#include <hiera/hiera.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/library/blas_library.h"
#include "runtime/library/cblas_executable.h"
#include "runtime/task/cblas_call.h"
#include "tests/bench/gemm_suite.h"
#include "tests/bench/turns.h"

namespace hiera {
namespace {

constexpr double kRunSeconds = 0.5;

struct Means {
  double log_sum = 0;
  double least = INFINITY;
  int count = 0;
};

hiera_op* CreateOp(hiera_engine* engine, const GemmRow& row) {
  hiera_gemm gemm = HIERA_GEMM_INIT;
  gemm.dtype = row.product.dtype == DType::kF64 ? HIERA_F64 : HIERA_F32;
  gemm.m = row.m;
  gemm.n = row.n;
  gemm.k = row.k;
  gemm.batch = row.batch;
  gemm.transpose_a = row.transpose_a;
  gemm.transpose_b = row.transpose_b;
  gemm.column_major = 1;
  gemm.alpha_class = HIERA_SCALAR_ONE;
  gemm.beta_class = HIERA_SCALAR_ZERO;
  hiera_op* op = nullptr;
  if (hiera_op_create_gemm(engine, &gemm, &op) != HIERA_OK) {
    std::printf("%-26s %s\n", row.name.c_str(), hiera_last_error());
    return nullptr;
  }
  return op;
}

struct Settled {
  double first_s = 0, settled_s = 0;  // first_s is 0 where nothing was swapped in
  hiera_op_info info = HIERA_OP_INFO_INIT;
};

Settled Settle(hiera_op* op, double seconds) {
  constexpr uint64_t kPollNs = 20'000'000;
  Settled result;
  const int64_t begin = MonotonicNs();
  const auto now = [&] { return static_cast<double>(MonotonicNs() - begin) * 1e-9; };
  hiera_status status = HIERA_TIMEOUT;
  while (status == HIERA_TIMEOUT && now() < seconds) {
    status = hiera_op_settle(op, kPollNs);
    hiera_op_get_info(op, &result.info);
    if (result.first_s == 0 && result.info.generation > 0) result.first_s = now();
  }
  if (status != HIERA_OK) std::printf("not settled: %s\n", hiera_status_name(status));
  result.settled_s = now();
  return result;
}

void RunRow(hiera_engine* engine, const CblasFunctions& blas, const GemmRow& row, double seconds,
            Means& means) {
  hiera_op* op = CreateOp(engine, row);
  if (op == nullptr) return;
  const Settled settled = Settle(op, 2 * seconds + 5);
  const GemmOperands operands(row.product);
  const auto library =
      MakeCblasExecutable((*CblasCallsOf(row.product.view, row.product.dtype))[0], blas);
  const Call call = {operands.pointers(), nullptr, nullptr};
  const double scalars[] = {1, 0};
  const std::vector<double> ns =
      TimeInTurns({{"OpenBLAS",
                    [&](long runs) {
                      for (long i = 0; i < runs; ++i) (void)library->Run(call);
                    }},
                   {"HIERA",
                    [&](long runs) {
                      for (long i = 0; i < runs; ++i)
                        hiera_op_run(op, operands.pointers(), scalars, nullptr);
                    }}},
                  kRunSeconds);
  const double ratio = ns[0] / ns[1];
  means.log_sum += std::log(ratio);
  means.least = std::min(means.least, ratio);
  ++means.count;
  std::printf("%-26s %12.1f %12.1f %8.2f %10.1f %8.2f %8.2f %9.2f\n", row.name.c_str(), ns[0],
              ns[1], ratio, settled.info.flops / ns[1], settled.first_s, settled.settled_s,
              settled.info.speedup);
  std::fflush(stdout);
  hiera_op_destroy(op);
}

int Main(int argc, char** argv) {
  CLI::App app("Matrix products through the C API against OpenBLAS.");
  std::vector<std::string> suites;
  std::string store, only;
  uint32_t seconds = 6;
  app.add_option("suites", suites, "square, batched, small, skinny; all of them by default");
  app.add_option("--seconds", seconds, "the planner's time for each operator")
      ->capture_default_str();
  app.add_option("--only", only, "rows whose name holds this text, \"f32 24x24x24\" for example");
  app.add_option("--store", store, "a folder to keep; a fresh one by default");
  CLI11_PARSE(app, argc, argv);
  if (suites.empty()) suites = {"square", "batched", "small", "skinny"};

  const bool fresh = store.empty();
  if (fresh) {
    char folder[] = "/tmp/bench_api.XXXXXX";
    if (mkdtemp(folder) == nullptr) return std::perror(folder), 1;
    store = folder;
  }
  const Result<const BlasLibrary*> blas = BlasLibrary::Open();
  if (!blas.ok()) return std::fprintf(stderr, "%s\n", blas.status().message().c_str()), 1;
  hiera_config config = HIERA_CONFIG_INIT;
  config.store_dir = store.c_str();
  config.plan_seconds = seconds;
  hiera_engine* engine = nullptr;
  if (hiera_engine_create(&config, &engine) != HIERA_OK) {
    return std::fprintf(stderr, "%s\n", hiera_last_error()), 1;
  }
  std::printf("%s, %s\n", (*blas)->path().c_str(), (*blas)->config().c_str());
  bool failed = false;
  for (const std::string& suite : suites) {
    for (const DType dtype : {DType::kF32, DType::kF64}) {
      const std::vector<GemmRow> rows = GemmSuite(suite, dtype);
      failed |= rows.empty() && dtype == DType::kF32;
      if (rows.empty()) continue;
      std::printf("\n%-26s %12s %12s %8s %10s %8s %8s %9s\n", suite.c_str(), "OpenBLAS ns",
                  "HIERA ns", "ratio", "GFLOP/s", "first s", "settled", "planner's");
      Means means;
      for (const GemmRow& row : rows) {
        if (row.name.find(only) == std::string::npos) continue;
        RunRow(engine, (*blas)->functions(), row, seconds, means);
      }
      if (means.count == 0) continue;
      std::printf("geometric mean %.2f x OpenBLAS through the API, worst %.2f (%d rows)\n",
                  std::exp(means.log_sum / means.count), means.least, means.count);
    }
  }
  hiera_engine_destroy(engine);
  if (fresh) std::filesystem::remove_all(store);
  if (failed) std::fprintf(stderr, "an unknown suite (square, batched, small, skinny)\n");
  return failed ? 1 : 0;
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) { return hiera::Main(argc, argv); }
