// The library space on a GPU: every choice of cuBLASLt for several products, and every engine of
// cuDNN for several convolutions, is run, checked against the reference and timed; the best are
// timed in turns against what the library does by itself. Writes library.csv into $OUT or here.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "policies/library/cuda_library_policy.h"
#include "runtime/library/cuda/cublas_library.h"
#include "runtime/library/cuda/cuda_library.h"
#include "runtime/library/cuda/cudnn_library.h"
#include "runtime/task/constructors.h"
#include "runtime/task/cublas_call.h"
#include "runtime/task/cudnn_graph.h"
#include "tests/gpu/cudnn_legacy.h"
#include "tests/gpu/gpu_machine.h"
#include "tests/gpu/library_tasks.h"
#include "tests/gpu/library_trial.h"

namespace hiera {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kWorkspace = int64_t{256} << 20;
constexpr int kFinalists = 4;
constexpr int kPairs = 15;

double Seconds(Clock::time_point since) {
  return std::chrono::duration<double>(Clock::now() - since).count();
}

double SecondsPerTask() {
  const char* text = std::getenv("HIERA_TEST_SECONDS");
  return text == nullptr ? 3 : std::atof(text);
}

std::FILE* Table() {
  static std::FILE* file = [] {
    const char* folder = std::getenv("OUT");
    const std::string path = std::string(folder == nullptr ? "." : folder) + "/library.csv";
    std::FILE* opened = std::fopen(path.c_str(), "w");
    if (opened != nullptr) {
      std::fputs(
          "task,family,offered,run,correct,outside,failed,default_us,best_us,ratio,low,high,mode,"
          "tflops,enumerate_s,search_s,best_rank,place,first16,best_name,best_workspace,"
          "worst_error\n",
          opened);
    }
    return opened;
  }();
  return file;
}

struct Case {
  std::string name;
  Task task;
};

Task Product(DType dtype, int64_t m, int64_t n, int64_t k, int64_t batch = 1, bool ta = false,
             bool tb = false, bool bias_relu = false) {
  return ProductTask(dtype, {m, n, k, batch, ta, tb, bias_relu});
}

Task Convolution(DType dtype, bool last, std::vector<int64_t> n_c_h_w_f, int64_t kernel,
                 int64_t pad, int64_t stride, int64_t groups = 1, bool bias_relu = false) {
  hiera_conv conv = HIERA_CONV_INIT;
  conv.dtype = static_cast<uint32_t>(dtype);
  conv.spatial_rank = 2;
  conv.channels_last = last ? 1 : 0;
  conv.n = n_c_h_w_f[0];
  conv.c = n_c_h_w_f[1];
  conv.f = n_c_h_w_f[4];
  conv.groups = groups;
  for (int i = 0; i < 2; ++i) {
    conv.input[i] = n_c_h_w_f[2 + i];
    conv.kernel[i] = kernel;
    conv.pad_begin[i] = conv.pad_end[i] = pad;
    conv.stride[i] = stride;
  }
  conv.has_bias = bias_relu ? 1 : 0;
  conv.activation = bias_relu ? HIERA_ACTIVATION_RELU : HIERA_ACTIVATION_NONE;
  Result<Task> task = MakeConv(conv);
  EXPECT_TRUE(task.ok()) << task.status().message();
  task->contract.alignment = 16;
  task->contract.inputs = Inputs::kNormal;
  task->contract.special_values = false;
  return *task;
}

// Whether $HIERA_TEST_ONLY, where it is set, is part of the name.
bool Wanted(const Case& c) {
  const char* only = std::getenv("HIERA_TEST_ONLY");
  return only == nullptr || c.name.find(only) != std::string::npos;
}

Task Rounding(Task task) {
  task.contract.arithmetic = Arithmetic::kTf32;
  task.contract.error_scale *= 1 << 13;  // TF32 has so many bits less
  return task;
}

std::vector<Case> Products() {
  const DType f32 = DType::kF32, f16 = DType::kF16, bf16 = DType::kBF16, f64 = DType::kF64;
  return {
      {"f32 1024x1024x1024", Product(f32, 1024, 1024, 1024)},
      {"f32 1760x16x1760", Product(f32, 1760, 16, 1760)},
      {"f32 6144x4x2048", Product(f32, 6144, 4, 2048, 1, true)},
      {"f32 35x700x2048", Product(f32, 35, 700, 2048)},
      {"f32 64x64x100000", Product(f32, 64, 64, 100000, 1, true)},
      {"f32 257x257x257", Product(f32, 257, 257, 257)},
      {"f32 20000 of 16x16x16", Product(f32, 16, 16, 16, 20000)},
      {"f32 1024x512x1024 bias relu", Product(f32, 1024, 512, 1024, 1, true, false, true)},
      {"f16 2048x2048x2048", Product(f16, 2048, 2048, 2048)},
      {"f16 1760x128x1760", Product(f16, 1760, 128, 1760)},
      {"f16 512x24x2816", Product(f16, 512, 24, 2816, 1, true)},
      {"f16 256 of 128x128x64", Product(f16, 128, 128, 64, 256)},
      {"bf16 4096x1x4096", Product(bf16, 4096, 1, 4096, 1, true)},
      {"bf16 14336x16x4096", Product(bf16, 14336, 16, 4096, 1, true)},
      {"bf16 4096x4096x14336", Product(bf16, 4096, 4096, 14336, 1, true)},
      {"bf16 4096x512x4096 bias relu", Product(bf16, 4096, 512, 4096, 1, true, false, true)},
      {"f64 1024x1024x1024", Product(f64, 1024, 1024, 1024)},
      {"f64 2048x32x2048", Product(f64, 2048, 32, 2048)},
  };
}

std::vector<Case> Convolutions() {
  const DType f32 = DType::kF32, f16 = DType::kF16, bf16 = DType::kBF16, f64 = DType::kF64;
  return {
      {"f32 nchw 16x64x56x56 3x3 f64", Convolution(f32, false, {16, 64, 56, 56, 64}, 3, 1, 1)},
      {"f32 nchw 16x3x224x224 7x7/2 f64", Convolution(f32, false, {16, 3, 224, 224, 64}, 7, 3, 2)},
      {"tf32 nchw 16x3x224x224 7x7/2 f64",
       Rounding(Convolution(f32, false, {16, 3, 224, 224, 64}, 7, 3, 2))},
      {"f32 nchw 32x96x112x112 3x3 depthwise",
       Convolution(f32, false, {32, 96, 112, 112, 96}, 3, 1, 1, 96)},
      {"f16 nhwc 32x128x28x28 3x3 f128", Convolution(f16, true, {32, 128, 28, 28, 128}, 3, 1, 1)},
      {"f16 nhwc 32x128x28x28 3x3 f128 bias relu",
       Convolution(f16, true, {32, 128, 28, 28, 128}, 3, 1, 1, 1, true)},
      {"bf16 nhwc 32x256x14x14 3x3/2 f512",
       Convolution(bf16, true, {32, 256, 14, 14, 512}, 3, 1, 2)},
      {"f32 nchw 8x64x56x56 3x3 f64 bias relu",
       Convolution(f32, false, {8, 64, 56, 56, 64}, 3, 1, 1, 1, true)},
      {"f64 nchw 1x1x1024x1024 7x7 f1", Convolution(f64, false, {1, 1, 1024, 1024, 1}, 7, 3, 1)},
  };
}

double FlopsOf(const Task& task) {
  const auto calls = CublasCallsOf(task, CublasCall::Routine::kLt);
  if (calls.ok()) return calls->front().flops();
  const Result<CudnnGraph> graph = CudnnGraphOf(task);
  return graph.ok() ? graph->flops() : 0;
}

class LibraryGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    machine_ = GpuMachine::Get();
    if (machine_ == nullptr) GTEST_SKIP() << GpuMachine::why();
  }

  struct Survivor {
    const LibraryChoice* choice;
    std::unique_ptr<ContextExecutable> executable;
    double ns;
    double worst;
    int place;
  };

  struct Count {
    int run = 0, correct = 0, outside = 0, gross = 0, failed = 0;
    std::string first_outside, first_gross, first_failed;
    int best_place = -1;    // in the order of the policy
    double first16_ns = 0;  // the best of the first 16 by screening
  };

  // In the order of the policy, as many as the time allows.
  std::vector<Survivor> RunAll(const Case& c, const LibraryOffer& offer, LibraryTrial& trial,
                               Count* count) {
    MachineFacts facts;
    facts.threads = machine_->multiprocessors();
    const std::vector<OrderedChoice> order = OrderOffer(c.task, facts, 0, offer);
    EXPECT_EQ(order.size(), offer.choices.size());
    std::vector<Survivor> survivors;
    const auto start = Clock::now();
    for (const OrderedChoice& ordered : order) {
      const LibraryChoice& choice = *ordered.choice;
      if (choice.rank < 0 && Seconds(start) > SecondsPerTask()) break;
      const int place = count->run++;
      auto executable = LoadCudaLibraryPlan(c.task, choice.plan);
      const std::string wrong =
          executable.ok() ? trial.Check(**executable) : executable.status().message();
      if (!wrong.empty()) {
        const bool refused = !executable.ok() || wrong.rfind("does not run", 0) == 0;
        const bool gross = !refused && trial.gross();
        ++(refused ? count->failed : gross ? count->gross : count->outside);
        std::string& first = refused ? count->first_failed
                             : gross ? count->first_gross
                                     : count->first_outside;
        if (first.empty()) first = choice.plan.text + ": " + wrong;
        continue;
      }
      ++count->correct;
      const double worst = trial.worst();
      double ns = trial.Screen(**executable);
      ns = std::min(ns, trial.Screen(**executable));
      if (ns <= 0) continue;
      if (place < 16 && (count->first16_ns == 0 || ns < count->first16_ns)) count->first16_ns = ns;
      survivors.push_back({&choice, *std::move(executable), ns, worst, place});
      std::sort(survivors.begin(), survivors.end(),
                [](const Survivor& a, const Survivor& b) { return a.ns < b.ns; });
      if (survivors.size() > kFinalists) survivors.pop_back();
    }
    return survivors;
  }

  void Try(const Case& c) {
    const auto plans = CudaLibraryPlans(c.task);
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    auto baseline = LoadCudaLibraryPlan(c.task, plans->front());
    ASSERT_TRUE(baseline.ok()) << baseline.status().message();
    LibraryTrial trial(*machine_, c.task, Distribution::kNormal);
    EXPECT_EQ(trial.Check(**baseline), "") << plans->front().text;
    // What a program would write: for convolutions without an ending the older functions.
    std::unique_ptr<Executable> rival;
    if (const Result<CudnnGraph> graph = CudnnGraphOf(c.task); graph.ok()) {
      auto forward = MakeCudnnConvolutionForward(*machine_, *graph);
      if (forward.ok()) rival = *std::move(forward);
    }
    if (rival != nullptr) {
      const Comparison first = trial.Compare(*rival, **baseline, kPairs);
      std::printf("  cudnnConvolutionForward %.2f us, first of the backend's ranking %.2f us\n",
                  first.first_ns * 1e-3, first.second_ns * 1e-3);
    }
    const auto start = Clock::now();
    const std::vector<LibraryOffer> offers = EnumerateCudaLibraries(c.task, kWorkspace);
    const double enumerate_s = Seconds(start);
    for (const LibraryOffer& offer : offers) {
      if (offer.family == "cublas" || offer.choices.empty()) continue;
      ASSERT_FALSE(offer.requirements.empty());
      const auto began = Clock::now();
      Count count;
      std::vector<Survivor> survivors = RunAll(c, offer, trial, &count);
      EXPECT_EQ(count.gross, 0) << c.name << ": " << count.first_gross;
      if (count.failed > 0) {
        std::printf("  refused at run time %d, first %s\n", count.failed,
                    count.first_failed.c_str());
      }
      if (count.outside > 0) {
        std::printf("  outside the contract %d, first %s\n", count.outside,
                    count.first_outside.c_str());
      }
      ASSERT_FALSE(survivors.empty()) << c.name;
      Report(c, offer, trial, rival != nullptr ? *rival : **baseline, survivors, count, enumerate_s,
             Seconds(began));
    }
  }

  void Report(const Case& c, const LibraryOffer& offer, LibraryTrial& trial,
              const Executable& baseline, const std::vector<Survivor>& survivors,
              const Count& count, double enumerate_s, double search_s) {
    const Survivor* best = nullptr;
    Comparison won;
    for (const Survivor& survivor : survivors) {
      const Comparison comparison = trial.Compare(baseline, *survivor.executable, kPairs);
      if (best == nullptr || comparison.ratio > won.ratio) {
        best = &survivor;
        won = comparison;
      }
    }
    const double tflops = FlopsOf(c.task) / won.second_ns * 1e-3;
    std::printf(
        "%-42s %-8s offered %5zu run %5d ok %5d | %8.2f us -> %8.2f us  x%.3f (%.3f..%.3f)"
        " %s %6.1f TF | rank %d, place %d, 16 first %.2f, %s\n",
        c.name.c_str(), offer.family.c_str(), offer.choices.size(), count.run, count.correct,
        won.first_ns * 1e-3, won.second_ns * 1e-3, won.ratio, won.low, won.high,
        won.graph ? "graph" : "stream", tflops, best->choice->rank, best->place,
        count.first16_ns / survivors.front().ns, best->choice->name.c_str());
    std::fflush(stdout);
    if (Table() == nullptr) return;
    std::fprintf(Table(),
                 "%s,%s,%zu,%d,%d,%d,%d,%.3f,%.3f,%.4f,%.4f,%.4f,%s,%.2f,%.3f,%.2f,%d,%d,"
                 "%.3f,%s,%lld,%.3g\n",
                 c.name.c_str(), offer.family.c_str(), offer.choices.size(), count.run,
                 count.correct, count.outside, count.failed, won.first_ns * 1e-3,
                 won.second_ns * 1e-3, won.ratio, won.low, won.high, won.graph ? "graph" : "stream",
                 tflops, enumerate_s, search_s, best->choice->rank, best->place,
                 count.first16_ns / survivors.front().ns, best->choice->name.c_str(),
                 static_cast<long long>(best->choice->plan.workspace_bytes), best->worst);
    std::fflush(Table());
  }

  GpuMachine* machine_ = nullptr;
};

