// Matrix products through the CBLAS library: layouts, transposes, scalars, batches, endings and
// zero sizes, against values worked out by hand or taken from closed forms.
#include "runtime/library/library.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/library/blas_library.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

Task Parsed(const std::string& text) {
  Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << task.status().message();
  return *task;
}

class LibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    const Result<const BlasLibrary*> library = BlasLibrary::Open();
    if (!library.ok()) GTEST_SKIP() << library.status().message();
  }

  // Runs every call that computes the task, each on a fresh copy of the output, which is tensor 2.
  template <typename T>
  static void ExpectAll(const std::string& text, std::vector<T> a, std::vector<T> b,
                        const std::vector<T>& c, const std::vector<T>& expected,
                        std::vector<double> scalars = {}, std::vector<T> bias = {}) {
    const Task task = Parsed(text);
    const Result<std::vector<LaunchPlan>> plans = LibraryPlans(task);
    ASSERT_TRUE(plans.ok()) << plans.status().message();
    for (const LaunchPlan& plan : *plans) {
      const Result<std::unique_ptr<Executable>> run = LoadLibraryPlan(task, plan);
      ASSERT_TRUE(run.ok()) << run.status().message();
      std::vector<T> out = c;
      void* pointers[] = {a.data(), b.data(), out.data(), bias.data()};
      ASSERT_EQ((*run)->Run({pointers, scalars.data(), nullptr}), HIERA_OK);
      ASSERT_EQ(out.size(), expected.size());
      for (size_t i = 0; i < out.size(); ++i) {
        EXPECT_NEAR(out[i], expected[i], 1e-6 * std::max<double>(1, std::fabs(expected[i])))
            << plan.text << ", element " << i;
      }
    }
  }

  static constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
};

// [1 2; 3 4; 5 6] [7 8 9; 10 11 12] = [27 30 33; 61 68 75; 95 106 117]
TEST_F(LibraryTest, RowMajorDoesNotReadCWhereBetaIsZero) {
  ExpectAll<float>(
      "tensor A: f32[3,2]; tensor B: f32[2,3]; tensor C: f32[3,3]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])",
      {1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}, Floats(9, kNaN),
      {27, 30, 33, 61, 68, 75, 95, 106, 117});
}

TEST_F(LibraryTest, ColumnMajorWithLeadingDimensions) {
  // The same product, stored by columns; columns of C are 4 apart and its gap keeps its marks.
  ExpectAll<double>(
      "tensor A: f64[3,2] strides [1,3]; tensor B: f64[2,3] strides [1,2]\n"
      "tensor C: f64[3,3] strides [1,4]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])",
      {1, 3, 5, 2, 4, 6}, {7, 10, 8, 11, 9, 12}, Doubles(11, -1),
      {27, 61, 95, -1, 30, 68, 106, -1, 33, 75, 117});
}

TEST_F(LibraryTest, BothOperandsTransposed) {
  ExpectAll<float>(
      "tensor A: f32[2,3]; tensor B: f32[3,2]; tensor C: f32[3,3]\n"
      "C[i,j] = sum(k: A[k,i]*B[j,k])",
      {1, 3, 5, 2, 4, 6}, {7, 10, 8, 11, 9, 12}, Floats(9, 0),
      {27, 30, 33, 61, 68, 75, 95, 106, 117});
}

TEST_F(LibraryTest, ScalarsComeFromTheRun) {
  ExpectAll<double>(
      "tensor A: f64[2,2]; tensor B: f64[2,2]; tensor C: f64[2,2]; scalar alpha; scalar beta\n"
      "C[i,j] = alpha*sum(k: A[i,k]*B[k,j]) + beta*C[i,j]",
      {1, 2, 3, 4}, {1, 0, 0, 1}, {10, 20, 30, 40}, {-3, -6, -9, -12}, {2, -0.5});
}

TEST_F(LibraryTest, ScalarsOfClassOneAndZero) {
  ExpectAll<double>(
      "tensor A: f64[1,2]; tensor B: f64[2,2]; tensor C: f64[1,2]; scalar alpha; scalar beta = 1\n"
      "C[i,j] = alpha*sum(k: A[i,k]*B[k,j]) + beta*C[i,j]",
      {1, 2}, {1, 10, 100, 1000}, {5, 6}, {5 + 3 * 201., 6 + 3 * 2010.}, {3, 1});
}

TEST_F(LibraryTest, ABatchWithOneSharedOperand) {
  // Matrix b of A is (b+1) times the identity.
  ExpectAll<float>(
      "tensor A: f32[3,2,2]; tensor B: f32[2,2]; tensor C: f32[3,2,2]\n"
      "C[b,i,j] = sum(k: A[b,i,k]*B[k,j])",
      {1, 0, 0, 1, 2, 0, 0, 2, 3, 0, 0, 3}, {1, 2, 3, 4}, Floats(12, kNaN),
      {1, 2, 3, 4, 2, 4, 6, 8, 3, 6, 9, 12});
}

