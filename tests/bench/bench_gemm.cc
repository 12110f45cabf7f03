// Kernels from the GEMM policy against OpenBLAS and libxsmm, kernel against kernel, on one machine
// in one run. For each shape the policy's first proposals and one round around the best are
// compiled and timed; the best then meets its rivals in turns, and medians are compared.
//
//   bench_gemm [square|batched|small|skinny]...     all of them by default
//
// Ratios above 1 say that the kernel is faster. The floor is the larger of the bytes at the
// measured copy rate and the operations at the measured peak; it is a bound for one pass from
// memory, so data that stays in caches may beat its first term.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "policies/kernel/gemm/problem.h"
#include "policies/kernel/gemm/search.h"
#include "policies/kernel/gemm/source.h"
#include "runtime/base/clock.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/device/host/usable_cores.h"
#include "runtime/library/blas_library.h"
#include "runtime/library/cblas_executable.h"
#include "runtime/task/cblas_call.h"
#include "tests/bench/gemm_suite.h"
#include "tests/bench/turns.h"
#include "tests/unit/policies/compiled_source.h"
#include "tests/unit/policies/gemm_case.h"

#ifdef HIERA_BENCH_LIBXSMM
#include <libxsmm.h>
#endif

namespace hiera {
namespace {

int64_t CacheBytes(int name, int64_t otherwise) {
  const long bytes = sysconf(name);
  return bytes > 0 ? bytes : otherwise;
}

constexpr char kPeakSource[] = R"(
template <class T>
static void Peak(const hiera_host_call* call) {
#if defined(__AVX512F__)
  typedef T V __attribute__((vector_size(64)));
#else
  typedef T V __attribute__((vector_size(32)));
#endif
  V x[12], y = V{} + T(0.5), z = V{} + T(0.25);
  for (int i = 0; i < 12; ++i) x[i] = V{} + T(i);
  asm volatile("" : "+x"(y), "+x"(z));
  for (long k = 0; k < 100000; ++k) {
    for (int i = 0; i < 12; ++i) x[i] = x[i] * y + z;
  }
  V sum = V{};
  for (int i = 0; i < 12; ++i) sum += x[i];
  *static_cast<V*>(call->tensors[0]) = sum;
}
extern "C" void peak32(const hiera_host_call* c) { Peak<float>(c); }
extern "C" void peak64(const hiera_host_call* c) { Peak<double>(c); }
)";

MachineFacts MeasureMachine(const ThreadPool& pool) {
  MachineFacts facts;
  facts.threads = pool.threads();
  facts.l1_bytes = CacheBytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
  facts.l2_bytes = CacheBytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
  facts.l3_bytes = CacheBytes(_SC_LEVEL3_CACHE_SIZE, 8 << 20);
  facts.vector_bytes = __builtin_cpu_supports("avx512f") ? 64
                       : __builtin_cpu_supports("avx2")  ? 32
                                                         : 16;
  facts.has_gcc = CompiledSource::HasCompiler("g++");
  facts.has_clang = CompiledSource::HasCompiler("clang++");
  std::vector<char> from(64 << 20, 1), to(64 << 20, 2);
  struct Copy {
    char* to;
    const char* from;
  } copy = {to.data(), from.data()};
  const std::vector<double> copied =
      TimeInTurns({{"copy",
                    [&](long runs) {
                      for (long i = 0; i < runs; ++i) {
                        pool.Run(
                            64 << 20,
                            [](void* context, long begin, long end, int) {
                              const Copy& c = *static_cast<Copy*>(context);
                              std::memcpy(c.to + begin, c.from + begin, end - begin);
                            },
                            &copy);
                      }
                    }}},
                  0.5);
  facts.copy_gbps = 2.0 * (64 << 20) / copied[0];
  const CompiledSource source("g++", kPeakSource, "-O3");
  alignas(64) char sink[64];
  void* tensors[] = {sink};
  const hiera_host_call call = {tensors, nullptr, nullptr, nullptr};
  const auto peak = [&](const char* entry, int64_t element) {
    const hiera_variant_fn f = source.Find(entry);
    if (f == nullptr) return 0.0;
    const double ns = TimeInTurns({{entry,
                                    [&](long runs) {
                                      for (long i = 0; i < runs; ++i) f(&call);
                                    }}},
                                  0.3)[0];
    const double lanes =
        static_cast<double>(std::max(facts.vector_bytes, 32)) / static_cast<double>(element);
    return 100000.0 * 12 * 2 * lanes / ns * 1e9 * facts.threads;
  };
  facts.flops_f32 = peak("peak32", 4);
  facts.flops_f64 = peak("peak64", 8);
  return facts;
}

// A compiled tuning of a row with the arguments of its call.
class Kernel {
 public:
  Kernel(const gemm::Problem& problem, const gemm::Tuning& tuning, const GemmOperands& operands,
         const ThreadPool& pool)
      : name_(tuning.Name()),
        source_(tuning.compiler == Candidate::Compiler::kGcc ? "g++" : "clang++",
                gemm::CandidateSource(problem, tuning), "-O3"),
        function_(source_.Find("hiera_variant")),
        workspace_(static_cast<size_t>(gemm::WorkspaceBytes(problem, tuning)) + 64) {
    const auto at = reinterpret_cast<uintptr_t>(workspace_.data());
    call_ = {operands.pointers(), nullptr, workspace_.data() + (64 - at % 64) % 64,
             pool.parallel()};
  }
  bool ok() const { return function_ != nullptr; }
  const std::string& error() const { return source_.error(); }
  hiera_variant_fn function() const { return function_; }
  Contestant contestant() const {
    return {name_, [this](long runs) {
              for (long i = 0; i < runs; ++i) function_(&call_);
            }};
  }

