// The GEMM templates against plain loops: odd shapes, layouts, scalars, batches, epilogues and
// tunings, on guarded buffers.
#include <gtest/gtest.h>

#include <future>
#include <random>
#include <string>
#include <vector>

#include "policies/kernel/gemm/problem.h"
#include "policies/kernel/gemm/search.h"
#include "policies/kernel/gemm/source.h"
#include "policies/kernel/gemm/tuning.h"
#include "tests/unit/policies/compiled_source.h"
#include "tests/unit/policies/gemm_case.h"

namespace hiera {
namespace {

constexpr int kPerFile = 24;  // instantiations that share one compilation

// Bytes of the widest vector that this machine's compilers may be asked for.
int WidestVector() {
  if (__builtin_cpu_supports("avx512f")) return 64;
  return __builtin_cpu_supports("avx2") ? 32 : 16;
}

struct Instance {
  GemmCase product;
  gemm::Problem problem;
  gemm::Tuning tuning;
};

// Builds all of them, two compilers at a time, and checks each.
void CheckAll(const std::vector<Instance>& instances, const std::string& compiler) {
  const size_t files = (instances.size() + kPerFile - 1) / kPerFile;
  std::vector<std::string> sources(files, gemm::TemplateSource(true));
  for (size_t i = 0; i < instances.size(); ++i) {
    const std::string number = std::to_string(i);
    sources[i / kPerFile] += gemm::InstantiationSource(instances[i].problem, instances[i].tuning,
                                                       "Plan" + number, "variant" + number);
  }
  std::vector<std::unique_ptr<CompiledSource>> built(files);
  const auto build_every_second = [&](size_t first) {
    for (size_t file = first; file < files; file += 2) {
      built[file] = std::make_unique<CompiledSource>(compiler, sources[file], "-O1");
    }
  };
  auto other = std::async(std::launch::async, build_every_second, 1);
  build_every_second(0);
  other.get();
  for (size_t i = 0; i < instances.size(); ++i) {
    const CompiledSource& source = *built[i / kPerFile];
    ASSERT_EQ(source.error(), "");
    const hiera_variant_fn kernel = source.Find("variant" + std::to_string(i));
    ASSERT_NE(kernel, nullptr);
    const Instance& instance = instances[i];
    EXPECT_EQ(
        instance.product.Check(kernel, gemm::WorkspaceBytes(instance.problem, instance.tuning)), "")
        << instance.product.Text() << "\nwith " << instance.tuning.Name();
  }
}

class Draw {
 public:
  explicit Draw(uint32_t seed) : random_(seed) {}

  template <typename T>
  T Of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }

  GemmCase Product() {
    const auto extent = [this] { return Of<int64_t>({1, 2, 3, 7, 8, 9, 16, 17, 31, 33}); };
    GemmCase made = GemmCase::Make(Of({DType::kF32, DType::kF64}), extent(), extent(), extent(),
                                   Of({false, true}), Of({false, true}), Of({false, true}),
                                   Of<int64_t>({0, 0, 1, 3}));
    GemmView& v = made.view;
    v.alpha = Of<GemmView::Factor>({{1, -1}, {0, 0}, {-2.5, -1}});
    v.beta = Of<GemmView::Factor>({{0, -1}, {1, -1}, {0, 1}});
    if (Of({0, 1, 2}) == 0) {
      v.bias = 3;
      v.bias_m = Of<int64_t>({0, 1, 2});
      v.bias_n = v.bias_m == 0 ? Of<int64_t>({1, 2}) : 0;
    }
    if (Of({0, 1}) == 0) {
      v.activation = {Of({Op::kRelu, Op::kGelu, Op::kSilu, Op::kTanh, Op::kSigmoid, Op::kErf})};
    }
    AddBatch(&v);
    return made;
  }

  gemm::Tuning Tuning(const gemm::Problem& p) {
    gemm::Tuning t;
    t.inner = Of({false, false, true});
    t.rows = Of({1, 2, 3, 4, 6});
    t.vecs = Of({1, 2, 3});
    const int widest = WidestVector() / static_cast<int>(p.element_bytes());
    t.width = Of({widest, widest / 2, 2, 4});
    t.unroll = Of({1, 2, 4});
    t.masked = Of({false, true});
    t.mc = Of<int64_t>({0, 0, 4, 12});
    t.nc = Of<int64_t>({0, 0, 8, 20});
    t.kc = Of<int64_t>({0, 0, 3, 8, 16});
    t.split = Of({1, 1, 1, 2, 3});
    t.lanes = Of({1, 2, 4});
    t.rows_first = Of({false, true});
    t.pack_a = Of({false, true}) || (t.inner && p.a_col != 1);
    t.pack_b = Of({false, true}) || (t.inner ? p.b_row : p.b_col) != 1;
    t.compiler = Of({Candidate::Compiler::kGcc, Candidate::Compiler::kClang});
    return t;
  }

