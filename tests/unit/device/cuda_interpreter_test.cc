// The CUDA interpreter's own kernels, run on the CPU, against the reference: every kind of
// operator, layout and rule.
#include <gtest/gtest.h>

#include "tests/cuda_shim/cuda_shim.h"
// After the shim, which says what the keywords of CUDA mean here.
#include "runtime/device/cuda/interpreter/interpreter.cu"
#include "runtime/device/cuda/interpreter/schedule.h"
#include "runtime/device/device.h"
#include "runtime/task/parse.h"
#include "tests/unit/device/interpreted_formulas.h"

namespace hiera {
namespace {

using cuda_shim::LaunchOnCpu;

class CpuQueue final : public cuda::Schedule::Queue {
 public:
  CpuQueue(bool is_f64, const double* scalars) : is_f64_(is_f64), scalars_(scalars) {}

  bool Put(const cuda::StageLaunch& stage, char* const* bases) noexcept override {
    const dim3 grid{stage.shape().blocks, 1, 1}, block{stage.shape().threads, 1, 1};
    const size_t shared = stage.shape().shared_bytes;
    if (stage.is_scan()) {
      const cuda::ScanLaunch scan = stage.FillScan(bases);
      const auto storage = stage.scan_storage();
      const auto kernel = storage == interpreter::Storage::kF32   ? hiera_scan_f32
                          : storage == interpreter::Storage::kF64 ? hiera_scan_f64
                                                                  : hiera_scan_i64;
      LaunchOnCpu(grid, block, shared, [&] { kernel(scan); });
      return true;
    }
    cuda::Launch launch;
    stage.Fill(bases, scalars_, &launch);
    launch.far_code = stage.far_code().empty() ? nullptr : stage.far_code().data();
    const auto kernel = stage.far_code().empty()
                            ? (is_f64_ ? hiera_interpret_f64 : hiera_interpret_f32)
                            : (is_f64_ ? hiera_interpret_far_f64 : hiera_interpret_far_f32);
    LaunchOnCpu(grid, block, shared, [&] { kernel(launch); });
    return true;
  }

 private:
  const bool is_f64_;
  const double* scalars_;
};

class OnCpu final : public Executable {
 public:
  explicit OnCpu(cuda::Schedule schedule) : schedule_(std::move(schedule)) {}

  hiera_status Run(const Call& call) const noexcept override {
    std::vector<char> memory(schedule_.memory_bytes() + 1, '\xff');  // NaN, and no valid index
    CpuQueue queue(schedule_.is_f64(), call.scalars);
    return schedule_.Run(call.pointers, memory.data(), queue) ? HIERA_OK : HIERA_INTERNAL;
  }

