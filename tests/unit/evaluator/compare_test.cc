// What the judge sees in the memory that a candidate leaves. The candidates are functions of the
// test that write where a worker would.
#include "runtime/evaluator/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>

#include "runtime/evaluator/draw.h"
#include "runtime/evaluator/expectation.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

using Function = std::function<void(void* const* pointers)>;

class FunctionExecutable final : public Executable {
 public:
  explicit FunctionExecutable(Function function) : function_(std::move(function)) {}
  hiera_status Run(const Call& call) const noexcept override {
    function_(call.pointers);
    return HIERA_OK;
  }

 private:
  Function function_;
};

// A task with drawn inputs, on which functions can be judged.
class Bench {
 public:
  Bench(const std::string& text, Placement placement, Distribution distribution,
        Function plain = nullptr, int64_t max_elements = 0, Function prepare = nullptr)
      : task_(*ParseTask(text)), placement_(placement), layout_(LayOut(task_)) {
    inputs_ = *MappedRegion::Anonymous(layout_.bytes);
    outputs_ = *MappedRegion::Anonymous(layout_.bytes);
    const auto pointers = PointersInto(layout_, placement_, inputs_.data());
    Random random(5);
    for (int i = 0; i < task_.bound_count; ++i) {
      if (RoleOf(task_, i) == Role::kOutput) continue;
      DrawTensor(task_.tensors[i], distribution, task_.contract.inputs, 0, random, pointers[i]);
    }
    if (prepare) prepare(pointers.data());
    FunctionExecutable executable(plain);
    ExpectationOptions options;
    options.max_elements = max_elements;
    auto expectation = MakeExpectation(task_, layout_, placement_, inputs_.data(), {},
                                       plain ? &executable : nullptr, options);
    EXPECT_TRUE(expectation.ok()) << expectation.status().message();
    expectation_ = *std::move(expectation);
  }

  std::optional<Finding> Judge(const Function& candidate, uint8_t poison = kPoison[0]) {
    PrepareOutputs(task_, layout_, placement_, inputs_.data(), poison, outputs_.data());
    auto pointers = PointersInto(layout_, placement_, inputs_.data());
    const auto after = PointersInto(layout_, placement_, outputs_.data());
    for (const int i : OutputsOf(task_)) pointers[i] = after[i];
    candidate(pointers.data());
    return CheckRun(Finished(poison), expectation_);
  }
  FinishedRun Finished(uint8_t poison) {
    return {task_, layout_, placement_, poison, inputs_.data(), outputs_.data()};
  }
  const Expectation& expectation() const { return expectation_; }
  const std::byte* outputs() const { return outputs_.data(); }
  const Layout& layout() const { return layout_; }

 private:
  Task task_;
  Placement placement_;
  Layout layout_;
  MappedRegion inputs_, outputs_;
  Expectation expectation_;
};

constexpr const char* kDouble = "tensor a: f32[6,5]\ntensor b: f32[6,5]\nb[i,j] = 2.5*a[i,j] + 1";

void Twice(void* const* p) {
  for (int i = 0; i < 30; ++i) {
    static_cast<float*>(p[1])[i] = 2.5f * static_cast<const float*>(p[0])[i] + 1;
  }
}

TEST(Compare, AnHonestResultPassesInEveryPlacement) {
  for (const Placement placement :
       {Placement::kLeft, Placement::kRight, Placement::kShifted, Placement::kOrdinary}) {
    Bench bench(kDouble, placement, Distribution::kNormal);
    for (const uint8_t poison : kPoison) {
      const auto finding = bench.Judge(Twice, poison);
      EXPECT_FALSE(finding) << finding->detail;
    }
  }
}

TEST(Compare, OneUnwrittenElementIsFoundAndNamed) {
  Bench bench(kDouble, Placement::kLeft, Distribution::kNormal);
  for (const uint8_t poison : kPoison) {
    const auto finding = bench.Judge(
        [&](void* const* p) {
          Twice(p);
          std::memset(static_cast<float*>(p[1]) + 13, poison, sizeof(float));
        },
        poison);
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->verdict, Verdict::kWrong);
    EXPECT_NE(finding->detail.find("b[2,3] was not written"), std::string::npos) << finding->detail;
  }
}

