// library_rows FILE DTYPE [SECONDS [EVERY [FIRST]]]: cuBLASLt's best choice against cuBLAS's
// default for the products of a file of shapes (set,m,n,k,ta,tb; column-major), every EVERY-th row
// from number FIRST on, SECONDS of search each in the order of the policy. Prints a table, and at
// the end the geometric mean, the worst and the best row. A choice counts where it keeps the
// contract, and beyond the noise where the lower quartile of its paired ratios is above 1.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "policies/library/cuda_library_policy.h"
#include "runtime/library/cuda/cuda_library.h"
#include "tests/gpu/gpu_machine.h"
#include "tests/gpu/library_tasks.h"
#include "tests/gpu/library_trial.h"

namespace hiera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kWorkspace = int64_t{256} << 20;
constexpr size_t kFinalists = 3;
constexpr int kPairs = 11;

struct Row {
  std::string text;
  ProductShape shape;
};

std::vector<Row> ReadRows(const std::string& path) {
  std::vector<Row> rows;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    Row row;
    row.text = line;
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream fields(line);
    std::string set;
    ProductShape& s = row.shape;
    if (fields >> set >> s.m >> s.n >> s.k >> s.transpose_a >> s.transpose_b) rows.push_back(row);
  }
  return rows;
}

struct Outcome {
  Comparison best;
  std::string name = "the default";
  int run = 0, outside = 0;
};

Outcome Search(GpuMachine& machine, const Task& task, double seconds) {
  Outcome outcome;
  LibraryTrial trial(machine, task, Distribution::kNormal);
  auto baseline = LoadCudaLibraryPlan(task, CudaLibraryPlans(task)->front());
  if (!baseline.ok()) {
    outcome.name = baseline.status().message();
    return outcome;
  }
  MachineFacts facts;
  facts.threads = machine.multiprocessors();
  struct Found {
    double ns;
    std::string name;
    std::unique_ptr<ContextExecutable> executable;
  };
  std::vector<Found> found;
  for (const LibraryOffer& offer : EnumerateCudaLibraries(task, kWorkspace)) {
    if (offer.family != "cublaslt") continue;
    const auto start = Clock::now();
    for (const OrderedChoice& ordered : OrderOffer(task, facts, 0, offer)) {
      const double spent = std::chrono::duration<double>(Clock::now() - start).count();
      if (ordered.choice->rank < 0 && spent > seconds) break;
      auto executable = LoadCudaLibraryPlan(task, ordered.choice->plan);
      if (!executable.ok()) continue;
      ++outcome.run;
      if (!trial.Check(**executable).empty()) {
        ++outcome.outside;
        continue;
      }
      const double ns = trial.Screen(**executable);
      if (ns > 0) found.push_back({ns, ordered.choice->name, *std::move(executable)});
      std::sort(found.begin(), found.end(),
                [](const Found& a, const Found& b) { return a.ns < b.ns; });
      if (found.size() > kFinalists) found.pop_back();
    }
  }
  for (const Found& finalist : found) {
    const Comparison comparison = trial.Compare(**baseline, *finalist.executable, kPairs);
    if (comparison.ratio <= outcome.best.ratio) continue;
    outcome.best = comparison;
    outcome.name = finalist.name;
  }
  return outcome;
}

int Main(int argc, char** argv) {
  GpuMachine* machine = GpuMachine::Get();
  if (machine == nullptr || argc < 3) {
    std::fprintf(stderr, "library_rows FILE DTYPE [SECONDS [EVERY [FIRST]]]%s%s\n",
                 machine == nullptr ? "; " : "", GpuMachine::why().c_str());
    return 2;
  }
  const Result<DType> dtype = DTypeFromName(argv[2]);
  if (!dtype.ok()) return 2;
  const double seconds = argc > 3 ? std::atof(argv[3]) : 1;
  const size_t every = argc > 4 ? std::max(1, std::atoi(argv[4])) : 1;
  const std::vector<Row> rows = ReadRows(argv[1]);
  std::printf("%s, %s\n", machine->name().c_str(), argv[2]);
  std::printf("| row | default us | best us | ratio | quartiles | run | outside | best |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  double logarithms = 0, worst = 1e300, best = 0;
  int count = 0, better = 0;
  for (size_t i = argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 0; i < rows.size(); i += every) {
    const Outcome o = Search(*machine, ProductTask(*dtype, rows[i].shape), seconds);
    std::printf("| %s | %.2f | %.2f | %.3f | %.3f-%.3f | %d | %d | %s |\n", rows[i].text.c_str(),
                o.best.first_ns * 1e-3, o.best.second_ns * 1e-3, o.best.ratio, o.best.low,
                o.best.high, o.run, o.outside, o.name.c_str());
    std::fflush(stdout);
    if (o.best.ratio <= 0) continue;
    // What is not better beyond the noise is not swapped in: the default stays.
    const double kept = o.best.low > 1 ? o.best.ratio : 1;
    better += o.best.low > 1;
    logarithms += std::log(kept);
    worst = std::min(worst, kept);
    best = std::max(best, kept);
    ++count;
  }
  if (count == 0) return 1;
  std::printf("%d rows of %s, %d better beyond the noise: geomean %.3f, worst %.3f, best %.3f\n",
              count, argv[2], better, std::exp(logarithms / count), worst, best);
  return 0;
}

}  // namespace
}  // namespace hiera

int main(int argc, char** argv) { return hiera::Main(argc, argv); }
