// Arithmetic of the reference: a real carries, beside its value, what is needed to bound the error
// that an honest implementation may make. Values of plain structs; pure functions.
//
// The bound is first order. Let u be the unit roundoff of the accumulation type and c the
// contract's error_scale. A value v computed from exact operands is off by about
// c * sqrt(K) * u * m, with m the formula over absolute values and K the number of terms. Through a
// function f an operand's error grows by |f'(x)|, and f's own rounding adds |f(x)|:
//     m(f(x)) = |f'(x)| * m(x) + |f(x)|
// which for a division is m(a)/|b| + |a| m(b)/b^2, and so on; see ApplyReal in reference_value.cc.
//
// Elements that an earlier statement or step computed enter with m = |v|, and their own errors as
// `drift`: a few realisations of what the errors may have been, in units of c * u, carried along by
// the signed derivatives. The first has every error at its bound and positive, the others with
// random signs. (Adding bounds up instead would let those of a stencil grow as the power of its
// absolute coefficients, 2^40 in forty harmless steps of a heat equation.)
#ifndef HIERA_RUNTIME_TASK_REFERENCE_VALUE_H_
#define HIERA_RUNTIME_TASK_REFERENCE_VALUE_H_

#include <cstdint>
#include <limits>

#include "runtime/task/formula.h"

namespace hiera::reference {

inline constexpr int kDrifts = 5;

struct Real {
  long double value = 0;
  long double magnitude = 0;
  double terms = 1;
  float drift[kDrifts] = {};
  bool drifts = false;  // any drift is not 0
  bool exact = false;   // no rounding in it yet: a leaf

  // The size of the drift: the larger of the first and the root mean square of the others.
  long double Inherited() const;
};

// An integer or boolean. `unsure`: it hangs on a comparison of inexact reals that is closer than
// their error bounds, so that an implementation may rightly come to another result.
struct Whole {
  int64_t value = 0;
  bool unsure = false;
};

// What "close" means: see Whole::unsure.
struct Tolerance {
  long double unit = 0;   // unit roundoff of the accumulation type
  long double scale = 4;  // the contract's error_scale
  // From here on the accumulation type overflows.
  long double overflow = std::numeric_limits<long double>::infinity();

  // An upper bound of the error of `x`; 0 where it is exact.
  long double Of(const Real& x) const;
};

Real Exact(long double value);

// kNeg to kFloor of one real.
Real ApplyReal(Op op, const Real& x, const Tolerance& tolerance);
// kAdd to kMax of two reals.
Real ApplyReal(Op op, const Real& a, const Real& b);
// kLess to kNotEqual.
Whole CompareReal(Op op, const Real& a, const Real& b, const Tolerance& tolerance);

// Integers wrap in 64 bits; a remainder by 0 is 0.
Whole ApplyWhole(Op op, const Whole& a);
Whole ApplyWhole(Op op, const Whole& a, const Whole& b);

}  // namespace hiera::reference

#endif  // HIERA_RUNTIME_TASK_REFERENCE_VALUE_H_