 private:
  std::string name_;
  CompiledSource source_;
  hiera_variant_fn function_;
  std::vector<char> workspace_;
  hiera_host_call call_;
};

using Kernels = std::vector<std::unique_ptr<Kernel>>;

Kernels BuildAll(const gemm::Problem& problem, const std::vector<gemm::Ranked>& tunings,
                 const GemmOperands& operands, const ThreadPool& pool) {
  Kernels kernels(tunings.size());
  const auto build = [&](size_t first) {
    for (size_t i = first; i < tunings.size(); i += 2) {
      kernels[i] = std::make_unique<Kernel>(problem, tunings[i].tuning, operands, pool);
    }
  };
  auto other = std::async(std::launch::async, build, 1);
  build(0);
  other.get();
  for (const auto& kernel : kernels) {
    if (!kernel->ok()) std::printf("not built: %s\n", kernel->error().c_str());
  }
  return kernels;
}

// The best of the policy's proposals and of one round around it; null where it refuses.
std::unique_ptr<Kernel> Best(const gemm::Problem& problem, const MachineFacts& machine,
                             const GemmCase& product, const GemmOperands& operands,
                             const ThreadPool& pool, gemm::Tuning* won) {
  std::vector<gemm::Ranked> tunings = gemm::FirstTunings(problem, machine, 12);
  std::unique_ptr<Kernel> best;
  double best_ns = INFINITY;
  for (int round = 0; round < 2 && !tunings.empty(); ++round) {
    Kernels kernels = BuildAll(problem, tunings, operands, pool);
    std::vector<Contestant> contestants;
    std::vector<size_t> indices;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (!kernels[i]->ok()) continue;
      contestants.push_back(kernels[i]->contestant());
      indices.push_back(i);
    }
    if (contestants.empty()) break;
    const std::vector<double> ns = TimeInTurns(contestants, 0.02 * contestants.size());
    for (size_t i = 0; i < ns.size(); ++i) {
      if (ns[i] >= best_ns) continue;
      best_ns = ns[i];
      *won = tunings[indices[i]].tuning;
      best = std::move(kernels[indices[i]]);
    }
    tunings = gemm::Neighbours(problem, *won, machine);
    if (tunings.size() > 12) tunings.resize(12);
  }
  if (best && problem.flops() < 1e9) {  // plain loops in extended precision take that long
    const std::string wrong = product.Check(best->function(), gemm::WorkspaceBytes(problem, *won));
    if (!wrong.empty()) std::printf("WRONG %s: %s\n", won->Name().c_str(), wrong.c_str());
  }
  return best;
}

