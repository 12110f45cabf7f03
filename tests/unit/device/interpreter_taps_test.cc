// Weighted sums of shifted reads, which the interpreter does in one instruction: every remainder,
// rule, stride and form, against the reference.
#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/device/host/cpu.h"
#include "runtime/device/host/interpreter/interpreter.h"
#include "runtime/device/host/interpreter/lanes.h"
#include "runtime/task/parse.h"
#include "tests/unit/device/interpreted_case.h"

namespace hiera {
namespace {

constexpr const char* kRules[] = {"zero", "clamp", "wrap", "keep"};

void Check(const std::string& text, InterpretedCase::Fill fill = InterpretedCase::Fill::kNormal) {
  static const ThreadPool& pool = *new ThreadPool(2);
  Result<Task> task = ParseTask(text);
  ASSERT_TRUE(task.ok()) << text << "\n" << task.status().message();
  const auto make = [](const Task& t) { return MakeInterpreter(t, pool); };
  EXPECT_EQ(InterpretedCase(*task, 29, fill).Check(make), "") << text;
}

std::string Shifted(const std::string& index, int shift) {
  return shift == 0 ? index : index + (shift > 0 ? "+" : "") + std::to_string(shift);
}

// Declarations of u with a rule, and of v.
std::string Grids(const std::string& type, const std::string& extents, const std::string& rule) {
  return "tensor u: " + type + extents + " outside " + rule + "\ntensor v: " + type + extents +
         "\n";
}

TEST(InterpreterTapsTest, EveryRemainderOfARow) {
  for (const char* type : {"f32", "f64"}) {
    for (int n = 1; n <= 150; ++n) {
      const std::string extents = "[2," + std::to_string(n) + "]";
      Check(Grids(type, extents, "zero") +
            "v[i,j] = 0.5*u[i,j] + 0.25*u[i,j-1] - 0.125*u[i,j+2] + u[i+1,j]");
    }
    for (const int n : {255, 256, 257, 258, 320, 511, 512, 514, 519}) {
      Check(Grids(type, "[3," + std::to_string(n) + "]", "keep") +
            "v[i,j] = 0.5*u[i,j] + 0.25*u[i,j-1] + 0.125*u[i,j+1]");
    }
  }
}

TEST(InterpreterTapsTest, StarsOfEveryRadiusAndRule) {
  for (int radius = 1; radius <= 4; ++radius) {
    std::string plane = "0.3*u[i,j]", space = "0.3*u[i,j,k]";
    for (int d = -radius; d <= radius; ++d) {
      if (d == 0) continue;
      const std::string weight = " + " + std::to_string(0.1 + 0.01 * d) + "*";
      plane += weight + "u[" + Shifted("i", d) + ",j]" + weight + "u[i," + Shifted("j", d) + "]";
      space += weight + "u[" + Shifted("i", d) + ",j,k]" + weight + "u[i," + Shifted("j", d) +
               ",k]" + weight + "u[i,j," + Shifted("k", d) + "]";
    }
    for (const char* rule : kRules) {
      for (const char* type : {"f32", "f64"}) {
        Check(Grids(type, "[13,270]", rule) + "v[i,j] = " + plane);
        Check(Grids(type, "[3,2]", rule) + "v[i,j] = " + plane);
        Check(Grids(type, "[10,9,33]", rule) + "v[i,j,k] = " + space);
      }
    }
  }
}

TEST(InterpreterTapsTest, BoxesOfEveryRadiusAndRule) {
  for (int radius = 1; radius <= 4; ++radius) {
    const std::string side = std::to_string(2 * radius + 1), r = std::to_string(radius);
    for (const char* rule : kRules) {
      for (const char* type : {"f32", "f64"}) {
        const std::string weights = std::string("tensor w: ") + type + "[" + side + "," + side;
        Check(Grids(type, "[12,265]", rule) + weights + "]\nv[i,j] = sum(r,s: u[i+r-" + r +
              ",j+s-" + r + "]*w[r,s])");
        Check(Grids(type, "[4,5]", rule) + weights + "]\nv[i,j] = sum(r,s: w[r,s]*u[i+r-" + r +
              ",j+s-" + r + "])");
      }
      Check(Grids("f32", "[9,10,20]", rule) + "tensor w: f32[" + side + "," + side + "," + side +
            "]\nv[i,j,k] = sum(r,s,t: u[i+r-" + r + ",j+s-" + r + ",k+t-" + r + "]*w[r,s,t])");
    }
  }
}

TEST(InterpreterTapsTest, WindowsWithoutWeightsAndWithFactors) {
  for (const char* rule : kRules) {
    Check(Grids("f32", "[9,300]", rule) + "v[i,j] = mean(r<3,s<5: u[i+r-1,j+s-2])");
    Check(Grids("f32", "[9,300]", rule) +
          "tensor w: f32[9,5]\nscalar a\nv[i,j] = sum(s: a*w[i,s]*u[i,j+s-2]*2)");
    Check(Grids("f64", "[9,300]", rule) +
          "tensor w: f32[5]\nv[i,j] = u[i,j] - 0.5*sum(s: w[s]*u[i,j+2*s-4])");
  }
  Check(
      "tensor u: f32[2,5,260] outside zero\ntensor w: f16[5,7]\ntensor v: f32[2,5,260]\n"
      "v[n,c,x] = sum(s: u[n,c,x+s-3]*w[c,s])");
}

TEST(InterpreterTapsTest, LayoutsThatCannotBeReadInPlace) {
  for (const char* rule : kRules) {
    const std::string outside = std::string(" outside ") + rule + "\n";
    const std::string sum = "v[i,j] = 0.5*u[i,j] + 0.2*u[i-1,j] + 0.3*u[i,j+1] + 0.1*u[i,j-2]";
    for (const char* type : {"f16", "bf16"}) {
      Check(Grids(type, "[7,300]", rule) + sum);
    }
    // A transposed source, a padded one, and a transposed target.
    Check("tensor u: f32[40,300] strides [1,40]" + outside + "tensor v: f32[40,300]\n" + sum);
    Check("tensor u: f32[40,300] strides [310,1]" + outside + "tensor v: f32[40,300]\n" + sum);
    Check("tensor u: f32[40,300]" + outside + "tensor v: f32[40,300] strides [1,48]\n" + sum);
    Check("tensor u: f32[7,600] strides [1300,2]" + outside + "tensor v: f32[7,600]\n" + sum);
  }
}

TEST(InterpreterTapsTest, StepsAlongTheLanes) {
  for (const char* rule : kRules) {
    const std::string u = std::string("tensor u: f32[600] outside ") + rule + "\n";
    Check(u + "tensor v: f32[300]\nv[i] = 0.5*u[2*i] + 0.25*u[2*i-1] + 0.25*u[2*i+1] + u[2*i-2]");
    Check(u + "tensor v: f32[200]\ntensor w: f32[7]\nv[i] = sum(s: w[s]*u[3*i+s-3])");
    Check(u + "tensor v: f32[600]\nv[i] = 0.5*u[599-i] + 0.25*u[598-i] + 0.25*u[601-i]");
    Check(u + "tensor v: f32[300]\nv[i] = 0.5*u[599-2*i] + 0.25*u[598-2*i] + 0.25*u[600-2*i]");
    Check(std::string("tensor u: f32[90,90] outside ") + rule +
          "\ntensor v: f32[90]\nv[i] = 0.5*u[i,i] + 0.25*u[i,i+1] + 0.125*u[i-1,i]");
    // Shifts that lie far apart.
    Check(std::string("tensor u: f32[900] outside ") + rule +
          "\ntensor v: f32[900]\nv[i] = 0.5*u[i] + 0.25*u[i-300] + 0.25*u[i+70] + 0.1*u[i+63]");
  }
}

TEST(InterpreterTapsTest, SumsOfOtherThings) {
  for (const char* rule : kRules) {
    const std::string u = Grids("f32", "[9,300]", rule);
    Check(u + "scalar a\nv[i,j] = 1 + 0.5*u[i,j] + a*(u[i-1,j] - 2*(u[i,j+1] - u[i,j-1]) + 3)");
    Check(u + "v[i,j] = 0.5*exp(u[i,j]) - u[i,j-1] - (u[i,j+1] - u[i+1,j])");
    Check(u + "tensor p: f32[9,300] outside " + rule +
          "\nscalar a\nv[i,j] = 2*u[i,j] - p[i,j] + a*(u[i,j-1] + u[i,j+1] - 2*u[i,j]) + p[i,j+1]");
    Check(u + "tensor b: f32[9]\ntensor c: f32[300]\nv[i,j] = b[i]*u[i,j-1] + c[j] + b[i]*c[j]");
    Check(u + "v[i,j] = select(u[i,j] < 0, 0.5*u[i-1,j] + u[i,j+1] + u[i,j-1], 2*u[i,j+1])");
    Check(u + "v[i,j] = u[i,j]*(0.5*u[i,j-1] + 0.25*u[i,j+1] + 0.125*u[i-1,j])",
          InterpretedCase::Fill::kSpecial);
  }
  Check(
      "tensor x: f32[5,300]\ntensor y: f32[5,300]\nscalar a\n"
      "y[i,j] = a*x[i,j] + 0.5*y[i,j] - x[i,j]*2 + 0.25*x[i,j]");
  Check("tensor y: f64[283]\nscalar a\ny[i] = a*y[i] - 1 + 0.25*y[i]");
}

TEST(InterpreterTapsTest, ExactArithmeticKeepsTheOrder) {
  // In any other order, or fused, the sum is another.
  Result<Task> task = ParseTask(
      "contract arithmetic=exact\ntensor u: f32[301] outside zero\ntensor v: f32[301]\n"
      "v[i] = 0.1*u[i-1] + 0.7*u[i] - 0.3*u[i+1] + (0.2*u[i+2] - u[i-2])");
  ASSERT_TRUE(task.ok()) << task.status().message();
  const ThreadPool pool(1);
  auto made = MakeInterpreter(*task, pool);
  ASSERT_TRUE(made.ok());
  std::vector<float> u(305, 0), v(301);  // two zeros before and behind
  std::mt19937 random(3);
  for (int i = 0; i < 301; ++i) u[i + 2] = std::normal_distribution<float>()(random);
  void* pointers[] = {u.data() + 2, v.data()};
  ASSERT_EQ((*made)->Run({pointers, nullptr, nullptr}), HIERA_OK);
  for (int i = 0; i < 301; ++i) {
    const float* x = u.data() + i + 2;
    volatile float a = 0.1f * x[-1], b = 0.7f * x[0], c = 0.3f * x[1], d = 0.2f * x[2];
    volatile float ab = a + b, abc = ab - c, right = d - x[-2];
    volatile float sum = abc + right;
    EXPECT_EQ(v[i], sum) << i;
  }
}

// The kernels of one level against a sum in order, for `n` lanes and `count` taps. With whole
// numbers every rounding is exact, so that all levels must agree to the bit.
template <typename A>
void CheckKernel(const interpreter::LaneTable& table, int64_t n, int64_t count, bool rounded) {
  std::vector<A> x(n + count + 1), factors(count), out(n + 2, A(-1));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<A>(static_cast<int>(i * 37 % 101) - 50);
  std::vector<int64_t> places;
  for (int64_t t = 0; t < count; ++t) {
    factors[t] = static_cast<A>(t % 7 - 3);
    places.push_back((count - t) * static_cast<int64_t>(sizeof(A)));
  }
  table.taps[sizeof(A) == 8 ? 1 : 0](out.data() + 1, reinterpret_cast<uintptr_t>(x.data()),
                                     places.data(), factors.data(), count, n, rounded);
  for (int64_t l = 0; l < n; ++l) {
    A sum = 0;
    for (int64_t t = 0; t < count; ++t) sum += factors[t] * x[l + count - t];
    ASSERT_EQ(out[l + 1], sum) << "lane " << l << " of " << n << ", " << count << " taps";
  }
  EXPECT_EQ(out.front(), A(-1));
  EXPECT_EQ(out.back(), A(-1));
}

TEST(InterpreterTapsTest, KernelsOfEveryLevel) {
  using interpreter::LaneTable;
  const int level = ReadCpu().level;
  std::vector<const LaneTable*> tables{&interpreter::kLanesV1};
  if (level >= 3) tables.push_back(&interpreter::kLanesV3);
  if (level >= 4) tables.push_back(&interpreter::kLanesV4);
  for (const LaneTable* table : tables) {
    for (int64_t n = 1; n <= interpreter::kBlockLanes; ++n) {
      for (const int64_t count : {1, 2, 9, 81}) {
        CheckKernel<float>(*table, n, count, n % 2 == 0);
        CheckKernel<double>(*table, n, count, n % 2 != 0);
      }
    }
  }
}

// An output may be written over an operand, lane for lane.
TEST(InterpreterTapsTest, KernelOverItsOperand) {
  for (int64_t n = 1; n <= interpreter::kBlockLanes; ++n) {
    std::vector<float> x(n), y(n);
    for (int64_t i = 0; i < n; ++i) x[i] = static_cast<float>(i), y[i] = static_cast<float>(3 * i);
    const float factors[] = {2, 5};
    const int64_t places[] = {static_cast<int64_t>(reinterpret_cast<uintptr_t>(x.data())),
                              static_cast<int64_t>(reinterpret_cast<uintptr_t>(y.data()))};
    interpreter::Lanes().taps[0](x.data(), 0, places, factors, 2, n, false);
    for (int64_t i = 0; i < n; ++i) ASSERT_EQ(x[i], static_cast<float>(17 * i)) << i << " of " << n;
  }
}

}  // namespace
}  // namespace hiera
