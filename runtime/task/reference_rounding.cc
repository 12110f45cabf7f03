// Element conversions and the error bound of the reference.
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/task/reference.h"

namespace hiera {
namespace {

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

// A binary floating-point format.
struct Format {
  int precision;         // bits of the significand, the leading one included
  int lowest_exponent;   // of the smallest subnormal: it is 2^lowest_exponent
  int highest_exponent;  // the largest finite value is below 2^(highest_exponent + 1)
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {53, -1074, 1023};
    case DType::kF16:
      return {11, -24, 15};
    case DType::kBF16:
      return {8, -133, 127};
    default:
      return {24, -149, 127};
  }
}

long double UnitRoundoff(DType dtype) { return std::ldexp(1.0L, -FormatOf(dtype).precision); }

// The distance from `value` to its neighbours in the format.
long double Spacing(long double value, const Format& format) {
  const int exponent = value == 0 ? format.lowest_exponent : std::ilogb(value);
  return std::ldexp(1.0L, std::max(exponent - format.precision + 1, format.lowest_exponent));
}

// To nearest, ties to even; overflow to infinity.
long double RoundTo(long double value, const Format& format) {
  if (!std::isfinite(value) || value == 0) return value;
  const long double spacing = Spacing(value, format);
  const long double rounded = std::nearbyint(value / spacing) * spacing;
  if (std::fabs(rounded) >= std::ldexp(1.0L, format.highest_exponent + 1)) {
    return std::copysign(kInfinity, value);
  }
  return rounded == 0 ? std::copysign(0.0L, value) : rounded;
}

// The 16 bits of a value that the format holds exactly.
uint16_t Encode16(long double value, const Format& format) {
  const int significand_bits = format.precision - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(0x7fff >> significand_bits << significand_bits);
  if (std::isnan(value)) return sign | infinity | uint16_t(1 << (significand_bits - 1));
  if (std::isinf(value)) return sign | infinity;
  // In units of the smallest subnormal, an encoding is its significand; above the subnormals each
  // exponent takes 2^significand_bits encodings.
  const long double size = std::fabs(value);
  if (size == 0) return sign;
  const long double spacing = Spacing(size, format);
  const int steps = static_cast<int>(size / spacing);
  const int raise = std::ilogb(spacing) - format.lowest_exponent;
  return static_cast<uint16_t>(sign | (steps + (raise << significand_bits)));
}

long double Decode16(uint16_t bits, const Format& format) {
  const int significand_bits = format.precision - 1;
  const int exponent = (bits & 0x7fff) >> significand_bits;
  const int fraction = bits & ((1 << significand_bits) - 1);
  const int all_ones = 0x7fff >> significand_bits;
  long double value;
  if (exponent == all_ones) {
    value = fraction == 0 ? kInfinity : std::nanl("");
  } else if (exponent == 0) {
    value = std::ldexp(static_cast<long double>(fraction), format.lowest_exponent);
  } else {
    value = std::ldexp(static_cast<long double>(fraction + (1 << significand_bits)),
                       exponent - 1 + format.lowest_exponent);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <typename T>
void Put(T value, void* element) {
  std::memcpy(element, &value, sizeof(value));
}

template <typename T>
T Get(const void* element) {
  T value;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

}  // namespace

void StoreRounded(long double value, DType dtype, void* element) {
  switch (dtype) {
    case DType::kF64:
      return Put(static_cast<double>(value), element);
    case DType::kF32:
      return Put(static_cast<float>(value), element);
    case DType::kF16:
    case DType::kBF16: {
      const Format format = FormatOf(dtype);
      return Put(Encode16(RoundTo(value, format), format), element);
    }
    case DType::kI32: {
      // Integers come exactly; the low 32 bits stay. A value that is none has no defined result.
      const bool fits = value >= -0x1p63L && value < 0x1p63L;
      return Put(static_cast<uint32_t>(fits ? static_cast<int64_t>(value) : 0), element);
    }
    case DType::kBool:
      return Put(static_cast<uint8_t>(value != 0), element);
  }
}

long double LoadExact(DType dtype, const void* element) {
  switch (dtype) {
    case DType::kF64:
      return Get<double>(element);
    case DType::kF32:
      return Get<float>(element);
    case DType::kF16:
    case DType::kBF16:
      return Decode16(Get<uint16_t>(element), FormatOf(dtype));
    case DType::kI32:
      return Get<int32_t>(element);
    case DType::kBool:
      return Get<uint8_t>(element) != 0 ? 1 : 0;
  }
  return 0;
}

long double ErrorBound(const ReferenceElement& element, const Contract& contract, DType dtype) {
  if (!std::isfinite(element.value)) return 0;
  if (!IsReal(dtype)) return std::isinf(element.magnitude) ? kInfinity : 0;
  const DType accumulate = contract.accumulate;
  const long double spread = std::sqrt(static_cast<long double>(element.terms));
  const long double unit = UnitRoundoff(accumulate);
  // Processors and libraries may flush what lies below the smallest normal number to zero.
  const Format inner = FormatOf(accumulate);
  const long double smallest_normal = std::ldexp(1.0L, inner.lowest_exponent + inner.precision - 1);
  const long double computed =
      contract.error_scale * spread * unit * element.magnitude + spread * smallest_normal;
  const long double reach = std::fabs(element.value) + (std::isnan(computed) ? 0 : computed);
  if (std::isnan(computed) || std::isinf(reach)) return kInfinity;
  return computed + Spacing(reach, FormatOf(dtype)) / 2;
}

bool Admits(const ReferenceElement& element, const Contract& contract, DType dtype,
            const void* actual) {
  const long double got = LoadExact(dtype, actual);
  if (std::isnan(element.value)) return std::isnan(got);
  if (std::isinf(element.value)) return got == element.value;
  const long double bound = ErrorBound(element, contract, dtype);
  if (IsReal(dtype)) {
    // Where the formula over absolute values overflows the accumulation type, so may a sum on its
    // way to a result that does not.
    const int highest = FormatOf(contract.accumulate).highest_exponent;
    if (element.magnitude >= std::ldexp(1.0L, highest + 1)) return true;
    if (std::isnan(got)) return false;
    if (std::isinf(got)) {  // right where a value within the bound rounds to it
      const long double edge = element.value + std::copysign(bound, got);
      return RoundTo(edge, FormatOf(dtype)) == got;
    }
  }
  for (const auto& [first, last] : element.ties) {
    if (got >= first && got <= last) return true;
  }
  return std::fabs(got - element.value) <= bound;
}

}  // namespace hiera