#ifdef HIERA_BENCH_LIBXSMM
// libxsmm's kernel for one matrix, called for each of the batch. Empty where it has none.
template <typename T, typename Descriptor>
std::function<void(long)> Libxsmm(const gemm::Problem& p, const GemmOperands& operands,
                                  Descriptor get) {
  if (p.b_col != 1 || p.a_col != 1 || p.bias >= 0 || p.batch.size() > 1) return nullptr;
  if (p.rows * p.cols * p.depth > 128 * 128 * 128) return nullptr;
  const int lda = static_cast<int>(p.b_row), ldb = static_cast<int>(p.a_row),
            ldc = static_cast<int>(p.c_row);
  const T one = 1, beta = static_cast<T>(p.beta.value);
  const int flags = 0;
  const auto kernel =
      get(static_cast<int>(p.cols), static_cast<int>(p.rows), static_cast<int>(p.depth), &lda, &ldb,
          &ldc, &one, &beta, &flags, nullptr);
  if (kernel == nullptr) return nullptr;
  const T* a = static_cast<const T*>(operands.pointers()[p.a]);
  const T* b = static_cast<const T*>(operands.pointers()[p.b]);
  T* c = static_cast<T*>(operands.pointers()[p.c]);
  const gemm::BatchAxis axis = p.batch.empty() ? gemm::BatchAxis{} : p.batch[0];
  return [=](long runs) {
    for (long run = 0; run < runs; ++run) {
      for (int64_t i = 0; i < axis.extent; ++i)
        kernel(b + i * axis.b, a + i * axis.a, c + i * axis.c);
    }
  };
}
#endif

std::function<void(long)> LibxsmmOf([[maybe_unused]] const gemm::Problem& problem,
                                    [[maybe_unused]] const GemmOperands& operands) {
#ifdef HIERA_BENCH_LIBXSMM
  if (problem.dtype == DType::kF64) return Libxsmm<double>(problem, operands, libxsmm_dmmdispatch);
  return Libxsmm<float>(problem, operands, libxsmm_smmdispatch);
#else
  return nullptr;
#endif
}

struct Means {
  double log_blas = 0, log_xsmm = 0;
  int blas = 0, xsmm = 0;
};

class Bench {
 public:
  Bench() : pool_(UsableCores()), facts_(MeasureMachine(pool_)) {
    std::printf("%d threads, copy %.1f GB/s, peak f32 %.0f f64 %.0f GFLOP/s, vectors of %d bytes\n",
                facts_.threads, facts_.copy_gbps, facts_.flops_f32 / 1e9, facts_.flops_f64 / 1e9,
                facts_.vector_bytes);
    const Result<const BlasLibrary*> blas = BlasLibrary::Open();
    if (blas.ok()) {
      blas_ = *blas;
      std::printf("%s, %s\n", blas_->path().c_str(), blas_->config().c_str());
    } else {
      std::printf("%s\n", blas.status().message().c_str());
    }
#ifndef HIERA_BENCH_LIBXSMM
    std::printf("libxsmm is missing: its column stays empty (install libxsmm-dev)\n");
#endif
  }

