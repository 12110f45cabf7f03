#include "runtime/evaluator/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/evaluator/elements.h"

namespace hiera {
namespace {

constexpr size_t kMostDifferences = 64;

std::string Number(long double value) {
  char text[48];
  std::snprintf(text, sizeof text, "%.9Lg", value);
  return text;
}

// The tensors of a run that are looked at one by one.
struct OutputView {
  const TensorSpec& tensor;
  const Slot& slot;
  int64_t begin;  // of the tensor in the file
  int64_t size;   // of an element
  bool in_place;

  OutputView(const FinishedRun& run, int i)
      : tensor(run.task.tensors[i]),
        slot(run.layout.slots[i]),
        begin(slot.offset + OffsetInSlot(slot, run.placement)),
        size(SizeOf(tensor.dtype)),
        in_place(RoleOf(run.task, i) == Role::kInPlace) {}
};

// The first byte in [begin, end) of the file that is not the poison, or -1.
int64_t FirstTouched(const FinishedRun& run, int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; ++at) {
    if (static_cast<uint8_t>(run.outputs[at]) != run.poison) return at;
  }
  return -1;
}

std::optional<Finding> CheckSurroundings(const FinishedRun& run, const OutputView& view) {
  const int64_t end = view.begin + view.slot.span;
  const int64_t before = FirstTouched(run, view.slot.offset, view.begin);
  if (before >= 0) {
    return Finding{Verdict::kMisbehaved, "wrote " + std::to_string(view.begin - before) +
                                             " bytes before the start of " + view.tensor.name};
  }
  const int64_t after = FirstTouched(run, end, view.slot.offset + view.slot.bytes);
  if (after >= 0) {
    return Finding{Verdict::kMisbehaved, "wrote " + std::to_string(after - end + 1) +
                                             " bytes past the end of " + view.tensor.name};
  }
  return std::nullopt;
}

// What an element that may not be written held before the run.
bool IsUntouched(const FinishedRun& run, const OutputView& view, int64_t at) {
  if (view.in_place) return std::memcmp(run.outputs + at, run.inputs + at, view.size) == 0;
  return FirstTouched(run, at, at + view.size) < 0;
}

std::optional<Finding> CheckGaps(const FinishedRun& run, const OutputView& view) {
  if (FillsItsSpan(view.tensor)) return std::nullopt;
  std::vector<bool> used(static_cast<size_t>(view.slot.span / view.size), false);
  ForEachRow(view.tensor, [&](int64_t position, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count; ++i) used[static_cast<size_t>(position + i * stride)] = true;
  });
  for (size_t i = 0; i < used.size(); ++i) {
    const int64_t at = view.begin + static_cast<int64_t>(i) * view.size;
    if (used[i] || IsUntouched(run, view, at)) continue;
    return Finding{Verdict::kMisbehaved, "wrote between the elements of " + view.tensor.name +
                                             ", at offset " + std::to_string(i)};
  }
  return std::nullopt;
}

std::optional<Finding> CheckSamples(const FinishedRun& run, const OutputView& view,
                                    const ReferenceOutput& reference) {
  for (const ReferenceElement& element : reference.elements) {
    const int64_t at = view.begin + element.position * view.size;
    const std::string name = ElementName(view.tensor, element.position);
    if (!element.written) {
      if (IsUntouched(run, view, at)) continue;
      return Finding{Verdict::kMisbehaved, name + " must keep its value, and was written"};
    }
    if (Admits(element, run.task.contract, view.tensor.dtype, run.outputs + at)) continue;
    const bool poison = !view.in_place && FirstTouched(run, at, at + view.size) < 0;
    const long double bound = ErrorBound(element, run.task.contract, view.tensor.dtype);
    return Finding{
        Verdict::kWrong,
        name +
            (poison ? " was not written; it"
                    : " is " + Number(LoadExact(view.tensor.dtype, run.outputs + at)) + " and") +
            " should be " + Number(element.value) +
            (bound > 0 && std::isfinite(bound) ? " within " + Number(bound) : std::string())};
  }
  return std::nullopt;
}

std::optional<Finding> CheckPrecision(const FinishedRun& run, const OutputView& view,
                                      const ReferenceOutput& reference,
                                      const OutputLimits& limits) {
  if (limits.rms < 0) return std::nullopt;
  const double rms = RmsOfErrors(reference, run.task, run.outputs + view.begin);
  if (rms <= limits.rms) return std::nullopt;
  return Finding{Verdict::kWrong, view.tensor.name + ": the root mean square of its errors is " +
                                      Number(rms / limits.rms * 4) +
                                      " times a plain implementation's (at most 4 are allowed)"};
}