TEST_F(LibraryGpuTest, LibrariesOfThisProcess) {
  std::printf("%s, %d multiprocessors\n", machine_->name().c_str(), machine_->multiprocessors());
  const auto lt = CublasLtLibrary::Open();
  ASSERT_TRUE(lt.ok()) << lt.status().message();
  std::printf("cuBLASLt %zu at %s, %s\n", (*lt)->version, (*lt)->path.c_str(),
              (*lt)->requirement.identity.c_str());
  const auto blas = CublasLibrary::Open();
  ASSERT_TRUE(blas.ok()) << blas.status().message();
  std::printf("cuBLAS at %s, %s\n", (*blas)->path.c_str(), (*blas)->requirement.identity.c_str());
  EXPECT_TRUE(CheckCudaRequirement((*blas)->requirement).ok());
  EXPECT_TRUE(CheckCudaRequirement((*lt)->requirement).ok());
  const auto dnn = CudnnLibrary::Open();
  ASSERT_TRUE(dnn.ok()) << dnn.status().message();
  std::printf("cuDNN %zu at %s, %s\n", (*dnn)->version, (*dnn)->path.c_str(),
              (*dnn)->requirement.identity.c_str());
  EXPECT_TRUE(CheckCudaRequirement((*dnn)->requirement).ok());
}