  void RunSuite(const std::string& suite, const std::vector<GemmRow>& rows) {
    std::printf("\n%-26s %12s %12s %12s %8s %8s %12s  %s\n", suite.c_str(), "OpenBLAS ns",
                "libxsmm ns", "kernel ns", "/OpenBLAS", "/libxsmm", "floor ns", "kernel");
    Means means;
    for (const GemmRow& row : rows) RunRow(row, &means);
    std::printf("%-26s", "geometric mean");
    if (means.blas > 0)
      std::printf("  %.2f x OpenBLAS (%d)", std::exp(means.log_blas / means.blas), means.blas);
    if (means.xsmm > 0)
      std::printf("  %.2f x libxsmm (%d)", std::exp(means.log_xsmm / means.xsmm), means.xsmm);
    std::printf("\n");
  }

 private:
  void RunRow(const GemmRow& row, Means* means) {
    const GemmCase& product = row.product;
    Result<gemm::Problem> problem = gemm::ProblemOf(product.view, product.dtype);
    if (!problem.ok()) {
      std::printf("%-26s %s\n", row.name.c_str(), problem.status().message().c_str());
      return;
    }
    problem->workspace_limit = int64_t{1} << 30;
    const GemmOperands operands(product);
    gemm::Tuning won;
    const std::unique_ptr<Kernel> best = Best(*problem, facts_, product, operands, pool_, &won);
    if (!best) return;
    std::vector<Contestant> contestants = {best->contestant()};
    std::unique_ptr<Executable> library;
    if (blas_ != nullptr) {
      library =
          MakeCblasExecutable((*CblasCallsOf(product.view, product.dtype))[0], blas_->functions());
      const Call call = {operands.pointers(), nullptr, nullptr};
      const Executable* executable = library.get();
      contestants.push_back({"OpenBLAS", [executable, call](long runs) {
                               for (long i = 0; i < runs; ++i) (void)executable->Run(call);
                             }});
    }
    if (std::function<void(long)> run = LibxsmmOf(*problem, operands)) {
      contestants.push_back({"libxsmm", std::move(run)});
    }
    std::map<std::string, double> ns;
    const std::vector<double> medians = TimeInTurns(contestants, 0.3);
    for (size_t i = 0; i < medians.size(); ++i) ns[contestants[i].name] = medians[i];
    Print(row, *problem, won, medians[0], ns, means);
  }

  void Print(const GemmRow& row, const gemm::Problem& problem, const gemm::Tuning& won,
             double kernel, const std::map<std::string, double>& ns, Means* means) const {
    const auto column = [&](const char* name, double* log_sum, int* count) {
      const auto found = ns.find(name);
      if (found == ns.end()) return std::pair<double, double>{0, 0};
      *log_sum += std::log(found->second / kernel);
      ++*count;
      return std::pair<double, double>{found->second, found->second / kernel};
    };
    const auto blas = column("OpenBLAS", &means->log_blas, &means->blas);
    const auto xsmm = column("libxsmm", &means->log_xsmm, &means->xsmm);
    const double peak = problem.dtype == DType::kF64 ? facts_.flops_f64 : facts_.flops_f32;
    const double floor = std::max(problem.bytes() / facts_.copy_gbps, problem.flops() / peak * 1e9);
    std::printf("%-26s %12.1f %12.1f %12.1f %8.2f %8.2f %12.1f  %s\n", row.name.c_str(), blas.first,
                xsmm.first, kernel, blas.second, xsmm.second, floor, won.Name().c_str());
    std::fflush(stdout);
  }

  ThreadPool pool_;
  MachineFacts facts_;
  const BlasLibrary* blas_ = nullptr;
};

int Main(int argc, char** argv) {
  std::vector<std::string> suites(argv + 1, argv + argc);
  if (suites.empty()) suites = {"square", "batched", "small", "skinny"};
  Bench bench;
  for (const std::string& suite : suites) {
    bool known = false;
    for (DType dtype : {DType::kF32, DType::kF64}) {
      const std::vector<GemmRow> rows = GemmSuite(suite, dtype);
      if (rows.empty()) continue;
      known = true;
      bench.RunSuite(suite, rows);
    }
    if (!known) {
      std::fprintf(stderr, "unknown suite %s (square, batched, small, skinny)\n", suite.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) { return hiera::Main(argc, argv); }
