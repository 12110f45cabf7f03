// The stencil templates, compiled by the system's compiler and compared with a plain loop in double
// precision: every border rule, one to three dimensions, several reaches, one and several steps,
// plans that divide the grid and plans that do not.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "policies/kernel/stencil.h"
#include "runtime/device/host/abi.h"
#include "runtime/task/parse.h"

#if !defined(HIERA_SOURCE_DIR) || !defined(HIERA_CANDIDATE_FLAGS)
#error "the build names the source folder, where abi.h lies, and the sanitizers in use"
#endif

namespace hiera {
namespace {

using Point = std::vector<int64_t>;

enum class Formula { kWeightedSum, kGradient, kFieldAndScalar, kLimiter, kFarField };

struct Case {
  std::string name;
  std::vector<int64_t> extents;
  DType dtype = DType::kF32;
  Outside rule = Outside::kKeep;
  std::vector<Point> points;
  Formula formula = Formula::kWeightedSum;
  int64_t steps = 1;
  int64_t pad = 0;   // gap between rows and planes of the input; twice that of the output
  StencilPlan plan;  // tile entries of 0 mean the whole extent
  Task task;         // made of all that
};

// Where Formula::kFarField reads its field: further than the state is read.
const Point kFar{2, -9};

// Weights that keep values near 1, in whole 64ths: the formula's text holds them exactly.
double Weight(const Case& c, size_t point) {
  const double weight = (1.0 + 0.125 * static_cast<double>(point % 5)) /
                        (1.25 * static_cast<double>(c.points.size()));
  return std::max(1.0, std::round(weight * 64)) / 64;
}

std::vector<int64_t> PaddedStrides(const std::vector<int64_t>& extents, int64_t pad) {
  std::vector<int64_t> strides(extents.size());
  int64_t stride = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    strides[axis] = stride;
    stride = stride * extents[axis] + pad;
  }
  return strides;
}

std::string Bracketed(const std::vector<int64_t>& values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

std::string Tensor(const Case& c, const std::string& name, int64_t pad, Outside rule) {
  std::string text = "tensor " + name + ": " + std::string(DTypeName(c.dtype)) +
                     Bracketed(c.extents) + " strides " + Bracketed(PaddedStrides(c.extents, pad));
  if (rule != Outside::kRefuse) text += " outside " + std::string(OutsideName(rule));
  return text + "\n";
}

// "name[i+1, j]".
std::string Access(const Case& c, const std::string& name, const Point& offset) {
  std::string text = name + "[";
  for (size_t axis = 0; axis < c.extents.size(); ++axis) {
    text += (axis ? ", " : "") + std::string(1, "ijk"[axis]);
    if (offset[axis] > 0) text += "+" + std::to_string(offset[axis]);
    if (offset[axis] < 0) text += std::to_string(offset[axis]);
  }
  return text + "]";
}

std::string Expression(const Case& c) {
  const std::string centre = Access(c, "u", Point(c.extents.size(), 0));
  std::string sum, squares = "0.5", low = centre, high = centre;
  for (size_t p = 0; p < c.points.size(); ++p) {
    const std::string read = Access(c, "u", c.points[p]);
    sum += (p ? " + " : "") + std::to_string(Weight(c, p)) + "*" + read;
    squares += " + (" + centre + " - " + read + ")*(" + centre + " - " + read + ")";
    low = "min(" + low + ", " + read + ")";
    high = "max(" + high + ", " + read + ")";
  }
  switch (c.formula) {
    case Formula::kGradient:
      return centre + " + rsqrt(" + squares + ")";
    case Formula::kFieldAndScalar:
      return "s*" + Access(c, "k", Point(c.extents.size(), 0)) + "*(" + sum + ") + " + centre;
    case Formula::kLimiter:
      return "select(" + centre + " < 0.5, " + high + ", " + low + "/3)";
    case Formula::kFarField:
      return sum + " + " + Access(c, "k", kFar);
    case Formula::kWeightedSum:
      break;
  }
  return sum;
}

// u is tensor 0, the output tensor 1, a field tensor 2.
Task MakeTask(const Case& c) {
  std::string text = Tensor(c, "u", c.pad, c.rule) + Tensor(c, "v", 2 * c.pad, Outside::kRefuse);
  if (c.formula == Formula::kFarField) text += Tensor(c, "k", 0, Outside::kZero);
  if (c.formula == Formula::kFieldAndScalar)
    text += Tensor(c, "k", 3, Outside::kRefuse) + "scalar s\n";
  text += Access(c, "v", Point(c.extents.size(), 0)) + " = " + Expression(c) + "\n";
  if (c.steps > 1) text += "steps " + std::to_string(c.steps) + " (u = v)\n";
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message() << "\n" << text;
  return task.ok() ? *task : Task{};
}

// The plain loop. States are dense arrays of doubles, rounded to the element type after each step.
class Oracle {
 public:
  explicit Oracle(const Case& c) : case_(c) {
    for (int64_t extent : c.extents) cells_ *= extent;
  }

  int64_t cells() const { return cells_; }
  Point IndexOf(int64_t cell) const {
    Point index(case_.extents.size());
    for (size_t axis = index.size(); axis-- > 0;) {
      index[axis] = cell % case_.extents[axis];
      cell /= case_.extents[axis];
    }
    return index;
  }

  // `kept[cell]` says which cells no step writes.
  std::vector<double> Run(std::vector<double> state, const std::vector<double>& field, double s,
                          std::vector<bool>* kept) {
    kept->assign(cells_, false);
    for (int64_t step = 0; step < case_.steps; ++step) {
      std::vector<double> next = state;
      for (int64_t cell = 0; cell < cells_; ++cell) {
        outside_ = false;
        const double value = Cell(state, field, s, cell);
        (*kept)[cell] = outside_ && case_.rule == Outside::kKeep;
        if ((*kept)[cell]) continue;
        next[cell] = case_.dtype == DType::kF32 ? static_cast<float>(value) : value;
      }
      state = next;
    }
    return state;
  }

 private:
  double Read(const std::vector<double>& state, int64_t cell, const Point& offset) {
    Point at = IndexOf(cell);
    int64_t position = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      const int64_t n = case_.extents[axis];
      int64_t i = at[axis] + offset[axis];
      if (i < 0 || i >= n) {
        outside_ = true;
        if (case_.rule == Outside::kZero) return 0;
        if (case_.rule == Outside::kWrap) i = (i % n + n) % n;
        if (case_.rule != Outside::kWrap) i = i < 0 ? 0 : n - 1;
      }
      position = position * n + i;
    }
    return state[position];
  }

  // The field where kFar leads to; zero outside, whatever the state's rule is.
  double FarField(const std::vector<double>& field, int64_t cell) const {
    Point at = IndexOf(cell);
    int64_t position = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      const int64_t i = at[axis] + kFar[axis];
      if (i < 0 || i >= case_.extents[axis]) return 0;
      position = position * case_.extents[axis] + i;
    }
    return field[position];
  }