TEST_F(LibraryGpuTest, Products) {
  for (const Case& c : Products()) {
    if (Wanted(c)) Try(c);
  }
}

TEST_F(LibraryGpuTest, Convolutions) {
  for (const Case& c : Convolutions()) {
    if (Wanted(c)) Try(c);
  }
}

// NaN and infinities among the inputs.
TEST_F(LibraryGpuTest, SpecialValues) {
  struct Kind {
    const char* name;
    Task task;
  };
  const Kind kinds[] = {
      {"f32 product", Product(DType::kF32, 64, 48, 96)},
      {"f32 product bias relu", Product(DType::kF32, 64, 48, 96, 1, true, false, true)},
      {"bf16 product bias relu", Product(DType::kBF16, 64, 48, 96, 1, true, false, true)},
      {"f32 convolution bias relu",
       Convolution(DType::kF32, false, {2, 16, 14, 14, 16}, 3, 1, 1, 1, true)},
      {"f16 convolution bias relu",
       Convolution(DType::kF16, true, {2, 16, 14, 14, 16}, 3, 1, 1, 1, true)},
  };
  for (const Kind& kind : kinds) {
    Task task = kind.task;
    task.contract.special_values = true;
    LibraryTrial trial(*machine_, task, Distribution::kSpecial);
    int kept = 0, lost = 0;
    std::string first;
    for (const LibraryOffer& offer : EnumerateCudaLibraries(task, kWorkspace)) {
      for (const LibraryChoice& choice : offer.choices) {
        if (choice.rank < 0) continue;
        auto executable = LoadCudaLibraryPlan(task, choice.plan);
        if (!executable.ok()) continue;
        const std::string wrong = trial.Check(**executable);
        ++(wrong.empty() ? kept : lost);
        if (!wrong.empty() && first.empty()) first = choice.name + ": " + wrong;
      }
    }
    const bool product = std::string(kind.name).find("product") != std::string::npos;
    if (product) {
      EXPECT_EQ(lost, 0) << first;
    }
    EXPECT_GT(kept, 0) << kind.name;  // some engines of cuDNN drop NaN in their relu
    std::printf("%-28s special values kept by %d ranked choices, lost by %d %s\n", kind.name, kept,
                lost, first.c_str());
  }
}