TEST(Compare, OneElementBesideTheTensorIsFoundOnEitherSide) {
  Bench bench(kDouble, Placement::kShifted, Distribution::kNormal);
  for (const int at : {-1, 30}) {
    const auto finding = bench.Judge([&](void* const* p) {
      Twice(p);
      static_cast<float*>(p[1])[at] = 0;
    });
    ASSERT_TRUE(finding);
    EXPECT_EQ(finding->verdict, Verdict::kMisbehaved);
    EXPECT_NE(finding->detail.find(at < 0 ? "4 bytes before" : "bytes past the end"),
              std::string::npos)
        << finding->detail;
  }
}

TEST(Compare, ANaNThatIsDroppedIsWrong) {
  Bench bench(kDouble, Placement::kLeft, Distribution::kSpecial);
  EXPECT_FALSE(bench.Judge(Twice));
  const auto finding = bench.Judge([](void* const* p) {
    Twice(p);
    float* b = static_cast<float*>(p[1]);
    for (int i = 0; i < 30; ++i) b[i] = std::isfinite(b[i]) ? b[i] : 0;
  });
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::kWrong);
}

TEST(Compare, GapsBetweenRowsStayUntouched) {
  Bench bench("tensor a: f32[3,4]\ntensor b: f32[3,4] strides [6,1]\nb[i,j] = a[i,j] - 1",
              Placement::kLeft, Distribution::kNormal);
  const auto honest = [](void* const* p) {
    for (int i = 0; i < 12; ++i) {
      static_cast<float*>(p[1])[i / 4 * 6 + i % 4] = static_cast<const float*>(p[0])[i] - 1;
    }
  };
  EXPECT_FALSE(bench.Judge(honest));
  const auto finding = bench.Judge([&](void* const* p) {
    honest(p);
    static_cast<float*>(p[1])[5] = 0;
  });
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::kMisbehaved);
  EXPECT_NE(finding->detail.find("between the elements of b, at offset 5"), std::string::npos)
      << finding->detail;
}

TEST(Compare, AnElementThatMustKeepItsValueMayNotBeWritten) {
  Bench bench("tensor a: f32[8] outside keep\ntensor b: f32[8]\nb[i] = a[i-1] + a[i+1]",
              Placement::kLeft, Distribution::kNormal);
  const auto honest = [](void* const* p) {
    const float* a = static_cast<const float*>(p[0]);
    for (int i = 1; i < 7; ++i) static_cast<float*>(p[1])[i] = a[i - 1] + a[i + 1];
  };
  EXPECT_FALSE(bench.Judge(honest));
  const auto finding = bench.Judge([&](void* const* p) {
    honest(p);
    static_cast<float*>(p[1])[7] = 0;
  });
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->detail.find("b[7] must keep its value"), std::string::npos);
}

// A product whose operands were rounded to half precision is within no bound.
TEST(Compare, RoundingToHalfPrecisionIsWrong) {
  Bench bench(kDouble, Placement::kLeft, Distribution::kNormal);
  const auto finding = bench.Judge([](void* const* p) {
    Twice(p);
    for (int i = 0; i < 30; ++i) {
      float& b = static_cast<float*>(p[1])[i];
      b = std::round(b * 2048) / 2048;
    }
  });
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::kWrong);
}

constexpr int kLong = 2048;
const std::string kDot =
    "tensor a: f32[16,2048]\ntensor b: f32[2048]\ntensor c: f32[16]\n"
    "c[i] = sum(k: a[i,k]*b[k])";

template <typename Round>
void Dot(void* const* p, Round round) {
  const float* a = static_cast<const float*>(p[0]);
  const float* b = static_cast<const float*>(p[1]);
  for (int i = 0; i < 16; ++i) {
    float sum = 0;
    for (int k = 0; k < kLong; ++k) sum += round(a[i * kLong + k]) * round(b[k]);
    static_cast<float*>(p[2])[i] = sum;
  }
}

// The bound of a long sum alone lets operands of half the bits pass; the root mean square does not.
TEST(Compare, LosingPrecisionOverLongSumsIsWrong) {
  const auto plain = [](void* const* p) { Dot(p, [](float x) { return x; }); };
  Bench bench(kDot, Placement::kLeft, Distribution::kNormal, plain);
  EXPECT_EQ(bench.expectation().disagreement, "");
  EXPECT_FALSE(bench.Judge(plain));
  const auto finding = bench.Judge([](void* const* p) {
    Dot(p, [](float x) {  // 14 of 24 bits
      const float large = x * 1025.0f;
      return large - (large - x);
    });
  });
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::kWrong);
  EXPECT_NE(finding->detail.find("root mean square"), std::string::npos) << finding->detail;
}