  double Cell(const std::vector<double>& u, const std::vector<double>& field, double s,
              int64_t cell) {
    double sum = 0, squares = 0.5, low = INFINITY, high = -INFINITY;
    const double centre = u[cell];
    for (size_t p = 0; p < case_.points.size(); ++p) {
      const double x = Read(u, cell, case_.points[p]);
      sum += Weight(case_, p) * x;
      squares += (centre - x) * (centre - x);
      low = std::min(low, x);
      high = std::max(high, x);
    }
    switch (case_.formula) {
      case Formula::kGradient:
        return centre + 1 / std::sqrt(squares);
      case Formula::kFieldAndScalar:
        return s * field[cell] * sum + centre;
      case Formula::kLimiter:
        return centre < 0.5 ? high : low / 3;
      case Formula::kFarField:
        return sum + FarField(field, cell);
      case Formula::kWeightedSum:
        break;
    }
    return sum;
  }

  const Case& case_;
  int64_t cells_ = 1;
  bool outside_ = false;
};

// A tensor's memory with guard zones around it.
template <class T>
class Guarded {
 public:
  Guarded(int64_t elements, T fill) : elements_(elements), memory_(elements + 2 * kGuard, kMark) {
    std::fill(memory_.begin() + kGuard, memory_.end() - kGuard, fill);
  }
  T* data() { return memory_.data() + kGuard; }
  bool Intact() const {
    for (int64_t i = 0; i < kGuard; ++i) {
      if (memory_[i] != kMark || memory_[memory_.size() - 1 - i] != kMark) return false;
    }
    return true;
  }
  const std::vector<T>& memory() const { return memory_; }

