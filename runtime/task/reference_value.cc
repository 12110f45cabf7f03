#include "runtime/task/reference_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace hiera::reference {
namespace {

constexpr long double kPi = std::numbers::pi_v<long double>;
constexpr long double kInfinity = std::numeric_limits<long double>::infinity();

// derivative * amount, where an exact operand (amount 0) or a flat function (derivative 0) adds
// nothing, even if the other factor is infinite.
long double Grow(long double derivative, long double amount) {
  return derivative == 0 || amount == 0 ? 0 : std::fabs(derivative) * amount;
}

// out's drift = da * a's + db * b's, with signed derivatives.
void AddDrift(const Real& a, long double da, Real* out) {
  if (!a.drifts || da == 0) return;
  out->drifts = true;
  for (int i = 0; i < kDrifts; ++i) out->drift[i] += static_cast<float>(da * a.drift[i]);
}

struct Slope {
  long double value;       // f(x)
  long double derivative;  // f'(x)
  long double own;         // the size of f's own rounding error, in units of u: usually |f(x)|
};

Slope Sigmoid(long double x) {
  const long double s = 1 / (1 + std::exp(-x));
  return {s, s * (1 / (1 + std::exp(x))), s};
}

Slope Gelu(long double x) {
  // x/2 * (1 + erf(x/sqrt 2)) over absolute values: its sum cancels for negative x, so the
  // definition itself, in working precision, is no better than |x|/2 * (1 + |erf|) there.
  const long double e = std::erf(x / std::sqrt(2.0L));
  const long double density = std::exp(-x * x / 2) / std::sqrt(2 * kPi);
  if (x == -kInfinity) return {std::nanl(""), 0, 0};  // -inf * 0, as defined
  const long double below = std::erfc(-x / std::sqrt(2.0L)) / 2;
  return {x * below, below + (std::isinf(x) ? 0 : x * density),
          std::fabs(x) / 2 * (1 + std::fabs(e))};
}

Slope Silu(long double x) {
  const Slope s = Sigmoid(x);
  return {x * s.value, s.value + (s.derivative == 0 ? 0 : x * s.derivative),
          std::fabs(x * s.value)};
}

Slope Evaluate(Op op, long double x) {
  const auto plain = [](long double f, long double d) { return Slope{f, d, std::fabs(f)}; };
  switch (op) {
    case Op::kExp:
      return plain(std::exp(x), std::exp(x));
    case Op::kLog:
      return plain(std::log(x), 1 / x);
    case Op::kSin:
      return plain(std::sin(x), std::cos(x));
    case Op::kCos:
      return plain(std::cos(x), -std::sin(x));
    case Op::kSqrt:
      return plain(std::sqrt(x), 0.5L / std::sqrt(x));
    case Op::kRsqrt:
      return plain(1 / std::sqrt(x), -0.5L / (std::sqrt(x) * x));
    case Op::kTanh: {
      const long double t = std::tanh(x);
      return plain(t, (1 - t) * (1 + t));
    }
    case Op::kErf:
      return plain(std::erf(x), 2 / std::sqrt(kPi) * std::exp(-x * x));
    case Op::kSigmoid:
      return Sigmoid(x);
    case Op::kGelu:
      return Gelu(x);
    case Op::kSilu:
      return Silu(x);
    default:
      return plain(std::nanl(""), 0);
  }
}

// A finite magnitude, so that an infinity or NaN in one place does not widen the bound of others:
// infinities are exact.
long double Size(long double value) { return std::isfinite(value) ? std::fabs(value) : 0; }

// x, or -x, with its drift turned likewise; factor 0 keeps the value and drops the drift.
Real Turned(const Real& x, int factor) {
  Real r = x;
  if (factor < 0) r.value = -x.value;
  for (float& d : r.drift) d *= static_cast<float>(factor);
  r.drifts = x.drifts && factor != 0;
  return r;
}

Real Floor(const Real& x, const Tolerance& tolerance) {
  Real r = Exact(std::floor(x.value));
  const long double error = tolerance.Of(x);
  // Near an integer an inexact operand may fall on either side of it: the result may be off by one.
  if (error > 0 && std::fabs(x.value - std::round(x.value)) <= error) {
    r.magnitude += 1 / (tolerance.scale * tolerance.unit);
  }
  return r;
}

Real Divide(const Real& a, const Real& b) {
  Real r;
  r.value = a.value / b.value;
  const long double inverse = std::fabs(1 / b.value);
  r.magnitude = Grow(inverse, a.magnitude) + Grow(r.value * inverse, b.magnitude);
  AddDrift(a, 1 / b.value, &r);
  AddDrift(b, -r.value / b.value, &r);
  r.terms = a.terms + b.terms - 1;
  return r;
}

Real Power(const Real& a, const Real& b) {
  Real r;
  r.value = std::pow(a.value, b.value);
  const long double by_base = b.value * std::pow(a.value, b.value - 1);
  const long double by_exponent = a.value > 0 ? r.value * std::log(a.value) : 0;
  r.magnitude = Grow(by_base, a.magnitude) + Grow(by_exponent, b.magnitude) + Size(r.value);
  AddDrift(a, by_base, &r);
  AddDrift(b, by_exponent, &r);
  r.terms = a.terms + b.terms - 1;
  return r;
}

Real Extreme(Op op, const Real& a, const Real& b) {
  Real r;
  if (std::isnan(a.value) || std::isnan(b.value)) {
    r.value = std::nanl("");
  } else {
    r.value = op == Op::kMin ? std::min(a.value, b.value) : std::max(a.value, b.value);
  }
  r.magnitude = std::max(a.magnitude, b.magnitude);
  AddDrift(r.value == a.value ? a : b, 1, &r);
  r.terms = std::max(a.terms, b.terms);
  r.exact = a.exact && b.exact;
  return r;
}

int64_t Wrap(uint64_t bits) { return static_cast<int64_t>(bits); }

int64_t Modulo(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

}  // namespace

long double Tolerance::Of(const Real& x) const {
  if (x.exact) return 0;
  const long double error = scale * unit * (std::sqrt(x.terms) * x.magnitude + x.Inherited());
  return std::isnan(error) ? kInfinity : error;
}

long double Real::Inherited() const {
  if (!drifts) return 0;
  long double squares = 0;
  for (int i = 1; i < kDrifts; ++i) squares += static_cast<long double>(drift[i]) * drift[i];
  return std::max<long double>(std::fabs(drift[0]), std::sqrt(squares / (kDrifts - 1)));
}

Real Exact(long double value) {
  Real r;
  r.value = value;
  r.magnitude = Size(value);
  r.exact = true;
  return r;
}

Real ApplyReal(Op op, const Real& x, const Tolerance& tolerance) {
  Real r = x;
  switch (op) {
    case Op::kNeg:
      return Turned(x, -1);
    case Op::kAbs:
      return Turned(x, std::signbit(x.value) ? -1 : 1);
    case Op::kRelu:  // NaN stays
      if (x.value < 0) {
        r = Turned(x, 0);
        r.value = 0;
      }
      return r;
    case Op::kFloor:
      return Floor(x, tolerance);
    default:
      break;
  }
  const Slope f = Evaluate(op, x.value);
  r.value = f.value;
  r.magnitude = Grow(f.derivative, x.magnitude) + (std::isfinite(f.own) ? f.own : 0);
  r.drifts = false;
  std::fill(r.drift, r.drift + kDrifts, 0.0f);
  AddDrift(x, f.derivative, &r);
  r.exact = false;
  return r;
}

Real ApplyReal(Op op, const Real& a, const Real& b) {
  Real r;
  switch (op) {
    case Op::kAdd:
    case Op::kSub:
      r.value = op == Op::kAdd ? a.value + b.value : a.value - b.value;
      r.magnitude = a.magnitude + b.magnitude;
      AddDrift(a, 1, &r);
      AddDrift(b, op == Op::kAdd ? 1 : -1, &r);
      r.terms = a.terms + b.terms;
      return r;
    case Op::kMul:
      r.value = a.value * b.value;
      r.magnitude = a.magnitude * b.magnitude;
      AddDrift(a, b.value, &r);
      AddDrift(b, a.value, &r);
      r.terms = a.terms + b.terms - 1;
      return r;
    case Op::kDiv:
      return Divide(a, b);
    case Op::kPow:
      return Power(a, b);
    default:
      return Extreme(op, a, b);
  }
}

Whole CompareReal(Op op, const Real& a, const Real& b, const Tolerance& tolerance) {
  Whole r;
  switch (op) {
    case Op::kLess:
      r.value = a.value < b.value;
      break;
    case Op::kLessEqual:
      r.value = a.value <= b.value;
      break;
    case Op::kEqual:
      r.value = a.value == b.value;
      break;
    default:
      r.value = a.value != b.value;
      break;
  }
  const long double error = tolerance.Of(a) + tolerance.Of(b);
  r.unsure = error > 0 && std::fabs(a.value - b.value) <= error;
  return r;
}

Whole ApplyWhole(Op op, const Whole& a) {
  const uint64_t negated = -static_cast<uint64_t>(a.value);
  switch (op) {
    case Op::kNeg:
      return {Wrap(negated), a.unsure};
    case Op::kAbs:
      return {a.value < 0 ? Wrap(negated) : a.value, a.unsure};
    default:
      return {a.value == 0, a.unsure};  // kNot
  }
}

Whole ApplyWhole(Op op, const Whole& a, const Whole& b) {
  const uint64_t x = static_cast<uint64_t>(a.value), y = static_cast<uint64_t>(b.value);
  const bool unsure = a.unsure || b.unsure;
  switch (op) {
    case Op::kAdd:
      return {Wrap(x + y), unsure};
    case Op::kSub:
      return {Wrap(x - y), unsure};
    case Op::kMul:
      return {Wrap(x * y), unsure};
    case Op::kMin:
      return {std::min(a.value, b.value), unsure};
    case Op::kMax:
      return {std::max(a.value, b.value), unsure};
    case Op::kMod:
      return {Modulo(a.value, b.value), unsure};
    case Op::kLess:
      return {a.value < b.value, unsure};
    case Op::kLessEqual:
      return {a.value <= b.value, unsure};
    case Op::kEqual:
      return {a.value == b.value, unsure};
    case Op::kNotEqual:
      return {a.value != b.value, unsure};
    case Op::kAnd:
      return {a.value != 0 && b.value != 0, unsure};
    default:
      return {a.value != 0 || b.value != 0, unsure};  // kOr
  }
}

}  // namespace hiera::reference