 private:
  // Up to two axes; A or B may be shared, and C may interleave its matrices.
  void AddBatch(GemmView* v) {
    const int axes = Of({0, 0, 1, 2});
    int64_t a = v->m * v->k * 2 + 70, b = v->k * v->n * 2 + 70, c = (v->m + 3) * (v->n + 3);
    int64_t bias = v->bias < 0 ? 0 : 2 * (v->m + v->n);
    if (Of({0, 1, 2}) == 0) b = 0;
    if (Of({0, 1, 2}) == 0) bias = 0;
    for (int axis = 0; axis < axes; ++axis) {
      const int64_t extent = Of<int64_t>({1, 2, 3});
      v->batch.insert(v->batch.begin(), {extent, a, b, c, bias});
      a = Of({0, 1}) == 0 ? 0 : a * extent;
      b *= extent;
      c *= extent + Of({0, 1});
      bias *= extent;
    }
  }

  std::mt19937 random_;
};

std::vector<Instance> RandomInstances(uint32_t seed, int count) {
  Draw draw(seed);
  std::vector<Instance> instances;
  while (static_cast<int>(instances.size()) < count) {
    Instance instance;
    instance.product = draw.Product();
    gemm::Problem problem = *gemm::ProblemOf(instance.product.view, instance.product.dtype);
    problem.workspace_limit = 1 << 30;
    instance.problem = problem;
    instance.tuning = draw.Tuning(problem);
    if (gemm::WhyNot(problem, instance.tuning).empty()) instances.push_back(instance);
  }
  return instances;
}

TEST(GemmKernelsTest, AnyTuningOfAnyProductWithGcc) {
  if (!CompiledSource::HasCompiler("g++")) GTEST_SKIP() << "no g++ here";
  CheckAll(RandomInstances(1, 4 * kPerFile), "g++");
}

TEST(GemmKernelsTest, AnyTuningOfAnyProductWithClang) {
  if (!CompiledSource::HasCompiler("clang++")) GTEST_SKIP() << "no clang++ here";
  CheckAll(RandomInstances(2, 2 * kPerFile), "clang++");
}

// What the policy proposes first, on machines with each vector width that this one can run.
TEST(GemmKernelsTest, ProposedTuningsAreRight) {
  if (!CompiledSource::HasCompiler("g++")) GTEST_SKIP() << "no g++ here";
  std::vector<Instance> instances;
  const auto add = [&](GemmCase product, int vector_bytes, int threads) {
    gemm::Problem problem = *gemm::ProblemOf(product.view, product.dtype);
    problem.workspace_limit = 1 << 30;
    MachineFacts machine;
    machine.vector_bytes = vector_bytes;
    machine.threads = threads;
    for (const gemm::Ranked& ranked : gemm::FirstTunings(problem, machine, 4)) {
      instances.push_back({product, problem, ranked.tuning});
    }
  };
  for (int vector_bytes = 16; vector_bytes <= WidestVector(); vector_bytes *= 2) {
    for (DType dtype : {DType::kF32, DType::kF64}) {
      add(GemmCase::Make(dtype, 8, 8, 8, false, false, false, 0), vector_bytes, 1);
      add(GemmCase::Make(dtype, 23, 23, 23, true, true, false, 0), vector_bytes, 1);
      add(GemmCase::Make(dtype, 1, 65, 130, false, false, true, 0), vector_bytes, 2);
      add(GemmCase::Make(dtype, 300, 5, 260, true, true, true, 1), vector_bytes, 2);
    }
  }
  CheckAll(instances, "g++");
}

// An infinite or NaN element reaches exactly the results that depend on it.
TEST(GemmKernelsTest, NaNAndInfinityPropagate) {
  if (!CompiledSource::HasCompiler("g++")) GTEST_SKIP() << "no g++ here";
  const GemmCase product = GemmCase::Make(DType::kF32, 5, 11, 9, false, false, false, 0);
  gemm::Problem problem = *gemm::ProblemOf(product.view, product.dtype);
  problem.workspace_limit = 1 << 20;
  gemm::Tuning tuning;
  const CompiledSource source("g++", gemm::CandidateSource(problem, tuning));
  ASSERT_EQ(source.error(), "");
  std::vector<float> a(5 * 9, 0), b(9 * 11, 1), c(5 * 11, 3);
  a[2 * 9 + 4] = std::numeric_limits<float>::infinity();    // row 2
  b[3 * 11 + 7] = std::numeric_limits<float>::quiet_NaN();  // column 7, though A is 0 there
  void* tensors[] = {a.data(), b.data(), c.data()};
  const hiera_host_call call = {tensors, nullptr, nullptr, nullptr};
  source.Find("hiera_variant")(&call);
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 11; ++j) {
      const float x = c[i * 11 + j];
      if (j == 7) {
        EXPECT_TRUE(std::isnan(x)) << i;
      } else {
        EXPECT_EQ(x, i == 2 ? std::numeric_limits<float>::infinity() : 0.0f) << i << "," << j;
      }
    }
  }
}

}  // namespace
}  // namespace hiera