 private:
  static constexpr int64_t kGuard = 512;
  static constexpr T kMark = T(77);
  int64_t elements_;
  std::vector<T> memory_;
};

void RunThreads(const hiera_parallel* self, long count,
                void (*body)(void* context, long begin, long end, int thread), void* context) {
  std::vector<std::thread> threads;
  const long n = self->threads;
  for (int t = 0; t < n; ++t) {
    const long begin = count * t / n, end = count * (t + 1) / n;
    if (begin < end) threads.emplace_back(body, context, begin, end, t);
  }
  for (std::thread& thread : threads) thread.join();
}

int64_t PositionOf(const TensorSpec& tensor, const Point& index) {
  int64_t position = 0;
  for (size_t axis = 0; axis < index.size(); ++axis) position += index[axis] * tensor.strides[axis];
  return position;
}

int64_t SpanOf(const TensorSpec& tensor) {
  int64_t last = 0;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    last += (tensor.extents[axis] - 1) * tensor.strides[axis];
  }
  return last + 1;
}

template <class T>
void Check(const Case& c, hiera_variant_fn variant, int64_t workspace_bytes, int threads) {
  Oracle oracle(c);
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0.1, 1.0);
  constexpr double kScalar = 0.375;
  std::vector<Guarded<T>> tensors;
  for (const TensorSpec& tensor : c.task.tensors) tensors.emplace_back(SpanOf(tensor), T(-5));
  std::vector<double> state(oracle.cells()), field(oracle.cells(), 0);
  for (int64_t cell = 0; cell < oracle.cells(); ++cell) {
    state[cell] = static_cast<T>(uniform(random));
    tensors[0].data()[PositionOf(c.task.tensors[0], oracle.IndexOf(cell))] = T(state[cell]);
    if (tensors.size() < 3) continue;
    field[cell] = static_cast<T>(uniform(random));
    tensors[2].data()[PositionOf(c.task.tensors[2], oracle.IndexOf(cell))] = T(field[cell]);
  }
  const std::vector<T> input_before = tensors[0].memory();
  // 64 bytes are aligned by hand; what lies behind the workspace is a guard.
  std::vector<unsigned char> workspace(workspace_bytes + 64 + 4096, 0xA5);
  auto* aligned = reinterpret_cast<unsigned char*>(
      (reinterpret_cast<uintptr_t>(workspace.data()) + 63) / 64 * 64);
  std::vector<void*> pointers;
  for (Guarded<T>& tensor : tensors) pointers.push_back(tensor.data());
  const hiera_parallel parallel{RunThreads, threads};
  const hiera_host_call call{pointers.data(), &kScalar, aligned, &parallel};
  variant(&call);

  std::vector<bool> kept;
  const std::vector<double> expected = oracle.Run(state, field, kScalar, &kept);
  const double bound = (std::is_same_v<T, float> ? 4e-6 : 4e-14) * static_cast<double>(c.steps);
  std::vector<T> untouched(SpanOf(c.task.tensors[1]), T(-5));
  int wrong = 0;
  for (int64_t cell = 0; cell < oracle.cells() && wrong < 3; ++cell) {
    const int64_t position = PositionOf(c.task.tensors[1], oracle.IndexOf(cell));
    const T actual = tensors[1].data()[position];
    untouched[position] = actual;
    const double want = kept[cell] ? -5 : expected[cell];
    const bool same = kept[cell] ? actual == T(-5)
                                 : std::abs(actual - want) <= bound * std::max(1.0, std::abs(want));
    if (!same) {
      ++wrong;
      ADD_FAILURE() << c.name << ": cell " << testing::PrintToString(oracle.IndexOf(cell)) << " is "
                    << actual << ", expected " << want;
    }
  }
  if (wrong > 0) return;
  EXPECT_TRUE(std::equal(untouched.begin(), untouched.end(), tensors[1].data()))
      << c.name << ": wrote between the output's rows";
  for (const Guarded<T>& tensor : tensors) EXPECT_TRUE(tensor.Intact()) << c.name;
  EXPECT_TRUE(input_before == tensors[0].memory()) << c.name << ": changed its input";
  for (int i = 0; i < 4096; ++i) {
    ASSERT_EQ(aligned[workspace_bytes + i], 0xA5) << c.name << ": wrote behind the workspace";
  }
}

