// The application of the end-to-end tests on a GPU: runs one operator through the C API on memory
// of the device and says what happened, one "name=value" a line:
//   gpu_app TASK [settle] [graph] [align] [device=NAME] [runs=N]
// TASK is blur (a 2-D stencil of 2 steps), gemm (48 x 40 x 56) or norm (a row-wise formula); graph:
// one is captured before anything is known, and replayed at the end; align: the operator's contract
// says that tensors are aligned to 16 bytes.
#include <hiera/hiera.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/gpu/gpu.h"

namespace {

using hiera::gpu::Cuda;
using hiera::gpu::Memory;

struct Options {
  std::string task = "norm", device = "cuda";
  bool settle = false, graph = false, align = false;
  int runs = 20;
};

void Check(hiera_status status, const char* what) {
  if (status == HIERA_OK) return;
  std::printf("error=%s: %s: %s\n", what, hiera_status_name(status), hiera_last_error());
  std::exit(1);
}

std::vector<float> Values(size_t count, unsigned seed) {
  std::vector<float> values(count);
  for (float& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / (1 << 23) - 1.0f;
  }
  return values;
}

// The operator, its tensors on both sides, the last of which is the output, and a stream.
class Operator {
 public:
  Operator(hiera_engine* engine, const Options& options) {
    contract_.alignment = options.align ? 16 : 0;
    if (options.task == "gemm") {
      MakeGemm(engine);
    } else if (options.task == "norm") {
      MakeFormula(engine, "y[i,j] = x[i,j] / sqrt(mean(k: x[i,k]*x[i,k]) + 1e-5)", 48, 256, 0);
    } else {
      MakeFormula(engine,
                  "steps 2 (x = y)\n"
                  "y[i,j] = 0.2*(x[i,j] + x[i-1,j] + x[i+1,j] + x[i,j-1] + x[i,j+1])",
                  90, 100, HIERA_OUTSIDE_CLAMP);
    }
    for (const std::vector<float>& buffer : host_) {
      device_.push_back(std::make_unique<Memory>(4 * buffer.size()));
      device_.back()->Write(buffer.data(), 4 * buffer.size());
      pointers_.push_back(device_.back()->data());
    }
    hiera::gpu::Check(Cuda().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "stream");
  }

  hiera_op* op() const { return op_; }

  void Run(int runs) {
    for (int i = 0; i < runs; ++i) {
      Check(hiera_op_run(op_, pointers_.data(), scalars_.data(), stream_), "run");
    }
  }

  CUgraphExec Captured() {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    hiera::gpu::Check(Cuda().cuStreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_GLOBAL), "begin");
    Run(1);
    hiera::gpu::Check(Cuda().cuStreamEndCapture(stream_, &graph), "end");
    hiera::gpu::Check(Cuda().cuGraphInstantiate(&executable, graph, 0), "instantiate");
    return executable;
  }

