#include "runtime/evaluator/expectation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/clock.h"
#include "runtime/evaluator/elements.h"
#include "runtime/evaluator/statistics.h"

namespace hiera {
namespace {

// An implementation's error may be this many times a plain one's.
constexpr double kRmsFactor = 4;

double UnitRoundoff(DType accumulate) { return accumulate == DType::kF64 ? 0x1p-53 : 0x1p-24; }

// Limits of one output from the reference and the interpreter's result. The least error that is
// forgiven is that of a plain sum one element after another, u * sqrt(K) / 2 * |value|, so that an
// interpreter that sums in a better order, or is exact, does not rule out honest rivals.
OutputLimits LimitsOf(const ReferenceOutput& reference, const Task& task, const std::byte* plain) {
  const DType dtype = task.tensors[reference.tensor].dtype;
  OutputLimits limits;
  limits.tensor = reference.tensor;
  const double unit = UnitRoundoff(task.contract.accumulate);
  double squares = 0, count = 0;
  std::vector<double> relative;
  for (const ReferenceElement& element : reference.elements) {
    if (!element.written || !std::isfinite(element.value)) continue;
    const double bound = static_cast<double>(ErrorBound(element, task.contract, dtype));
    if (!(bound > 0) || !std::isfinite(bound)) continue;
    const double size = std::fabs(static_cast<double>(element.value));
    const double least = unit * std::max(1.0, std::sqrt(element.terms) / 2) * size / bound;
    squares += least * least;
    ++count;
    limits.absolute = std::max(limits.absolute, 2 * bound);
    if (size > 0) relative.push_back(2 * bound / size);
  }
  limits.relative = Median(std::move(relative));
  if (plain != nullptr && count > 0) {
    limits.rms =
        kRmsFactor * std::max(RmsOfErrors(reference, task, plain), std::sqrt(squares / count));
  }
  return limits;
}

// Where the interpreter breaks the contract.
std::string Disagreement(const ReferenceOutput& reference, const Task& task,
                         const std::byte* plain) {
  const TensorSpec& tensor = task.tensors[reference.tensor];
  const int64_t size = SizeOf(tensor.dtype);
  for (const ReferenceElement& element : reference.elements) {
    const std::byte* actual = plain + element.position * size;
    if (!element.written || Admits(element, task.contract, tensor.dtype, actual)) continue;
    return ElementName(tensor, element.position) + ": the interpreter has " +
           std::to_string(static_cast<double>(LoadExact(tensor.dtype, actual))) +
           ", the reference " + std::to_string(static_cast<double>(element.value));
  }
  return {};
}

// Whether elements of a tensor still hold the first poison.
bool HasUntouched(const TensorSpec& tensor, const std::byte* data) {
  const int64_t size = SizeOf(tensor.dtype);
  const std::vector<std::byte> untouched(static_cast<size_t>(size), std::byte{kPoison[0]});
  bool found = false;
  ForEachRow(tensor, [&](int64_t position, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count && !found; ++i) {
      const std::byte* element = data + (position + i * stride) * size;
      found = element[0] == untouched[0] &&
              std::memcmp(element, untouched.data(), static_cast<size_t>(size)) == 0;
    }
  });
  return found;
}

double FiniteShare(const std::vector<ReferenceOutput>& reference) {
  double finite = 0, count = 0;
  for (const ReferenceOutput& output : reference) {
    for (const ReferenceElement& element : output.elements) {
      if (!element.written) continue;
      finite += std::isfinite(element.value) ? 1 : 0;
      ++count;
    }
  }
  return count > 0 ? finite / count : 1;
}

}  // namespace

std::vector<int> OutputsOf(const Task& task) {
  std::vector<int> outputs;
  for (int i = 0; i < task.bound_count; ++i) {
    const Role role = RoleOf(task, i);
    if (role == Role::kOutput || role == Role::kInPlace) outputs.push_back(i);
  }
  return outputs;
}