// One element against the interpreter's. Returns whether it passes.
template <typename T>
bool Close(T actual, T plain, const OutputLimits& limits) {
  if (std::isnan(plain)) return std::isnan(actual);
  if (std::isinf(plain) || std::isinf(actual)) return actual == plain;
  const T error = std::fabs(actual - plain);
  return error <= static_cast<T>(limits.absolute) ||
         error <= static_cast<T>(limits.relative) * std::fabs(plain);
}

bool CloseElement(DType dtype, const std::byte* actual, const std::byte* plain,
                  const OutputLimits& limits) {
  switch (dtype) {
    case DType::kF64: {
      double a, p;
      std::memcpy(&a, actual, sizeof a);
      std::memcpy(&p, plain, sizeof p);
      return Close(a, p, limits);
    }
    case DType::kF32: {
      float a, p;
      std::memcpy(&a, actual, sizeof a);
      std::memcpy(&p, plain, sizeof p);
      return Close(a, p, limits);
    }
    case DType::kF16:
    case DType::kBF16:
      return Close(static_cast<double>(LoadExact(dtype, actual)),
                   static_cast<double>(LoadExact(dtype, plain)), limits);
    case DType::kI32:
      return std::memcmp(actual, plain, sizeof(int32_t)) == 0;
    case DType::kBool:
      return *actual == *plain;
  }
  return false;
}

