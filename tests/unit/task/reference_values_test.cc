// The reference against NumPy, for every operator of the catalogue. The values are those of
// make_reference_values.py, in float64; the inputs are made here by the same rule.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "runtime/task/parse.h"
#include "runtime/task/reference.h"
#include "tests/unit/task/operator_catalogue.h"

namespace hiera {
namespace {

struct Expected {
  const char* name;
  std::vector<double> values;  // of all outputs, in binding order, row-major; NaN: not written
};

const std::vector<Expected>& AllExpected() {
  static const auto& all = *new std::vector<Expected>{
#include "tests/unit/task/reference_values.inc"
  };
  return all;
}

long double Generated(int tensor, uint64_t element, DType dtype, bool positive) {
  const uint64_t h =
      ((element * 2654435761u + static_cast<uint64_t>(tensor) * 40503 + 12345) & 0xffffffffu) >> 16;
  if (dtype == DType::kI32) return static_cast<long double>(h % 9) - 1;
  if (dtype == DType::kBool) return h % 2;
  const long double value = (static_cast<long double>(h % 64) - 32) / 16;
  return positive ? std::fabs(value) + 0.0625L : value;
}

std::vector<char> MakeBuffer(const TensorSpec& tensor, int number, bool positive) {
  std::vector<char> buffer(tensor.span_bytes());
  for (int64_t element = 0; element < tensor.elements(); ++element) {
    int64_t position = 0, rest = element;
    for (int axis = tensor.rank() - 1; axis >= 0; --axis) {
      position += rest % tensor.extents[axis] * tensor.strides[axis];
      rest /= tensor.extents[axis];
    }
    StoreRounded(Generated(number, element, tensor.dtype, positive), tensor.dtype,
                 buffer.data() + position * SizeOf(tensor.dtype));
  }
  return buffer;
}

TEST(ReferenceValuesTest, EveryOperatorAgreesWithNumPy) {
  std::map<std::string, const Expected*> expected;
  for (const Expected& e : AllExpected()) expected[e.name] = &e;
  ASSERT_EQ(expected.size(), std::size(kOperatorCatalogue));
  for (const CatalogueEntry& entry : kOperatorCatalogue) {
    SCOPED_TRACE(entry.name);
    ASSERT_EQ(expected.count(entry.name), 1u) << "run make_reference_values.py again";
    const Result<Task> task = ParseTask(entry.text);
    ASSERT_TRUE(task.ok()) << task.status().message();
    const bool positive = task->contract.inputs == Inputs::kPositive;
    std::vector<std::vector<char>> buffers;
    std::vector<void*> pointers;
    for (int t = 0; t < task->bound_count; ++t) {
      buffers.push_back(MakeBuffer(task->tensors[t], t, positive));
    }
    for (auto& buffer : buffers) pointers.push_back(buffer.data());
    const std::vector<double> scalars(task->scalars.size(), 0.75);
    const auto outputs = RunReference(*task, pointers.data(), scalars.data());
    ASSERT_TRUE(outputs.ok());
    const std::vector<double>& values = expected[entry.name]->values;
    size_t i = 0;
    for (const ReferenceOutput& output : *outputs) {
      for (const ReferenceElement& e : output.elements) {
        ASSERT_LT(i, values.size());
        const double value = values[i++];
        EXPECT_EQ(e.written, !std::isnan(value));
        if (!e.written) continue;
        // Both are double precision or better; what cancels does so relative to the magnitude.
        const long double size = std::fabs(static_cast<long double>(value)) + e.magnitude;
        EXPECT_NEAR(static_cast<double>(e.value), value,
                    static_cast<double>(1e-13L * size + 1e-15L))
            << "element " << i - 1;
      }
    }
    EXPECT_EQ(i, values.size());
  }
}

}  // namespace
}  // namespace hiera
