// One row of a stencil: the vectorised loop, and the way its ends read across a border.
//
// A cell's formula reads a fixed set of rows (source, offset in the outer dimensions), each at
// fixed distances along the row. The loop gets one pointer per such row, so it is the same code
// for a grid in memory, a ring of intermediate rows and a row that a border rule supplies; it is
// instantiated once, which is what keeps compile time low.
//
// This file is a part of a candidate's source text: it includes nothing that is not its own.
#ifndef HIERA_STENCIL_PACK
#include "policies/kernel/stencil/stencil_pack.cc"
#endif
#ifndef HIERA_STENCIL_ROW
#define HIERA_STENCIL_ROW

namespace hiera_stencil {

// What a read outside of a tensor means. Under kKeep the output cell is not written.
enum class Rule { kZero, kClamp, kWrap, kKeep };

// A row that the formula reads: `source` 0 is the state, others are read-only fields; `d0`, `d1`
// are the offsets in planes and rows; the reads along the row lie in [low, high].
struct RowRead {
  int source, d0, d1, low, high;
};

constexpr long Min(long a, long b) { return a < b ? a : b; }
constexpr long Max(long a, long b) { return a > b ? a : b; }

// The index that a read of `at` means in [0, extent), or -1 where it means zero.
inline long Resolve(long at, long extent, Rule rule) {
  if (at >= 0 && at < extent) return at;
  if (rule == Rule::kZero) return -1;
  if (rule != Rule::kWrap) return at < 0 ? 0 : extent - 1;
  const long rest = at % extent;
  return rest < 0 ? rest + extent : rest;
}

// Gives the formula its operands: Read<row, distance>() is a pack of neighbouring cells' operands.
template <class T, int U>
struct Reader {
  using Value = Pack<T, U>;
  const T* const* rows;
  long x;
  template <int Row, int Distance>
  inline Value Read() const {
    return Value::Load(rows[Row] + x + Distance);
  }
};

// Computes dst[0, n) of `count` rows, `dst_stride` apart. rows[q] points at the operand of dst[0]
// at distance 0, and moves by strides[q] from row to row. Needs n >= kLanes, or operands that can
// be read, and a dst that can be written, for a whole register. The first register of a row is
// stored unaligned, those behind it on aligned addresses, and the last one overlaps its neighbour,
// so that no scalar remainder exists.
template <class Cell, int U>
__attribute__((noinline)) void ComputeRows(typename Cell::Type* __restrict dst, long dst_stride,
                                           const typename Cell::Type* const* rows_in,
                                           const long* strides,
                                           const typename Cell::Type* scalars_in, long n,
                                           long count) {
  using T = typename Cell::Type;
  constexpr long kStep = kLanes<T>;
  const T* rows[Cell::kRows];
  for (int q = 0; q < Cell::kRows; ++q) rows[q] = rows_in[q];
  T scalars[Cell::kScalars + 1];
  for (int i = 0; i < Cell::kScalars; ++i) scalars[i] = scalars_in[i];

  for (long left = count;;) {
    const long skew = long((unsigned long)dst % kVectorBytes / sizeof(T));
    long x = skew ? Min(kStep - skew, n) : 0;
    if (U > 1) {
      for (; x + U * kStep <= n; x += U * kStep) {
        Cell::At(Reader<T, U>{rows, x}, scalars).Store(dst + x);
      }
    }
    if (U == 1) {
      for (; x + kStep <= n; x += kStep) Cell::At(Reader<T, 1>{rows, x}, scalars).Store(dst + x);
    }
    // What is left: registers behind the main loop, one that ends at n, the unaligned first one.
    for (bool first = skew != 0; x < n || first;) {
      long at = 0;
      if (x + kStep <= n) {
        at = x;
        x += kStep;
      } else if (x < n) {
        at = Max(n - kStep, 0);
        x = n;
      } else {
        first = false;
      }
      Cell::At(Reader<T, 1>{rows, at}, scalars).Store(dst + at);
    }
    if (--left == 0) return;
    dst += dst_stride;
    for (int q = 0; q < Cell::kRows; ++q) rows[q] += strides[q];
  }
}

}  // namespace hiera_stencil

#endif  // HIERA_STENCIL_ROW
