#include "runtime/task/affine.h"

#include <numeric>

#include "runtime/task/limits.h"

namespace hiera {
namespace {

// A number far out of range that stays so under the additions and products of in-range numbers.
constexpr int64_t kFar = int64_t{1} << 61;

int64_t Times(int64_t a, int64_t b) {
  const __int128 product = static_cast<__int128>(a) * b;
  if (product > kFar) return kFar;
  if (product < -kFar) return -kFar;
  return static_cast<int64_t>(product);
}

void AddTerms(const Affine& from, int64_t factor, Affine* to) {
  std::vector<std::pair<int, int64_t>> merged;
  merged.reserve(to->terms.size() + from.terms.size());
  size_t i = 0;
  size_t j = 0;
  while (i < to->terms.size() || j < from.terms.size()) {
    const bool left = j == from.terms.size() ||
                      (i < to->terms.size() && to->terms[i].first <= from.terms[j].first);
    const bool right = i == to->terms.size() ||
                       (j < from.terms.size() && from.terms[j].first <= to->terms[i].first);
    const int index = left ? to->terms[i].first : from.terms[j].first;
    int64_t coefficient = 0;
    if (left) coefficient += to->terms[i++].second;
    if (right) coefficient += Times(from.terms[j++].second, factor);
    if (coefficient != 0) merged.emplace_back(index, coefficient);
  }
  to->terms = std::move(merged);
  to->offset += Times(from.offset, factor);
}

}  // namespace

Affine Scaled(const Affine& a, int64_t factor) {
  Affine result;
  AddTerms(a, factor, &result);
  result.divisor = a.divisor;
  return result;
}

Affine Added(const Affine& a, const Affine& b) {
  Affine result;
  result.divisor = Times(a.divisor, b.divisor);
  AddTerms(a, b.divisor, &result);
  AddTerms(b, a.divisor, &result);
  return result;
}

Affine DividedBy(const Affine& a, int64_t divisor) {
  Affine result = a;
  result.divisor = Times(a.divisor, divisor);
  int64_t common = std::gcd(result.divisor, result.offset);
  for (const auto& term : result.terms) common = std::gcd(common, term.second);
  if (common > 1) {
    for (auto& term : result.terms) term.second /= common;
    result.offset /= common;
    result.divisor /= common;
  }
  return result;
}

bool InRange(const Affine& a) {
  auto fits = [](int64_t v) { return v >= -kMaxCoefficient && v <= kMaxCoefficient; };
  if (!fits(a.offset) || !fits(a.divisor)) return false;
  for (const auto& term : a.terms) {
    if (!fits(term.second)) return false;
  }
  return true;
}

bool IsPlain(const Affine& a) {
  return a.terms.size() == 1 && a.terms[0].second == 1 && a.offset == 0 && a.divisor == 1;
}

Interval NumeratorRange(const Affine& a, const std::vector<Index>& indices) {
  Interval range{a.offset, a.offset};
  for (const auto& [index, coefficient] : a.terms) {
    const __int128 reach = static_cast<__int128>(coefficient) * (indices[index].extent - 1);
    (reach < 0 ? range.low : range.high) += reach;
  }
  return range;
}

}  // namespace hiera