// Whether a row without gaps passes at a glance: the same bits where those suffice, or every error
// below the absolute limit (never where the row holds a NaN, as the first poison is one). What does
// not is looked at element by element.
bool PassesAtAGlance(DType dtype, const std::byte* actual, const std::byte* plain, int64_t count,
                     const OutputLimits& limits, bool bits_suffice) {
  if (bits_suffice && std::memcmp(actual, plain, static_cast<size_t>(count * SizeOf(dtype))) == 0) {
    return true;
  }
  const auto all_close = [&](auto zero) {
    using T = decltype(zero);
    const T limit = static_cast<T>(limits.absolute);
    bool close = true;
    for (int64_t i = 0; i < count; ++i) {
      T a, p;
      std::memcpy(&a, actual + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      std::memcpy(&p, plain + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
      close &= std::fabs(a - p) <= limit;  // false for NaN
    }
    return close;
  };
  if (dtype == DType::kF32) return all_close(0.0f);
  return dtype == DType::kF64 && all_close(0.0);
}

// An element that differs from the interpreter's.
struct Difference {
  int64_t element = 0;   // row-major number
  int64_t position = 0;  // in the tensor
};

// The first ones, one more than may be.
std::vector<Difference> DifferencesOf(const FinishedRun& run, const OutputView& view,
                                      const Expectation& expectation, const OutputLimits& limits) {
  const std::byte* actual = run.outputs + view.begin;
  const std::byte* plain = expectation.plain.data() + view.begin;
  const std::vector<std::byte> untouched(view.size, std::byte{kPoison[0]});
  const bool bits_suffice = !expectation.keeps || run.poison == kPoison[0];
  std::vector<Difference> found;
  int64_t rows = 0;
  ForEachRow(view.tensor, [&](int64_t position, int64_t count, int64_t stride) {
    const int64_t first = count * rows++;
    const int64_t row = position * view.size;
    if (found.size() > kMostDifferences) return;
    if (stride == 1 && PassesAtAGlance(view.tensor.dtype, actual + row, plain + row, count, limits,
                                       bits_suffice)) {
      return;
    }
    for (int64_t i = 0; i < count && found.size() <= kMostDifferences; ++i) {
      const int64_t at = (position + i * stride) * view.size;
      if (std::memcmp(actual + at, plain + at, view.size) == 0) {
        // Equal bits; but not where both only look alike because neither was written.
        if (view.in_place || run.poison == kPoison[0]) continue;
      }
      const bool kept = !view.in_place && std::memcmp(plain + at, untouched.data(), view.size) == 0;
      if (kept ? !IsUntouched(run, view, view.begin + at)
               : !CloseElement(view.tensor.dtype, actual + at, plain + at, limits)) {
        found.push_back({first + i, position + i * stride});
      }
    }
  });
  return found;
}

Finding Differs(const FinishedRun& run, const OutputView& view, const std::byte* plain,
                int64_t position, bool many) {
  const int64_t at = view.begin + position * view.size;
  const bool poison = !view.in_place && IsUntouched(run, view, at);
  const std::string number = Number(LoadExact(view.tensor.dtype, run.outputs + at));
  return {Verdict::kWrong,
          ElementName(view.tensor, position) +
              (poison ? " was not written; it" : " is " + number + " and") + " should be about " +
              Number(LoadExact(view.tensor.dtype, plain + at)) +
              (many ? ", and more than " + std::to_string(kMostDifferences) + " differ so" : "")};
}

// What differs from the interpreter may still be right: an index whose value ties with the best,
// or a choice between values that are too close to tell apart.
std::optional<Finding> CheckRest(const FinishedRun& run, const OutputView& view,
                                 const Expectation& expectation, const OutputLimits& limits) {
  if (!expectation.vouched) return std::nullopt;
  const std::vector<Difference> differences = DifferencesOf(run, view, expectation, limits);
  if (differences.empty()) return std::nullopt;
  const bool many = differences.size() > kMostDifferences;
  if (!many && (!expectation.reference.empty() || StandsAlone(run.task, limits.tensor))) {
    ReferenceOptions options;
    options.output = limits.tensor;
    for (const Difference& difference : differences) options.elements.push_back(difference.element);
    // The reference reads inputs, and outputs as they were before the run; it writes nothing.
    const auto pointers =
        PointersInto(run.layout, run.placement, const_cast<std::byte*>(run.inputs));
    const auto reference = RunReference(run.task, pointers.data(), run.scalars, options);
    if (reference.ok()) return CheckSamples(run, view, reference->front());
  }
  return Differs(run, view, expectation.plain.data(), differences.front().position, many);
}

std::optional<Finding> CheckBooleans(const FinishedRun& run, const OutputView& view) {
  if (view.tensor.dtype != DType::kBool) return std::nullopt;
  const std::byte* actual = run.outputs + view.begin;
  int64_t wrong = -1;
  ForEachRow(view.tensor, [&](int64_t position, int64_t count, int64_t stride) {
    for (int64_t i = 0; i < count && wrong < 0; ++i) {
      const int64_t at = position + i * stride;
      if (actual[at] > std::byte{1} && !IsUntouched(run, view, view.begin + at)) wrong = at;
    }
  });
  if (wrong < 0) return std::nullopt;
  return Finding{Verdict::kWrong, ElementName(view.tensor, wrong) + " is neither 0 nor 1"};
}

}  // namespace

std::optional<Finding> CheckRun(const FinishedRun& run, const Expectation& expectation) {
  for (const int i : OutputsOf(run.task)) {
    const OutputView view(run, i);
    if (auto finding = CheckSurroundings(run, view)) return finding;
    if (auto finding = CheckGaps(run, view)) return finding;
  }
  for (size_t k = 0; k < expectation.limits.size(); ++k) {
    const OutputLimits& limits = expectation.limits[k];
    const OutputView view(run, limits.tensor);
    if (k < expectation.reference.size()) {
      const ReferenceOutput& reference = expectation.reference[k];
      if (auto finding = CheckSamples(run, view, reference)) return finding;
      if (auto finding = CheckPrecision(run, view, reference, limits)) return finding;
    }
    if (auto finding = CheckRest(run, view, expectation, limits)) return finding;
    if (auto finding = CheckBooleans(run, view)) return finding;
  }
  return std::nullopt;
}

std::optional<Finding> CheckRepeated(const FinishedRun& run, const std::byte* earlier,
                                     uint8_t earlier_poison) {
  for (const int i : OutputsOf(run.task)) {
    const OutputView view(run, i);
    const std::byte* now = run.outputs + view.begin;
    const std::byte* then = earlier + view.begin;
    int64_t different = -1;
    ForEachRow(view.tensor, [&](int64_t position, int64_t count, int64_t stride) {
      for (int64_t k = 0; k < count && different < 0; ++k) {
        const int64_t at = (position + k * stride) * view.size;
        if (std::memcmp(now + at, then + at, view.size) == 0) continue;
        const bool kept = IsUntouched(run, view, view.begin + at) &&
                          std::all_of(then + at, then + at + view.size, [&](std::byte b) {
                            return static_cast<uint8_t>(b) == earlier_poison;
                          });
        if (!kept) different = position + k * stride;
      }
    });
    if (different < 0) continue;
    return Finding{
        Verdict::kMisbehaved,
        ElementName(view.tensor, different) + " differs between two runs on the same inputs: " +
            Number(LoadExact(view.tensor.dtype, then + different * view.size)) + ", then " +
            Number(LoadExact(view.tensor.dtype, now + different * view.size))};
  }
  return std::nullopt;
}

}  // namespace hiera
