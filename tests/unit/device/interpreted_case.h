// A task with buffers of random values, run by the interpreter and judged by the reference.
#ifndef HIERA_TESTS_UNIT_DEVICE_INTERPRETED_CASE_H_
#define HIERA_TESTS_UNIT_DEVICE_INTERPRETED_CASE_H_

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/device/device.h"
#include "runtime/task/reference.h"
#include "runtime/task/task.h"

namespace hiera {

class InterpretedCase {
 public:
  enum class Fill { kNormal, kPositive, kSpecial };

  InterpretedCase(const Task& task, uint64_t seed, Fill fill = Fill::kNormal)
      : task_(task), random_(seed), buffers_(task.bound_count) {
    for (int t = 0; t < task.bound_count; ++t) FillBuffer(t, fill);
    for (const ScalarSpec& s : task.scalars) {
      scalars_.push_back(s.value_class == ScalarClass::kZero  ? 0
                         : s.value_class == ScalarClass::kOne ? 1
                                                              : 0.75);
    }
  }

  // Element `position` of tensor t, before the run.
  void* At(int t, int64_t position) {
    return buffers_[t].data() + kGuard + position * SizeOf(task_.tensors[t].dtype);
  }

  // Runs the interpreter that `make` makes of the task `runs` times on fresh copies; "" or what is
  // wrong.
  template <typename Make>
  std::string Check(const Make& make, int runs = 1) {
    Result<std::unique_ptr<Executable>> made = make(task_);
    if (!made.ok()) return "not made: " + made.status().message();
    auto reference = RunReference(task_, Pointers(&buffers_).data(), scalars_.data());
    if (!reference.ok()) return "no reference: " + reference.status().message();
    for (int run = 0; run < runs; ++run) {
      std::vector<std::vector<char>> after = buffers_;
      const hiera_status status = (*made)->Run({Pointers(&after).data(), scalars_.data(), nullptr});
      if (status != HIERA_OK) return "status " + std::to_string(status);
      std::string wrong = Compare(*reference, after);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  static constexpr int64_t kGuard = 256;

  void FillBuffer(int t, Fill fill) {
    const TensorSpec& tensor = task_.tensors[t];
    buffers_[t].assign(tensor.span_bytes() + 2 * kGuard, 0x5a);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> positive(0.5, 1.5);
    const int64_t elements = tensor.span_bytes() / SizeOf(tensor.dtype);
    for (int64_t i = 0; i < elements; ++i) {
      long double value = fill == Fill::kPositive ? positive(random_) : normal(random_);
      if (tensor.dtype == DType::kI32) value = static_cast<int>(random_() % 9) - 1;
      if (tensor.dtype == DType::kBool) value = random_() % 2;
      if (fill == Fill::kSpecial && IsReal(tensor.dtype)) {
        const int draw = static_cast<int>(random_() % 40);
        if (draw == 0) value = std::nanl("");
        if (draw == 1) value = INFINITY;
        if (draw == 2) value = -INFINITY;
        if (draw == 3) value = -0.0L;
      }
      StoreRounded(value, tensor.dtype, At(t, i));
    }
  }

  std::vector<void*> Pointers(std::vector<std::vector<char>>* buffers) {
    std::vector<void*> pointers;
    for (std::vector<char>& buffer : *buffers) pointers.push_back(buffer.data() + kGuard);
    return pointers;
  }

  // Every written element is admitted, and no other byte of any buffer has changed.
  std::string Compare(const std::vector<ReferenceOutput>& reference,
                      std::vector<std::vector<char>>& after) {
    std::vector<std::vector<char>> expected = buffers_;
    for (const ReferenceOutput& output : reference) {
      const TensorSpec& tensor = task_.tensors[output.tensor];
      const int64_t bytes = SizeOf(tensor.dtype);
      for (const ReferenceElement& e : output.elements) {
        if (!e.written) continue;
        const char* got = after[output.tensor].data() + kGuard + e.position * bytes;
        if (!Admits(e, task_.contract, tensor.dtype, got)) {
          return tensor.name + " at " + std::to_string(e.position) + ": got " +
                 std::to_string(LoadExact(tensor.dtype, got)) + ", should be " +
                 std::to_string(e.value) + " within " +
                 std::to_string(ErrorBound(e, task_.contract, tensor.dtype));
        }
        std::memcpy(expected[output.tensor].data() + kGuard + e.position * bytes, got, bytes);
      }
    }
    for (size_t t = 0; t < after.size(); ++t) {
      for (size_t i = 0; i < after[t].size(); ++i) {
        if (after[t][i] != expected[t][i]) {
          return task_.tensors[t].name + ": byte " +
                 std::to_string(static_cast<int64_t>(i) - kGuard) + " was changed";
        }
      }
    }
    return "";
  }

  const Task task_;
  std::mt19937_64 random_;
  std::vector<std::vector<char>> buffers_;
  std::vector<double> scalars_;
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_DEVICE_INTERPRETED_CASE_H_