 private:
  const cuda::Schedule schedule_;
};

// As for a device of one multiprocessor, so that all sizes of teams are met and blocks take several
// points in turn.
Result<std::unique_ptr<Executable>> MakeOnCpu(const Task& task) {
  Result<cuda::Schedule> schedule = cuda::Schedule::Make(task, {1, 64});
  if (!schedule.ok()) return schedule.status();
  return std::unique_ptr<Executable>(std::make_unique<OnCpu>(*std::move(schedule)));
}

void Check(const std::string& text, InterpretedCase::Fill fill) {
  const Result<Task> task = ParseTask(text);
  ASSERT_TRUE(task.ok()) << text << "\n" << task.status().message();
  EXPECT_EQ(InterpretedCase(*task, 17, fill).Check(MakeOnCpu), "") << text;
}

class CudaInterpreterTest : public testing::TestWithParam<FormulaGroup> {};

TEST_P(CudaInterpreterTest, AgreesWithTheReference) {
  int formulas = 0;
  GetParam().visit(FormulaVisit([&](const std::string& text, InterpretedCase::Fill fill) {
    Check(text, fill);
    ++formulas;
  }));
  EXPECT_GT(formulas, 2);
}

INSTANTIATE_TEST_SUITE_P(Groups, CudaInterpreterTest, testing::ValuesIn(FormulaGroups()),
                         [](const auto& group) { return std::string(group.param.name); });

// A loop whose body needs so many values that do not change in it.
std::string ManyValues(int count) {
  std::string body;
  for (int k = 1; k <= count; ++k) {
    body += (k == 1 ? "" : " + ") + std::string("max(w[k], sin(x[i]/") + std::to_string(k) + "))";
  }
  return "tensor x: f64[40]\ntensor w: f64[5]\ntensor y: f64[40]\ny[i] = sum(k: " + body + ")";
}

TEST(CudaInterpreterTest, LongFormulasRunFromMemory) {
  const std::string text = ManyValues(100);
  const Result<Task> task = ParseTask(text);
  ASSERT_TRUE(task.ok()) << task.status().message();
  Result<cuda::Schedule> schedule = cuda::Schedule::Make(*task, {});
  ASSERT_TRUE(schedule.ok()) << schedule.status().message();
  bool far = false;
  schedule->ForEachStage([&](cuda::StageLaunch& stage) { far |= !stage.far_code().empty(); });
  EXPECT_TRUE(far);
  Check(text, InterpretedCase::Fill::kNormal);
}

// 100 values kept at once are more than 800 bytes a thread; 400 are more than a thread can have, so
// that none is kept.
TEST(CudaInterpreterTest, ValuesThatDoNotFitAreComputedAgain) {
  const auto thread_bytes = [](int count) {
    Result<cuda::Schedule> schedule = cuda::Schedule::Make(*ParseTask(ManyValues(count)), {});
    EXPECT_TRUE(schedule.ok()) << schedule.status().message();
    uint32_t bytes = 0;
    schedule->ForEachStage([&](cuda::StageLaunch& stage) {
      bytes = stage.shape().shared_bytes / stage.shape().threads;
    });
    return bytes;
  };
  EXPECT_GT(thread_bytes(100), 800u);
  EXPECT_LT(thread_bytes(400), 100u);
  Check(ManyValues(400), InterpretedCase::Fill::kNormal);
}

// An offset that takes more than 31 bits makes every long of its program two words.
TEST(CudaInterpreterTest, LongOffsetsAreHonoured) {
  for (const char* rule : {"zero", "wrap", "clamp", "keep"}) {
    Check(std::string("tensor x: f32[9,40] outside ") + rule +
              "\ntensor y: f32[9]\ny[i] = sum(k: x[i,k]) + sum(k<40: x[i,k+2147483648])",
          InterpretedCase::Fill::kNormal);
  }
}

TEST(CudaInterpreterTest, ReductionsAreDealtOut) {
  const auto shapes = [](const std::string& text, int multiprocessors) {
    Result<cuda::Schedule> schedule = cuda::Schedule::Make(*ParseTask(text), {multiprocessors});
    std::vector<cuda::Shape> all;
    schedule->ForEachStage([&](cuda::StageLaunch& stage) { all.push_back(stage.shape()); });
    return all;
  };
  // A sum of many to one is made in two stages, the first over more blocks than there are
  // multiprocessors.
  const auto total = shapes("tensor x: f32[1048576]\ntensor y: f32[]\ny = sum(i: x[i])", 100);
  ASSERT_EQ(total.size(), 2u);
  EXPECT_GE(total[0].blocks, 100u);
  // Rows: a warp for each of 4,096.
  const auto rows =
      shapes("tensor x: f32[4096,4096]\ntensor y: f32[4096]\ny[i] = sum(j: x[i,j])", 100);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].blocks * rows[0].threads, 4096u * 32);
  // In the order as written there is nothing to deal out.
  const auto exact = shapes(
      "contract arithmetic=exact\ntensor x: f32[4096,4096]\ntensor y: f32[4096]\n"
      "y[i] = sum(j: x[i,j])",
      100);
  ASSERT_EQ(exact.size(), 1u);
  EXPECT_EQ(exact[0].blocks * exact[0].threads, 4096u);
}

TEST(CudaInterpreterTest, ABlockMakesOneValueOfALongRow) {
  for (const char* f : {"sum", "max", "min", "mean", "argmax", "argmin"}) {
    const bool index = std::string(f).starts_with("arg");
    Check(std::string("tensor x: f32[3,9001]\ntensor y: ") + (index ? "i32" : "f32") +
              "[3]\ny[i] = " + f + "(j: x[i,j])",
          InterpretedCase::Fill::kNormal);
    Check(std::string("tensor x: f64[2,9001]\ntensor y: ") + (index ? "i32" : "f64") +
              "[2]\ny[i] = " + f + "(j: x[i,j])",
          InterpretedCase::Fill::kSpecial);
  }
  Check("tensor x: f32[7,11,103] outside keep\ntensor y: f32[2]\ny[q] = sum(a,b,c<103: x[a,b,c+q])",
        InterpretedCase::Fill::kNormal);
  Check("tensor n: i32[2,5000]\ntensor y: i32[2]\ny[i] = argmin(j: n[i,j]) + max(j: n[i,j]*j)",
        InterpretedCase::Fill::kNormal);
}

}  // namespace
}  // namespace hiera
