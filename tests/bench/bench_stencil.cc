// Stencils: one sweep and fused steps of the stencil policy's candidates, against the best plain
// loop that a compiler makes, and against the rate of a copy. All are sampled in turn, in one run.
#include <dlfcn.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "policies/kernel/stencil.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/device/host/usable_cores.h"
#include "runtime/task/parse.h"
#include "tests/bench/stencil_suite.h"

namespace hiera {
namespace {

constexpr int64_t kPasses = 4;  // of one sweep or copy in a sample

struct Options {
  std::string filter;
  int64_t side_2d = 4096, side_3d = 256;
  int64_t steps = 24;
  int repetitions = 7;
  int fused = 3;   // candidates of several steps for each stencil
  int sweeps = 1;  // and of one step
  bool all_f64 = false;
  bool best = false;
  bool verbose = false;
};

double NowNs() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Middle(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// A page-aligned buffer that stays.
class Buffer {
 public:
  explicit Buffer(int64_t bytes)
      : data_(std::aligned_alloc(4096, static_cast<size_t>((bytes + 8191) / 4096 * 4096)),
              std::free) {
    std::memset(data_.get(), 0, static_cast<size_t>(bytes));
  }
  void* data() const { return data_.get(); }

 private:
  std::unique_ptr<void, void (*)(void*)> data_;
};

// What is timed: `steps` sweeps a run.
struct Contender {
  std::string name;
  hiera_variant_fn run = nullptr;
  int64_t steps = 1;
  int64_t workspace_bytes = 0;
  bool alternates = false;  // sweeps between the two buffers instead of from one to the other
  std::shared_ptr<Buffer> workspace;
  std::vector<double> samples;  // nanoseconds per step
};

class Compiled {
 public:
  explicit Compiled(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }
  ~Compiled() { std::filesystem::remove_all(folder_); }

  // Null where the compiler is missing or fails.
  hiera_variant_fn Build(const std::string& source, bool gcc) {
    const std::string stem = (folder_ / std::to_string(++count_)).string();
    std::ofstream(stem + ".cc") << source;
    const std::string command = std::string(gcc ? "g++" : "clang++") +
                                " -std=c++20 -O3 -march=native -fno-math-errno -ffp-contract=fast"
                                " -fPIC -shared -w -include " HIERA_SOURCE_DIR
                                "/runtime/device/host/abi.h -o " +
                                stem + ".so " + stem + ".cc 2> /dev/null";
    if (std::system(command.c_str()) != 0) return nullptr;
    void* object = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
    return object ? reinterpret_cast<hiera_variant_fn>(dlsym(object, "hiera_variant")) : nullptr;
  }

 private:
  std::filesystem::path folder_;
  std::atomic<int> count_{0};
};

void CopyPiece(void* context, long begin, long end, int) {
  typedef float Register __attribute__((vector_size(32)));
  void* const* tensors = static_cast<void* const*>(context);
  const auto* from = static_cast<const Register*>(tensors[0]);
  auto* to = static_cast<Register*>(tensors[1]);
  for (long i = begin; i < end; ++i) {
    to[i] = from[i];
    asm volatile("" ::: "memory");  // keeps the compiler from calling memcpy, which may stream
  }
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        pool_(UsableCores()),
        compiled_(std::filesystem::temp_directory_path() /
                  ("hiera-bench-" + std::to_string(getpid()))) {
    machine_.threads = pool_.threads();
    machine_.has_clang = std::system("clang++ --version > /dev/null 2>&1") == 0;
    // The share that cores see: sysconf adds up the last level of a whole socket.
    const auto cache = [](int index, int64_t fallback) {
      std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                         "/size");
      int64_t kib = 0;
      return file >> kib ? kib << 10 : fallback;
    };
    machine_.l1_bytes = cache(0, machine_.l1_bytes);
    machine_.l2_bytes = cache(2, machine_.l2_bytes);
    machine_.l3_bytes = cache(3, machine_.l3_bytes);
    std::printf("%d threads, caches %lld KiB / %lld KiB / %lld MiB; grids %lld^2 and %lld^3\n",
                machine_.threads, static_cast<long long>(machine_.l1_bytes >> 10),
                static_cast<long long>(machine_.l2_bytes >> 10),
                static_cast<long long>(machine_.l3_bytes >> 20),
                static_cast<long long>(options_.side_2d), static_cast<long long>(options_.side_3d));
    std::printf("GStencil/s, %s of interleaved samples; fused: %lld steps a run\n\n",
                options_.best ? "the fastest" : "medians", static_cast<long long>(options_.steps));
    std::printf("%-11s %4s %7s %7s %7s %7s  %10s %10s %10s  %s\n", "stencil", "type", "copy",
                "plain", "sweep", "fused", "sweep/copy", "sweep/pln", "fused/pln", "best fused");
  }

  void Run(const SuiteStencil& stencil, DType dtype) {
    std::vector<int64_t> extents(stencil.dims,
                                 stencil.dims == 2 ? options_.side_2d : options_.side_3d);
    if (dtype == DType::kF64) extents[0] /= 2;
    int64_t cells = 1;
    for (int64_t extent : extents) cells *= extent;
    std::vector<Contender> contenders = Compile(stencil, extents, dtype);
    Buffer u(cells * SizeOf(dtype)), v(cells * SizeOf(dtype));
    for (int64_t i = 0; i < cells; ++i) {
      const double value = 0.5 + static_cast<double>((i * 7919) % 1000) / 2000;
      if (dtype == DType::kF32) static_cast<float*>(u.data())[i] = static_cast<float>(value);
      if (dtype == DType::kF64) static_cast<double*>(u.data())[i] = value;
    }
    std::memcpy(v.data(), u.data(), static_cast<size_t>(cells * SizeOf(dtype)));
    std::vector<double> copies;
    // The first round warms pages and caches, and is not counted.
    for (int repetition = 0; repetition <= options_.repetitions; ++repetition) {
      const double copy = TimeCopy(u, v, cells * SizeOf(dtype));
      if (repetition > 0) copies.push_back(copy);
      for (Contender& contender : contenders) {
        const double ns = Time(contender, u, v);
        if (repetition > 0) contender.samples.push_back(ns);
      }
    }
    Print(stencil.name, dtype, static_cast<double>(cells), Typical(copies), contenders);
  }

  // Geometric means, once all stencils ran.
  void Summarise() const {
    const auto mean = [](const std::vector<double>& ratios) {
      double sum = 0;
      for (double ratio : ratios) sum += std::log(ratio);
      return ratios.empty() ? 0 : std::exp(sum / static_cast<double>(ratios.size()));
    };
    std::printf("\ngeomean: sweep/plain %.2f, fused/plain 2-D %.2f, 3-D %.2f\n", mean(sweeps_),
                mean(fused_2d_), mean(fused_3d_));
  }

 private:
  std::vector<Contender> Compile(const SuiteStencil& stencil, const std::vector<int64_t>& extents,
                                 DType dtype) {
    std::vector<std::future<Contender>> building;
    const auto build = [&](Contender contender, std::string source, bool gcc) {
      building.push_back(std::async(std::launch::async, [=, this] {
        Contender built = contender;
        built.run = compiled_.Build(source, gcc);
        return built;
      }));
      if (building.size() >= 2) building[building.size() - 2].wait();
    };
    const std::string plain = PlainLoop(stencil, extents, dtype);
    for (bool gcc : {true, false}) {
      build({gcc ? "plain gcc" : "plain clang", nullptr, kPasses, 0, true, nullptr, {}}, plain,
            gcc);
    }
    for (int64_t steps : {int64_t{1}, options_.steps}) {
      Result<Task> task = ParseTask(FormulaText(stencil, extents, dtype, steps));
      if (!task.ok()) {
        std::printf("%s: %s\n", stencil.name.c_str(), task.status().message().c_str());
        continue;
      }
      Evidence evidence;
      evidence.machine = machine_;
      Budget budget;
      budget.candidates = 24;
      const Proposal proposal = StencilPolicy().Propose(*task, evidence, budget);
      int64_t last_fuse = 0;
      int taken = 0;
      for (const Candidate& candidate : proposal.candidates) {
        const int64_t fuse = PlanFromName(candidate.name)->fuse;
        if (taken == (steps == 1 ? options_.sweeps : options_.fused)) break;
        if (steps > 1 && fuse == last_fuse) continue;
        last_fuse = fuse;
        ++taken;
        Contender contender{candidate.name, nullptr, steps, candidate.plan.workspace_bytes,
                            false,          nullptr, {}};
        contender.workspace = std::make_shared<Buffer>(contender.workspace_bytes + 64);
        build(contender, candidate.source, candidate.compiler == Candidate::Compiler::kGcc);
      }
    }
    std::vector<Contender> contenders;
    for (auto& built : building) {
      Contender contender = built.get();
      if (contender.run) contenders.push_back(std::move(contender));
    }
    return contenders;
  }

  // As many passes as a sample of one sweep has, so that both meet as much of other work.
  double TimeCopy(const Buffer& u, const Buffer& v, int64_t bytes) {
    void* tensors[] = {u.data(), v.data()};
    const double begin = NowNs();
    for (int64_t pass = 0; pass < kPasses; ++pass) {
      pool_.parallel()->run(pool_.parallel(), bytes / 32, CopyPiece, tensors);
    }
    return (NowNs() - begin) / kPasses;
  }

  double Time(const Contender& contender, const Buffer& u, const Buffer& v) {
    void* tensors[] = {u.data(), v.data()};
    void* workspace = contender.workspace ? contender.workspace->data() : nullptr;
    const hiera_host_call call{tensors, nullptr, workspace, pool_.parallel()};
    const double begin = NowNs();
    const int64_t runs = contender.alternates   ? contender.steps
                         : contender.steps == 1 ? kPasses
                                                : 1;
    for (int64_t run = 0; run < runs; ++run) {
      contender.run(&call);
      if (contender.alternates) std::swap(tensors[0], tensors[1]);
    }
    const double ns = NowNs() - begin;
    return ns / static_cast<double>(contender.alternates ? runs : runs * contender.steps);
  }

  double Typical(const std::vector<double>& samples) const {
    return options_.best ? *std::min_element(samples.begin(), samples.end()) : Middle(samples);
  }

  void Print(const std::string& name, DType dtype, double cells, double copy_ns,
             const std::vector<Contender>& contenders) {
    double plain = INFINITY, sweep = INFINITY, fused = INFINITY;
    std::string best;
    for (const Contender& contender : contenders) {
      const double ns = Typical(contender.samples);
      if (options_.verbose) std::printf("    %-60s %7.2f\n", contender.name.c_str(), cells / ns);
      if (contender.alternates) {
        plain = std::min(plain, ns);
      } else if (contender.steps == 1) {
        sweep = std::min(sweep, ns);
      } else if (ns < fused) {
        fused = ns;
        best = contender.name;
      }
    }
    std::printf("%-11s %4s %7.2f %7.2f %7.2f %7.2f  %10.2f %10.2f %10.2f  %s\n", name.c_str(),
                std::string(DTypeName(dtype)).c_str(), cells / copy_ns, cells / plain,
                cells / sweep, cells / fused, copy_ns / sweep, plain / sweep, plain / fused,
                best.c_str());
    std::fflush(stdout);
    sweeps_.push_back(plain / sweep);
    (name.find("3d") == std::string::npos ? fused_2d_ : fused_3d_).push_back(plain / fused);
  }

  const Options options_;
  ThreadPool pool_;
  Compiled compiled_;
  MachineFacts machine_;
  std::vector<double> sweeps_, fused_2d_, fused_3d_;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app{"Stencils against the best plain loop and a copy"};
  app.add_option("--filter", options.filter, "only stencils whose name contains this");
  app.add_option("--side-2d", options.side_2d, "cells along each axis of a 2-D grid");
  app.add_option("--side-3d", options.side_3d, "cells along each axis of a 3-D grid");
  app.add_option("--steps", options.steps, "time steps of a fused run");
  app.add_option("--repetitions", options.repetitions, "samples of each contender");
  app.add_option("--fused", options.fused, "fused candidates of each stencil");
  app.add_option("--sweeps", options.sweeps, "one-step candidates of each stencil");
  app.add_flag("--f64", options.all_f64,
               "every stencil in f64 as well, not only the first of each");
  app.add_flag("--best", options.best,
               "the fastest sample of each instead of the median: for a machine with other work, "
               "which only ever adds");
  app.add_flag("--verbose", options.verbose, "every contender's rate");
  CLI11_PARSE(app, argc, argv);
  const std::vector<SuiteStencil> suite =
      ReadSuite(HIERA_SOURCE_DIR "/tests/bench/data/stencils.csv");
  if (suite.empty()) {
    std::fprintf(stderr, "bench_stencil: no stencils in tests/bench/data/stencils.csv\n");
    return 1;
  }
  Bench bench(options);
  for (const SuiteStencil& stencil : suite) {
    if (stencil.name.find(options.filter) == std::string::npos) continue;
    bench.Run(stencil, DType::kF32);
    const bool first = stencil.name == "star2d1r" || stencil.name == "star3d1r";
    if (first || options.all_f64) bench.Run(stencil, DType::kF64);
  }
  bench.Summarise();
  return 0;
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) { return hiera::Main(argc, argv); }