TEST(Compare, UnsampledElementsAreComparedWithThePlainImplementation) {
  const std::string text = "tensor a: f32[5000]\ntensor b: f32[5000]\nb[i] = 2.5*a[i] + 1";
  const auto plain = [](void* const* p) {
    for (int i = 0; i < 5000; ++i) {
      static_cast<float*>(p[1])[i] = 2.5f * static_cast<const float*>(p[0])[i] + 1;
    }
  };
  Bench bench(text, Placement::kRight, Distribution::kNormal, plain, 16);
  ASSERT_TRUE(bench.expectation().vouched);
  ASSERT_EQ(bench.expectation().reference[0].elements.size(), 16u);
  EXPECT_FALSE(bench.Judge(plain, kPoison[1]));
  int found = 0;
  for (int at = 1000; at < 1100; ++at) {
    found += bench.Judge([&](void* const* p) {
      plain(p);
      static_cast<float*>(p[1])[at] += 0.01f;
    })
                 ? 1
                 : 0;
  }
  EXPECT_EQ(found, 100);
}

// 400 rows of 8 sums of 30; the third and the sixth are the largest and add the same numbers, the
// one in the order of the other turned round.
const std::string kLargestSum =
    "tensor x: f32[400,8,30]\ntensor m: i32[400]\nm[i] = argmax(j: sum(k: x[i,j,k]))";
constexpr int kRows = 400, kSums = 8, kTerms = 30;

void MakeTies(void* const* p) {
  float* x = static_cast<float*>(p[0]);
  for (int i = 0; i < kRows; ++i) {
    for (int k = 0; k < kTerms; ++k) {
      float& a = x[(i * kSums + 2) * kTerms + k];
      a += 10;
      x[(i * kSums + 5) * kTerms + kTerms - 1 - k] = a;
    }
  }
}

template <typename Sum>
void LargestSum(void* const* p, Sum sum) {
  for (int i = 0; i < kRows; ++i) {
    const float* row = static_cast<const float*>(p[0]) + i * kSums * kTerms;
    int best = 0;
    for (int j = 1; j < kSums; ++j) {
      if (sum(row + j * kTerms) > sum(row + best * kTerms)) best = j;
    }
    static_cast<int32_t*>(p[1])[i] = best;
  }
}

void LargestForwards(void* const* p) {
  LargestSum(p, [](const float* x) {
    float sum = 0;
    for (int k = 0; k < kTerms; ++k) sum += x[k];
    return sum;
  });
}

// Sums in another order, in one row out of ten, and so comes to the other of two that tie.
void LargestInAnotherOrder(void* const* p) {
  std::vector<int32_t> forwards(kRows);
  void* const plain[] = {p[0], forwards.data()};
  LargestForwards(plain);
  LargestSum(p, [](const float* x) {
    float sum = 0;
    for (int k = kTerms - 1; k >= 0; --k) sum += x[k];
    return sum;
  });
  for (int i = 0; i < kRows; ++i) {
    if (i % 10 != 0) static_cast<int32_t*>(p[1])[i] = forwards[i];
  }
}

TEST(Compare, AnIndexIsJudgedByTheValueThere) {
  Bench bench(kLargestSum, Placement::kLeft, Distribution::kNormal, LargestForwards, 4, MakeTies);
  ASSERT_TRUE(bench.expectation().vouched) << bench.expectation().disagreement;
  ASSERT_EQ(bench.expectation().reference[0].elements.size(), 4u);
  int others = 0;
  const auto finding = bench.Judge([&](void* const* p) {
    std::vector<int32_t> forwards(kRows);
    void* const plain[] = {p[0], forwards.data()};
    LargestForwards(plain);
    LargestInAnotherOrder(p);
    for (int i = 0; i < kRows; ++i) others += forwards[i] != static_cast<int32_t*>(p[1])[i];
  });
  EXPECT_GT(others, 0);
  EXPECT_FALSE(finding) << finding->detail;

  for (const int32_t wrong : {3, -2, 8}) {
    const auto found = bench.Judge([&](void* const* p) {
      LargestInAnotherOrder(p);
      static_cast<int32_t*>(p[1])[123] = wrong;
    });
    ASSERT_TRUE(found);
    EXPECT_EQ(found->verdict, Verdict::kWrong);
    EXPECT_NE(found->detail.find("m[123] is " + std::to_string(wrong)), std::string::npos)
        << found->detail;
  }
}