TEST_F(LibraryTest, MatrixTimesVectorWithSteps) {
  // x every second element, y every third; A by rows and, in the second, by columns.
  ExpectAll<float>(
      "tensor A: f32[2,3]; tensor x: f32[3] strides [2]; tensor y: f32[2] strides [3]\n"
      "y[i] = sum(k: A[i,k]*x[k])",
      {1, 2, 3, 4, 5, 6}, {1, kNaN, 10, kNaN, 100}, {kNaN, -1, -1, kNaN}, {321, -1, -1, 654});
  ExpectAll<float>(
      "tensor A: f32[3,2]; tensor x: f32[3]; tensor y: f32[2]\n"
      "y[i] = sum(k: A[k,i]*x[k])",
      {1, 4, 2, 5, 3, 6}, {1, 10, 100}, {kNaN, kNaN}, {321, 654});
}

TEST_F(LibraryTest, BiasAndActivationFollowTheCall) {
  // The products are -1 and 2, the biases 0.5 and -1. gelu(x) = x/2 (1 + erf(x / sqrt 2)):
  // gelu(-0.5) = -0.154268770, gelu(1) = 0.841344746 (the normal distribution at 1).
  ExpectAll<double>(
      "tensor A: f64[1,1]; tensor B: f64[1,2]; tensor C: f64[1,2]; tensor d: f64[2]\n"
      "C[i,j] = gelu(sum(k: A[i,k]*B[k,j]) + d[j])",
      {1}, {-1, 2}, {0, 0}, {-0.154268769, 0.841344746}, {}, {0.5, -1});
  ExpectAll<double>(
      "tensor A: f64[2,1]; tensor B: f64[1,2]; tensor C: f64[2,2]; tensor d: f64[2]\n"
      "C[i,j] = relu(sum(k: A[i,k]*B[k,j]) + d[i])",
      {1, 2}, {-1, 2}, {9, 9, 9, 9}, {0, 2.5, 0, 3}, {}, {0.5, -1});
}

TEST_F(LibraryTest, AnEmptySumLeavesTheOldContentScaled) {
  ExpectAll<float>(
      "tensor A: f32[2,0]; tensor B: f32[0,2]; tensor C: f32[2,2]; scalar alpha; scalar beta\n"
      "C[i,j] = alpha*sum(k: A[i,k]*B[k,j]) + beta*C[i,j]",
      {}, {}, {1, 2, 3, 4}, {3, 6, 9, 12}, {1, 3});
  ExpectAll<float>(
      "tensor A: f32[2,0]; tensor x: f32[0]; tensor y: f32[2]\n"
      "y[i] = sum(k: A[i,k]*x[k])",
      {}, {}, {kNaN, kNaN}, {0, 0});
  ExpectAll<float>(
      "tensor A: f32[0,2]; tensor B: f32[2,2]; tensor C: f32[0,2]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])",
      {}, {1, 2, 3, 4}, {}, {});
}

// sum over k of (i+1) * (k+1) * (j+2) = (i+1) (j+2) K (K+1) / 2, exact in f32 up to 2^24.
TEST_F(LibraryTest, AClosedFormAcrossBlockSizes) {
  constexpr int m = 33, n = 65, k = 70;
  Floats a(m * k), b(k * n), expected(m * n);
  for (int i = 0; i < m; ++i) {
    for (int p = 0; p < k; ++p) a[i * k + p] = static_cast<float>((i + 1) * (p + 1));
  }
  for (int p = 0; p < k; ++p) {
    for (int j = 0; j < n; ++j) b[p * n + j] = static_cast<float>(j + 2);
  }
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      expected[i * n + j] = static_cast<float>((i + 1) * (j + 2) * (k * (k + 1) / 2));
    }
  }
  ExpectAll<float>(
      "tensor A: f32[33,70]; tensor B: f32[70,65]; tensor C: f32[33,65]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])",
      a, b, Floats(m * n, kNaN), expected);
}

TEST_F(LibraryTest, APlanOfAnotherTaskIsRefused) {
  const Task task = Parsed(
      "tensor A: f32[3,2]; tensor B: f32[2,3]; tensor C: f32[3,3]\n"
      "C[i,j] = sum(k: A[i,k]*B[k,j])");
  LaunchPlan plan = (*LibraryPlans(task))[0];
  const size_t k = plan.text.find("k=2");
  ASSERT_NE(k, std::string::npos);
  plan.text.replace(k, 3, "k=9");
  const auto loaded = LoadLibraryPlan(task, plan);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.status().code(), Code::kInvalidArgument);
  EXPECT_NE(loaded.status().message().find("k=9"), std::string::npos);
}

TEST_F(LibraryTest, RequirementsNameTheLibraryThatIsHere) {
  const Result<Requirement> here = LibraryRequirement();
  ASSERT_TRUE(here.ok()) << here.status().message();
  EXPECT_TRUE(CheckRequirement(*here).ok());
  const Status other = CheckRequirement({here->what, "build-id 0000"});
  EXPECT_EQ(other.code(), Code::kUnavailable);
  EXPECT_NE(other.message().find("build-id 0000"), std::string::npos) << other.message();
  EXPECT_NE(other.message().find(here->identity), std::string::npos) << other.message();
}

}  // namespace
}  // namespace hiera
