// Arithmetic on Affine values. Pure functions. Results may leave the range of a subscript's
// coefficients; InRange says so, and must be asked before more arithmetic.
#ifndef HIERA_RUNTIME_TASK_AFFINE_H_
#define HIERA_RUNTIME_TASK_AFFINE_H_

#include <cstdint>
#include <vector>

#include "runtime/task/formula.h"

namespace hiera {

// A factor other than 1 and -1 needs a divisor of 1: 2*(i/2) is outside for an odd i, i is not.
Affine Scaled(const Affine& a, int64_t factor);
// One of the two at most has a divisor other than 1, for the same reason.
Affine Added(const Affine& a, const Affine& b);
Affine DividedBy(const Affine& a, int64_t divisor);  // divisor >= 1; in lowest terms
bool InRange(const Affine& a);                       // every number within kMaxCoefficient

// Whether `a` is one index alone.
bool IsPlain(const Affine& a);

// The least and the greatest numerator over the indices' ranges, all of which must be non-empty.
struct Interval {
  __int128 low, high;
};
Interval NumeratorRange(const Affine& a, const std::vector<Index>& indices);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_AFFINE_H_
