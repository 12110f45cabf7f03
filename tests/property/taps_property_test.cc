// Random weighted sums of shifted reads, run by the interpreter and judged by the reference. The
// text of a task that fails is printed, with its seed.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/task/parse.h"
#include "tests/unit/device/interpreted_case.h"

namespace hiera {
namespace {

class RandomSum {
 public:
  explicit RandomSum(uint64_t seed) : random_(seed) {}

  std::string Text() {
    dims_ = 1 + Draw(3);
    extents_.clear();
    for (int axis = 0; axis < dims_; ++axis) {
      extents_.push_back(axis + 1 < dims_ ? 1 + Draw(7) : 1 + Draw(dims_ == 3 ? 40 : 560));
    }
    std::string text = Declare("u") + Declare("p");
    text += "tensor v: " + std::string(Pick({"f32", "f64", "f32"})) + Bracketed(extents_) + "\n";
    text += "scalar a\ntensor w: f32[" + std::to_string(extents_[0]) + ",3]\nv[" + Indices() +
            "] = " + Term();
    const int terms = 1 + Draw(14);
    for (int t = 0; t < terms; ++t) text += (Draw(4) == 0 ? " - " : " + ") + Term();
    return text;
  }

 private:
  int Draw(int below) { return static_cast<int>(random_() % static_cast<uint64_t>(below)); }
  const char* Pick(const std::vector<const char*>& of) {
    return of[Draw(static_cast<int>(of.size()))];
  }
  std::string Weight() { return std::to_string(Draw(2000) / 1000.0 + 0.01); }

  static std::string Bracketed(const std::vector<int>& values) {
    std::string text;
    for (const int value : values) text += (text.empty() ? "[" : ",") + std::to_string(value);
    return text + "]";
  }

  std::string Declare(const std::string& name) {
    const std::string rule = Pick({"zero", "clamp", "wrap", "keep"});
    return "tensor " + name + ": " + Pick({"f32", "f64", "f16", "f32", "f32"}) +
           Bracketed(extents_) + " outside " + rule + "\n";
  }

  std::string Indices() const { return std::string("i,j,k").substr(0, 2 * dims_ - 1); }

  std::string Read(const std::string& last) {
    std::string text = Draw(5) == 0 ? "p[" : "u[";
    for (int axis = 0; axis < dims_; ++axis) {
      text += (axis > 0 ? "," : "") + std::string(1, "ijk"[axis]);
      const int shift = Draw(3) == 0 ? 0 : Draw(9) - 4;
      if (shift != 0) text += (shift > 0 ? "+" : "") + std::to_string(shift);
    }
    return text + last + "]";
  }

  std::string Term() {
    switch (Draw(8)) {
      case 0:
        return Read("");
      case 1:
        return "a*" + Read("");
      case 2:
        return Weight() + "*(" + Read("") + " - " + Weight() + "*" + Read("") + ")";
      case 3:
        return "sum(r<3: w[i,r]*" + Read("+r") + ")";
      case 4:
        return Weight();
      default:
        return Weight() + "*" + Read("");
    }
  }

  std::mt19937_64 random_;
  int dims_ = 1;
  std::vector<int> extents_;
};

TEST(TapsPropertyTest, RandomSumsMatchTheReference) {
  const std::unique_ptr<Device> host = MakeHostDevice(2);
  const auto make = [&](const Task& task) { return host->Interpret(task); };
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const std::string text = RandomSum(seed).Text();
    const Result<Task> task = ParseTask(text);
    ASSERT_TRUE(task.ok()) << text << "\n" << task.status().message();
    ASSERT_EQ(InterpretedCase(*task, seed).Check(make), "") << "seed " << seed << "\n" << text;
  }
}

}  // namespace
}  // namespace hiera