void PrepareOutputs(const Task& task, const Layout& layout, Placement placement,
                    const std::byte* inputs, uint8_t poison, std::byte* outputs) {
  for (const int i : OutputsOf(task)) {
    const Slot& slot = layout.slots[i];
    std::memset(outputs + slot.offset, poison, static_cast<size_t>(slot.bytes));
    if (RoleOf(task, i) != Role::kInPlace) continue;
    const int64_t begin = slot.offset + OffsetInSlot(slot, placement);
    std::memcpy(outputs + begin, inputs + begin, static_cast<size_t>(slot.span));
  }
}

double RmsOfErrors(const ReferenceOutput& reference, const Task& task, const std::byte* actual) {
  const DType dtype = task.tensors[reference.tensor].dtype;
  const int64_t size = SizeOf(dtype);
  double squares = 0, count = 0;
  for (const ReferenceElement& element : reference.elements) {
    if (!element.written || !std::isfinite(element.value)) continue;
    const long double bound = ErrorBound(element, task.contract, dtype);
    if (!(bound > 0) || !std::isfinite(bound)) continue;
    const long double value = LoadExact(dtype, actual + element.position * size);
    const double error = static_cast<double>((value - element.value) / bound);
    squares += error * error;
    ++count;
  }
  return count > 0 ? std::sqrt(squares / count) : 0;
}

Result<Expectation> MakeExpectation(const Task& task, const Layout& layout, Placement placement,
                                    std::byte* inputs, const std::vector<double>& scalars,
                                    const Executable* plain, const ExpectationOptions& options) {
  Expectation expectation;
  const std::vector<void*> before = PointersInto(layout, placement, inputs);
  std::vector<void*> pointers = before;
  if (plain != nullptr) {
    auto memory = MappedRegion::Anonymous(layout.bytes);
    if (!memory.ok()) return memory.status();
    expectation.plain = *std::move(memory);
    PrepareOutputs(task, layout, placement, inputs, kPoison[0], expectation.plain.data());
    const std::vector<void*> after = PointersInto(layout, placement, expectation.plain.data());
    for (const int i : OutputsOf(task)) pointers[i] = after[i];
    const int64_t begin = MonotonicNs();
    if (plain->Run({pointers.data(), scalars.data(), nullptr}) != HIERA_OK) {
      return Internal("the interpreter failed on a trial's inputs");
    }
    expectation.plain_seconds = static_cast<double>(MonotonicNs() - begin) * 1e-9;
    for (const int i : OutputsOf(task)) {
      expectation.keeps |= RoleOf(task, i) == Role::kOutput &&
                           HasUntouched(task.tensors[static_cast<size_t>(i)],
                                        static_cast<const std::byte*>(pointers[i]));
    }
  }
  if (options.limits != nullptr) {
    expectation.limits = *options.limits;
    expectation.vouched = plain != nullptr;
    return expectation;
  }

  ReferenceOptions reference_options;
  reference_options.max_elements = options.max_elements;
  reference_options.seed = options.seed;
  auto reference = RunReference(task, before.data(), scalars.data(), reference_options);
  if (!reference.ok()) return reference.status();
  expectation.reference = *std::move(reference);
  expectation.finite_share = FiniteShare(expectation.reference);
  for (const ReferenceOutput& output : expectation.reference) {
    const std::byte* actual =
        plain == nullptr ? nullptr : static_cast<const std::byte*>(pointers[output.tensor]);
    expectation.limits.push_back(LimitsOf(output, task, actual));
    if (actual != nullptr && expectation.disagreement.empty()) {
      expectation.disagreement = Disagreement(output, task, actual);
    }
  }
  expectation.vouched = plain != nullptr && expectation.disagreement.empty();
  if (!expectation.vouched) {
    for (OutputLimits& limits : expectation.limits) limits.rms = -1;
  }
  return expectation;
}

}  // namespace hiera