  // The largest difference from the reference after a run, or a replay.
  double WorstError(CUgraphExec graph) {
    const std::vector<float> poison(host_.back().size(), 1e30f);
    device_.back()->Write(poison.data(), 4 * poison.size());
    if (graph == nullptr) {
      Run(1);
    } else {
      hiera::gpu::Check(Cuda().cuGraphLaunch(graph, stream_), "replay");
    }
    hiera::gpu::Check(Cuda().cuStreamSynchronize(stream_), "wait");
    std::vector<float> actual(host_.back().size());
    device_.back()->Read(actual.data(), 4 * actual.size());
    std::vector<void*> pointers;
    for (std::vector<float>& buffer : host_) pointers.push_back(buffer.data());
    Check(hiera_op_reference(op_, pointers.data(), scalars_.data()), "reference");
    double worst = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      const double error = std::fabs(double{actual[i]} - double{host_.back()[i]});
      if (!(error <= worst)) worst = error;
    }
    return worst;
  }

 private:
  void MakeFormula(hiera_engine* engine, const char* text, int64_t rows, int64_t columns,
                   uint32_t outside) {
    const hiera_tensor tensors[] = {{"x", HIERA_F32, 2, {rows, columns}, {0}, outside, 0},
                                    {"y", HIERA_F32, 2, {rows, columns}, {0}, 0, 0}};
    hiera_formula formula = HIERA_FORMULA_INIT;
    formula.text = text;
    formula.tensors = tensors;
    formula.tensor_count = 2;
    formula.contract = &contract_;
    Check(hiera_op_create(engine, &formula, &op_), "create");
    const auto count = static_cast<size_t>(rows * columns);
    host_ = {Values(count, 1), std::vector<float>(count)};
  }

  void MakeGemm(hiera_engine* engine) {
    hiera_gemm gemm = HIERA_GEMM_INIT;
    gemm.dtype = HIERA_F32;
    gemm.m = 48, gemm.n = 40, gemm.k = 56;
    gemm.alpha_class = HIERA_SCALAR_ONE;
    gemm.beta_class = HIERA_SCALAR_ZERO;
    gemm.contract = &contract_;
    Check(hiera_op_create_gemm(engine, &gemm, &op_), "create");
    host_ = {Values(48 * 56, 1), Values(56 * 40, 2), std::vector<float>(48 * 40)};
    scalars_ = {1, 0};
  }

  hiera_contract contract_ = HIERA_CONTRACT_INIT;
  hiera_op* op_ = nullptr;
  std::vector<std::vector<float>> host_;
  std::vector<std::unique_ptr<Memory>> device_;
  std::vector<void*> pointers_;
  std::vector<double> scalars_;
  CUstream stream_ = nullptr;
};

unsigned long long Generation(const Operator& op) {
  hiera_op_info info = HIERA_OP_INFO_INIT;
  Check(hiera_op_get_info(op.op(), &info), "info");
  return static_cast<unsigned long long>(info.generation);
}

void Report(hiera_engine* engine, Operator& op, CUgraphExec graph) {
  hiera_op_info info = HIERA_OP_INFO_INIT;
  Check(hiera_op_get_info(op.op(), &info), "info");
  hiera_stats stats = HIERA_STATS_INIT;
  Check(hiera_engine_stats(engine, &stats), "stats");
  std::printf("key=%016llx%016llx\n", static_cast<unsigned long long>(info.key[0]),
              static_cast<unsigned long long>(info.key[1]));
  std::printf("generation=%llu\nspace=%u\nspeedup=%.3f\nindex_hits=%llu\nconnected=%u\n",
              static_cast<unsigned long long>(info.generation), info.space, info.speedup,
              static_cast<unsigned long long>(stats.index_hits), stats.planner_connected);
  std::printf("load_failures=%llu\nunfit_runs=%llu\nerror_max=%.3g\n",
              static_cast<unsigned long long>(stats.load_failures),
              static_cast<unsigned long long>(stats.unfit_runs), op.WorstError(nullptr));
  if (graph != nullptr) std::printf("replay_error_max=%.3g\n", op.WorstError(graph));
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc > 1) options.task = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "settle") options.settle = true;
    if (argument == "graph") options.graph = true;
    if (argument == "align") options.align = true;
    if (argument.rfind("device=", 0) == 0) options.device = argument.substr(7);
    if (argument.rfind("runs=", 0) == 0) options.runs = std::atoi(argument.c_str() + 5);
  }
  const std::string why = hiera::gpu::WhyNone();
  if (!why.empty()) {
    std::printf("error=%s\n", why.c_str());
    return 1;
  }
  const bool second = options.device == "cuda:1";
  hiera::gpu::UsePrimary(second ? 1 : 0);
  hiera_config config = HIERA_CONFIG_INIT;
  config.device = options.device.c_str();
  config.plan_seconds = 100;  // other work on the processors makes the fictional GPU slow
  hiera_engine* engine = nullptr;
  Check(hiera_engine_create(&config, &engine), "engine");
  {
    Operator op(engine, options);
    const CUgraphExec graph = options.graph ? op.Captured() : nullptr;
    op.Run(1);
    std::printf("first_generation=%llu\n", Generation(op));
    op.Run(options.runs);
    if (options.settle) {
      const hiera_status status = hiera_op_settle(op.op(), UINT64_C(120000000000));
      std::printf("settle=%s\n", hiera_status_name(status));
    }
    Report(engine, op, graph);
    hiera_op_destroy(op.op());
  }
  hiera_engine_destroy(engine);
  return 0;
}