TEST(Compare, TooManyDifferencesAreNotLookedInto) {
  Bench bench(kLargestSum, Placement::kLeft, Distribution::kNormal, LargestForwards, 4, MakeTies);
  const auto finding = bench.Judge([](void* const* p) {
    LargestForwards(p);
    for (int i = 100; i < 170; ++i) static_cast<int32_t*>(p[1])[i] ^= 2 ^ 5;
  });
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->detail.find("more than 64 differ"), std::string::npos) << finding->detail;
}

TEST(Compare, OfExactEqualsTheFirstIndexIsRight) {
  const auto pick = [](void* const* p, int odd) {
    const float* x = static_cast<const float*>(p[0]);
    for (int i = 0; i < 300; ++i) {
      int best = 0;
      for (int j = 1; j < 9; ++j) {
        const float a = x[i * 9 + j], b = x[i * 9 + best];
        if (i == odd ? a >= b : a > b) best = j;
      }
      static_cast<int32_t*>(p[1])[i] = best;
    }
  };
  Bench bench(
      "tensor x: f32[300,9]\ntensor m: i32[300]\nm[i] = argmax(j: x[i,j])", Placement::kRight,
      Distribution::kNormal, [&](void* const* p) { pick(p, -1); }, 8,
      [](void* const* p) {
        float* x = static_cast<float*>(p[0]);
        for (int i = 0; i < 300; ++i) x[i * 9 + 3] = x[i * 9 + 7] = 50;
      });
  EXPECT_FALSE(bench.Judge([&](void* const* p) { pick(p, -1); }));
  for (const int odd : {0, 150}) {  // sampled, and not
    const auto finding = bench.Judge([&](void* const* p) { pick(p, odd); });
    ASSERT_TRUE(finding);
    EXPECT_NE(finding->detail.find("is 7 and should be 3"), std::string::npos) << finding->detail;
  }
}

// An interpreter that the reference contradicts is not used to accuse others.
TEST(Compare, AWrongPlainImplementationVouchesForNothing) {
  const auto wrong = [](void* const* p) {
    Twice(p);
    static_cast<float*>(p[1])[0] += 1;
  };
  Bench bench(kDouble, Placement::kLeft, Distribution::kNormal, wrong);
  EXPECT_FALSE(bench.expectation().vouched);
  EXPECT_NE(bench.expectation().disagreement.find("b[0,0]"), std::string::npos);
  EXPECT_FALSE(bench.Judge(Twice));
  EXPECT_TRUE(bench.Judge(wrong));
}

TEST(Compare, BooleansAreZeroOrOne) {
  Bench bench("tensor a: f32[40]\ntensor b: bool[40]\nb[i] = a[i] < 0.5", Placement::kLeft,
              Distribution::kNormal);
  const auto less = [](void* const* p, uint8_t truth) {
    for (int i = 0; i < 40; ++i) {
      static_cast<uint8_t*>(p[1])[i] = static_cast<const float*>(p[0])[i] < 0.5f ? truth : 0;
    }
  };
  EXPECT_FALSE(bench.Judge([&](void* const* p) { less(p, 1); }));
  const auto finding = bench.Judge([&](void* const* p) { less(p, 2); });
  ASSERT_TRUE(finding);
  EXPECT_NE(finding->detail.find("neither 0 nor 1"), std::string::npos);
}

TEST(Compare, ARepeatedRunMustGiveTheSameBits) {
  Bench bench(kDouble, Placement::kLeft, Distribution::kNormal);
  ASSERT_FALSE(bench.Judge(Twice, kPoison[0]));
  const std::vector<std::byte> earlier(bench.outputs(), bench.outputs() + bench.layout().bytes);
  ASSERT_FALSE(bench.Judge(Twice, kPoison[1]));
  EXPECT_FALSE(CheckRepeated(bench.Finished(kPoison[1]), earlier.data(), kPoison[0]));
  ASSERT_FALSE(bench.Judge(
      [](void* const* p) {
        Twice(p);
        float& b = static_cast<float*>(p[1])[7];
        b = std::nextafter(b, 10.0f);
      },
      kPoison[1]));
  const auto finding = CheckRepeated(bench.Finished(kPoison[1]), earlier.data(), kPoison[0]);
  ASSERT_TRUE(finding);
  EXPECT_EQ(finding->verdict, Verdict::kMisbehaved);
  EXPECT_NE(finding->detail.find("b[1,2] differs"), std::string::npos) << finding->detail;
}

}  // namespace
}  // namespace hiera