// Compiles all cases into one object, and runs each with fewer threads than slots and with as many.
void CompileAndCheck(std::vector<Case> cases, const std::string& compiler,
                     const std::string& machine = "-march=native") {
  std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hiera-stencil-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string stem =
      (folder / testing::UnitTest::GetInstance()->current_test_info()->name()).string();
  std::ofstream source(stem + ".cc");
  source << "#include \"runtime/device/host/abi.h\"\n" << StencilTemplates();
  std::vector<int64_t> workspace;
  for (size_t i = 0; i < cases.size(); ++i) {
    Case& c = cases[i];
    c.task = MakeTask(c);
    Result<StencilTask> stencil = MapStencil(c.task);
    ASSERT_TRUE(stencil.ok()) << c.name << ": " << stencil.status().message();
    for (int d = 0; d < 3; ++d) {
      if (c.plan.tile[d] == 0) c.plan.tile[d] = stencil->extent[d];
    }
    workspace.push_back(StencilWorkspaceBytes(*stencil, c.plan));
    source << StencilInstance(*stencil, c.plan, "variant_" + std::to_string(i));
  }
  source.close();
  const std::string command = compiler + " -std=c++20 -O1 " + machine +
                              " -fno-math-errno -fPIC -shared "
                              "-Wall -Wextra -Werror -Wno-psabi " HIERA_CANDIDATE_FLAGS
                              " -I" HIERA_SOURCE_DIR " -o " +
                              stem + ".so " + stem + ".cc";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  void* object = dlopen((stem + ".so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(object, nullptr) << dlerror();
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto variant =
        reinterpret_cast<hiera_variant_fn>(dlsym(object, ("variant_" + std::to_string(i)).c_str()));
    ASSERT_NE(variant, nullptr) << dlerror();
    for (int threads : {1, 3}) {
      if (cases[i].dtype == DType::kF32) {
        Check<float>(cases[i], variant, workspace[i], threads);
      } else {
        Check<double>(cases[i], variant, workspace[i], threads);
      }
      if (testing::Test::HasFailure()) break;
    }
  }
  dlclose(object);
  std::filesystem::remove_all(folder);
}

std::vector<Point> Star(int rank, int64_t radius) {
  std::vector<Point> points{Point(rank, 0)};
  for (int axis = 0; axis < rank; ++axis) {
    for (int64_t d = 1; d <= radius; ++d) {
      points.push_back(Point(rank, 0));
      points.back()[axis] = d;
      points.push_back(Point(rank, 0));
      points.back()[axis] = -d;
    }
  }
  return points;
}

std::vector<Point> Box(int rank, int64_t radius) {
  std::vector<Point> points{{}};
  for (int axis = 0; axis < rank; ++axis) {
    std::vector<Point> longer;
    for (const Point& point : points) {
      for (int64_t d = -radius; d <= radius; ++d) {
        longer.push_back(point);
        longer.back().push_back(d);
      }
    }
    points = longer;
  }
  return points;
}

// Reaches further up than down, and not at all to the left.
std::vector<Point> Lopsided(int rank) {
  std::vector<Point> points{Point(rank, 0), Point(rank, 1), Point(rank, 0)};
  points[2][0] = -2;
  points.push_back(Point(rank, 0));
  points.back()[rank - 1] = 5;
  return points;
}

std::vector<int64_t> Extents(int rank, int variant) {
  const std::vector<std::vector<int64_t>> sizes{{101, 7, 13}, {1, 5, 33}, {3, 2, 4}};
  const std::vector<int64_t>& n = sizes[variant];
  if (rank == 1) return {n[0] + 1};
  if (rank == 2) return {n[1] * 3, n[2] * 2 + 1};
  return {n[1] + 4, n[1] + 2, n[2]};
}

constexpr Outside kRules[] = {Outside::kZero, Outside::kClamp, Outside::kWrap, Outside::kKeep};

// Every rule with the given points; steps and plans vary from case to case so that all meet.
void AddCases(std::vector<Case>* cases, int rank, const std::vector<Point>& points,
              const std::string& name, const std::vector<int64_t>& step_counts = {1, 2, 5}) {
  int variant = static_cast<int>(cases->size());
  for (Outside rule : kRules) {
    for (int64_t steps : step_counts) {
      ++variant;
      Case c;
      c.extents = Extents(rank, variant % 3);
      c.dtype = variant % 2 ? DType::kF32 : DType::kF64;
      c.rule = rule;
      c.points = points;
      c.steps = steps;
      c.pad = variant % 4;
      c.plan.fuse = steps == 5 ? 2 + variant % 3 : 1 + variant % 2 * (steps > 1);
      c.plan.tile = {variant % 3 ? 0 : 4, variant % 2 ? 0 : 3, variant % 5 ? 0 : 9};
      c.plan.slots = 1 + variant % 3;
      c.plan.unroll = 1 << variant % 3;
      c.plan.prefetch = variant % 2;
      for (int d = 0; d < 3 - rank; ++d) c.plan.tile[rank == 1 ? d : 1] = 0;
      c.name = name + " " + std::to_string(rank) + "-D " + std::string(OutsideName(rule)) + " " +
               testing::PrintToString(c.extents) + " steps=" + std::to_string(steps) + " " +
               PlanName(c.plan);
      cases->push_back(c);
    }
  }
}

TEST(StencilKernel, OneDimension) {
  std::vector<Case> cases;
  for (int64_t radius : {1, 2, 4}) AddCases(&cases, 1, Star(1, radius), "star", {1, 5});
  AddCases(&cases, 1, Lopsided(1), "lopsided");
  CompileAndCheck(cases, "g++");
}

TEST(StencilKernel, TwoDimensions) {
  std::vector<Case> cases;
  for (int64_t radius : {1, 3}) AddCases(&cases, 2, Star(2, radius), "star", {1, 5});
  AddCases(&cases, 2, Box(2, 2), "box", {1, 5});
  AddCases(&cases, 2, Lopsided(2), "lopsided");
  CompileAndCheck(cases, "g++");
}

TEST(StencilKernel, ThreeDimensions) {
  std::vector<Case> cases;
  for (int64_t radius : {1, 4}) AddCases(&cases, 3, Star(3, radius), "star", {1, 5});
  AddCases(&cases, 3, Box(3, 1), "box", {1, 5});
  AddCases(&cases, 3, Lopsided(3), "lopsided");
  CompileAndCheck(cases, "g++");
}

TEST(StencilKernel, FormulasBeyondSums) {
  std::vector<Case> cases;
  for (Formula formula : {Formula::kGradient, Formula::kFieldAndScalar, Formula::kLimiter}) {
    for (int rank : {1, 2, 3}) {
      const size_t first = cases.size();
      AddCases(&cases, rank, Star(rank, 1), "formula " + std::to_string(static_cast<int>(formula)),
               {rank == 2 ? 5 : 2});
      for (size_t i = first; i < cases.size(); ++i) cases[i].formula = formula;
    }
  }
  // Its select decides on reads, which the template does not cover where they may keep a cell.
  std::erase_if(cases, [](const Case& c) {
    return c.formula == Formula::kLimiter && c.rule == Outside::kKeep;
  });
  CompileAndCheck(cases, "g++");
}

TEST(StencilKernel, FieldReadFurtherThanTheState) {
  std::vector<Case> cases;
  AddCases(&cases, 2, Star(2, 1), "far field", {1, 5});
  for (Case& c : cases) c.formula = Formula::kFarField;
  // Levels of a wrapped state cannot read a field that does not wrap beyond the border.
  for (Case& c : cases) c.plan.fuse = c.rule == Outside::kWrap ? 1 : c.plan.fuse;
  CompileAndCheck(cases, "g++");
}

// Registers of 16 bytes: the tails and patches differ.
TEST(StencilKernel, NarrowRegisters) {
  std::vector<Case> cases;
  AddCases(&cases, 2, Star(2, 1), "star", {5});
  AddCases(&cases, 3, Box(3, 1), "box", {2});
  CompileAndCheck(cases, "g++", "-march=x86-64-v2");
}

TEST(StencilKernel, OtherCompiler) {
  if (std::system("clang++ --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no clang++";
  std::vector<Case> cases;
  AddCases(&cases, 2, Box(2, 1), "box");
  AddCases(&cases, 3, Star(3, 2), "star");
  CompileAndCheck(cases, "clang++");
}

}  // namespace
}  // namespace hiera