// A captured run replays with new contents of the same buffers.
TEST_F(LibraryGpuTest, WhatNeedsNoWorkspaceIsCaptured) {
  const Task task = Product(DType::kF32, 64, 48, 32);
  LibraryTrial trial(*machine_, task, Distribution::kNormal);
  auto baseline = LoadCudaLibraryPlan(task, CudaLibraryPlans(task)->front());
  ASSERT_TRUE(baseline.ok());
  int captured = 0;
  for (const LibraryOffer& offer : EnumerateCudaLibraries(task, kWorkspace)) {
    for (const LibraryChoice& choice : offer.choices) {
      if (choice.rank < 0 || choice.plan.workspace_bytes > 0) continue;
      auto executable = LoadCudaLibraryPlan(task, choice.plan);
      ASSERT_TRUE(executable.ok()) << executable.status().message();
      void* graph = machine_->Capture(trial.stream(), [&] { return trial.Run(**executable, 0); });
      ASSERT_NE(graph, nullptr) << choice.plan.text << ": " << machine_->last_error();
      for (int i = 0; i < 1000; ++i) ASSERT_TRUE(machine_->Launch(graph, trial.stream()));
      ASSERT_TRUE(machine_->Synchronise(trial.stream()));
      machine_->Destroy(graph);
      ++captured;
    }
  }
  EXPECT_GE(captured, 2);
}

// Host time of one call: what the caller pays.
TEST_F(LibraryGpuTest, HostTimeOfACall) {
  const Task task = Product(DType::kF32, 64, 64, 64);
  LibraryTrial trial(*machine_, task, Distribution::kNormal);
  const auto time = [&](const Executable& executable) {
    double best = 1e300;
    for (int round = 0; round < 9; ++round) {
      const auto start = Clock::now();
      for (int i = 0; i < 200; ++i) EXPECT_TRUE(trial.Run(executable, 0));
      best = std::min(best, Seconds(start) * 1e9 / 200);
      EXPECT_TRUE(machine_->Synchronise(trial.stream()));
    }
    return best;
  };
  for (const LibraryOffer& offer : EnumerateCudaLibraries(task, kWorkspace)) {
    if (offer.choices.empty()) continue;
    const LibraryChoice& choice = offer.choices.front();
    auto executable = LoadCudaLibraryPlan(task, choice.plan);
    ASSERT_TRUE(executable.ok());
    std::printf("host time of a 64x64x64 f32 call by %s: %.0f ns (workspace %lld)\n",
                offer.family.c_str(), time(**executable),
                static_cast<long long>(choice.plan.workspace_bytes));
  }
}

}  // namespace
}  // namespace hiera
