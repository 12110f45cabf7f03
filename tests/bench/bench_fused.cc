// Fused rows against plain compiled loops and the copy rate, at sizes of BERT and Llama layers and
// at sizes beyond the caches. Each row of the table is one formula; times are medians of
// interleaved samples on all cores, "floor" is the time in which a copy moves as many bytes from
// the same caches.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "policies/framework/framework_policy.h"
#include "policies/kernel/fused_policy.h"
#include "runtime/device/host/thread_pool.h"
#include "runtime/device/host/usable_cores.h"
#include "runtime/task/cost.h"
#include "runtime/task/parse.h"
#include "runtime/task/reference.h"
#include "tests/unit/policies/variant_batch.h"

namespace hiera::testing {
namespace {

struct Case {
  const char* name;
  const char* text;
};

#define SOFTMAX \
  "m[i] = max(j: x[i,j]); e[i,j] = exp(x[i,j] - m[i]); y[i,j] = e[i,j] / sum(k: e[i,k])"
#define LAYER_NORM                                                                    \
  "m[i] = mean(j: x[i,j]); d[i,j] = x[i,j] - m[i]; v[i] = mean(j: d[i,j] * d[i,j])\n" \
  "y[i,j] = d[i,j] * rsqrt(v[i] + 0.00001) * g[j] + b[j]"
#define RMS_NORM "y[i,j] = x[i,j] * rsqrt(mean(k: x[i,k] * x[i,k]) + 0.00001) * g[j]"

constexpr Case kCases[] = {
    {"softmax 768x512", "tensor x: f32[768,512]; tensor y: f32[768,512]\n" SOFTMAX},
    {"softmax 64x14336", "tensor x: f32[64,14336]; tensor y: f32[64,14336]\n" SOFTMAX},
    {"softmax 4096x4096", "tensor x: f32[4096,4096]; tensor y: f32[4096,4096]\n" SOFTMAX},
    {"layer norm 1x768",
     "tensor x: f32[1,768]; tensor g: f32[768]; tensor b: f32[768]; tensor y: "
     "f32[1,768]\n" LAYER_NORM},
    {"layer norm 64x768",
     "tensor x: f32[64,768]; tensor g: f32[768]; tensor b: f32[768]; tensor y: "
     "f32[64,768]\n" LAYER_NORM},
    {"layer norm 4096x4096",
     "tensor x: f32[4096,4096]; tensor g: f32[4096]; tensor b: f32[4096]\n"
     "tensor y: f32[4096,4096]\n" LAYER_NORM},
    {"rms norm 64x4096",
     "tensor x: f32[64,4096]; tensor g: f32[4096]; tensor y: f32[64,4096]\n" RMS_NORM},
    {"rms norm bf16 64x4096",
     "tensor x: bf16[64,4096]; tensor g: bf16[4096]; tensor y: bf16[64,4096]\n" RMS_NORM},
    {"bias gelu 64x3072",
     "tensor x: f32[64,3072]; tensor b: f32[3072]; tensor y: f32[64,3072]\n"
     "y[i,j] = gelu(x[i,j] + b[j])"},
    {"bias gelu f64 64x3072",
     "tensor x: f64[64,3072]; tensor b: f64[3072]; tensor y: f64[64,3072]\n"
     "y[i,j] = gelu(x[i,j] + b[j])"},
    {"silu gate 64x14336",
     "tensor x: f32[64,14336]; tensor u: f32[64,14336]; tensor y: f32[64,14336]\n"
     "y[i,j] = silu(x[i,j]) * u[i,j]"},
    {"residual add 4096x4096",
     "tensor x: f32[4096,4096]; tensor r: f32[4096,4096]; tensor y: f32[4096,4096]\n"
     "y[i,j] = x[i,j] + r[i,j]"},
    {"tanh chain 64x3072",
     "tensor x: f32[64,3072]; tensor y: f32[64,3072]\n"
     "y[i,j] = tanh(x[i,j] * 0.8) * sigmoid(x[i,j])"},
    {"log-sum-exp 64x50257",
     "tensor x: f32[64,50257]; tensor y: f32[64]\n"
     "m[i] = max(j: x[i,j]); y[i] = m[i] + log(sum(j: exp(x[i,j] - m[i])))"},
    {"row sums 4096x4096", "tensor x: f32[4096,4096]; tensor y: f32[4096]\ny[i] = sum(j: x[i,j])"},
    {"row maxima 512x1024", "tensor x: f32[512,1024]; tensor y: f32[512]\ny[i] = max(j: x[i,j])"},
    {"column sums 2048x768", "tensor x: f32[2048,768]; tensor y: f32[768]\ny[j] = sum(i: x[i,j])"},
    {"squared error 4M",
     "tensor x: f32[4194304]; tensor t: f32[4194304]; tensor y: f32[]\n"
     "y = mean(i: (x[i] - t[i]) * (x[i] - t[i]))"},
};

// With one thread its own processor time, which other programs on the machine do not lengthen.
double NowNs(bool own_time) {
  timespec now;
  clock_gettime(own_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

// Memory of one case, and everything that can be timed on it.
struct Arena {
  Task task;
  std::vector<std::vector<float>> buffers;  // floats for their alignment
  std::vector<void*> pointers;
  std::vector<char> workspace;
  std::vector<char> from, to;  // of the copy

  explicit Arena(Task t) : task(std::move(t)) {
    std::mt19937 random(1);
    std::normal_distribution<double> normal;
    for (const TensorSpec& tensor : task.tensors) {
      buffers.emplace_back(tensor.span_bytes() / sizeof(float) + 16);
      for (int64_t i = 0; i < tensor.span_bytes() / SizeOf(tensor.dtype); ++i) {
        char* element = reinterpret_cast<char*>(buffers.back().data()) + i * SizeOf(tensor.dtype);
        StoreRounded(normal(random), tensor.dtype, element);
      }
      pointers.push_back(buffers.back().data());
    }
    const auto half = static_cast<size_t>(CostOf(task).bytes / 2);
    from.assign(half, 1);
    to.assign(half, 2);
  }
};

struct Copy {
  char* to;
  const char* from;
  long bytes;
};

// A plain cached-store copy of what a piece covers, in pages.
void CopyPiece(void* context, long begin, long end, int) {
  const Copy& copy = *static_cast<const Copy*>(context);
  const long from = begin * 4096, to = std::min(end * 4096, copy.bytes);
  if (from < to) std::copy(copy.from + from, copy.from + to, copy.to + from);
}

class Bench {
 public:
  explicit Bench(int threads) : own_time_(threads == 1), pool_(threads) {}

  void Run() {
    for (const Case& c : kCases) Add(c);
    for (auto& [key, build] : builds_) {
      const std::string words = build->Build(key.first, key.second);
      if (!words.empty()) std::printf("%s\n", words.c_str());
    }
    std::printf("%-24s %10s %10s %7s %10s %6s  %s\n", "formula", "plain us", "fused us", "ratio",
                "floor us", "share", "fused variant");
    double product = 1;
    for (Row& row : rows_) product *= Measure(row);
    std::printf("geometric mean of the ratios: %.2f\n",
                std::pow(product, 1.0 / static_cast<double>(rows_.size())));
  }

 private:
  struct Variant {
    VariantBatch* batch;
    int number;
    int64_t workspace_bytes;
    std::string name;
  };
  struct Row {
    std::string name;
    std::string text;
    std::vector<Variant> plain, fused;
  };

  void Add(const Case& c) {
    const auto task = ParseTask(c.text);
    if (!task.ok()) {
      std::printf("%s: %s\n", c.name, task.status().message().c_str());
      return;
    }
    Evidence evidence;
    evidence.machine.threads = pool_.threads();
    evidence.machine.has_clang = true;
    Row row{c.name, c.text, {}, {}};
    row.plain = Variants(FrameworkPolicy().Propose(*task, evidence, {}));
    row.fused = Variants(FusedPolicy().Propose(*task, evidence, {.candidates = 2}));
    if (row.plain.empty() || row.fused.empty()) {
      std::printf("%s: refused: %s\n", c.name,
                  FusedPolicy().Propose(*task, evidence, {}).refusal.c_str());
      return;
    }
    rows_.push_back(std::move(row));
  }

  std::vector<Variant> Variants(const Proposal& proposal) {
    std::vector<Variant> variants;
    for (const Candidate& candidate : proposal.candidates) {
      const bool gcc = candidate.compiler == Candidate::Compiler::kGcc;
      std::string flags = "-O3";
      for (const std::string& flag : candidate.flags) flags += " " + flag;
      auto& build = builds_[{gcc ? "g++" : "clang++", flags}];
      if (build == nullptr) build = std::make_unique<VariantBatch>();
      variants.push_back({build.get(), build->Add(candidate.source), candidate.plan.workspace_bytes,
                          candidate.name});
    }
    return variants;
  }

  double TimeOnce(const Variant& variant, Arena& arena, int repeats) {
    const hiera_host_call call{arena.pointers.data(), nullptr, arena.workspace.data(),
                               pool_.parallel()};
    const hiera_variant_fn entry = variant.batch->Entry(variant.number);
    const double begin = NowNs(own_time_);
    for (int i = 0; i < repeats; ++i) entry(&call);
    return (NowNs(own_time_) - begin) / repeats;
  }

  double TimeCopy(Arena& arena, int repeats) {
    Copy copy{arena.to.data(), arena.from.data(), static_cast<long>(arena.from.size())};
    const double begin = NowNs(own_time_);
    const long pages = (copy.bytes + 4095) / 4096;
    const int threads = pages < 16 ? 1 : pool_.threads();  // as the variants do
    for (int i = 0; i < repeats; ++i) pool_.Run(pages, CopyPiece, &copy, threads);
    return (NowNs(own_time_) - begin) / repeats;
  }

  // The variant that is fastest in a short trial.
  const Variant& Best(const std::vector<Variant>& variants, Arena& arena) {
    size_t best = 0;
    double least = 1e300;
    for (size_t v = 0; v < variants.size(); ++v) {
      TimeOnce(variants[v], arena, 1);
      for (int i = 0; i < 3; ++i) {
        const double time = TimeOnce(variants[v], arena, 1);
        if (time < least) {
          least = time;
          best = v;
        }
      }
    }
    return variants[best];
  }

  double Measure(Row& row) {
    Arena arena(*ParseTask(row.text));
    int64_t workspace = 64;
    for (const auto* list : {&row.plain, &row.fused}) {
      for (const Variant& v : *list) workspace = std::max(workspace, v.workspace_bytes);
    }
    arena.workspace.resize(workspace + 64);
    const Variant& plain = Best(row.plain, arena);
    const Variant& fused = Best(row.fused, arena);
    const int repeats = static_cast<int>(1 + 2e6 / TimeOnce(plain, arena, 1));
    std::vector<double> plain_ns, fused_ns, copy_ns, ratios;
    const double end = NowNs(own_time_) + 3e9;
    for (int sample = 0; sample < 9 && (sample < 3 || NowNs(own_time_) < end); ++sample) {
      plain_ns.push_back(TimeOnce(plain, arena, repeats));
      fused_ns.push_back(TimeOnce(fused, arena, repeats));
      copy_ns.push_back(TimeCopy(arena, repeats));
      ratios.push_back(plain_ns.back() / fused_ns.back());
    }
    const double ratio = Median(ratios), floor = Median(copy_ns), time = Median(fused_ns);
    std::printf("%-24s %10.1f %10.1f %7.2f %10.1f %6.2f  %s\n", row.name.c_str(),
                Median(plain_ns) / 1000, time / 1000, ratio, floor / 1000, floor / time,
                fused.name.c_str());
    std::fflush(stdout);
    return ratio;
  }

  const bool own_time_;
  ThreadPool pool_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<VariantBatch>> builds_;
  std::vector<Row> rows_;
};

}  // namespace
}  // namespace hiera::testing

// bench_fused [threads]: all usable cores where none are named.
int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : hiera::UsableCores();
  if (threads < 1) {
    std::fprintf(stderr, "threads: %s is not a positive number\n", argv[1]);
    return 2;
  }
  hiera::testing::Bench(threads).Run();
}
